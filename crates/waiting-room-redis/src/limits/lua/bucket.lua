-- The token bucket and GCRA, which share one implementation, and the leaky queue.
--
-- A level rises by one interval for each event, and falls at the rate at which time passes. A
-- microsecond corresponds to `per_us` units of the level. The unit is the nanosecond, unless the
-- level of the full bucket in nanoseconds would be too large for a double.
--
-- ask    limit, period (the interval of one event), per_us, highest (the highest level that any
--        tier allows), version (of the quotas of all tiers)
-- state  last_us level version
-- time   the clock of the group, see charge.lua

local bucket = {}

function bucket.load(ask)
    local state = read(ask.key)
    ask.is_there = state ~= false
    ask.last_us, ask.level = 0, 0
    if state then
        ask.last_us, ask.level, ask.is_older = state[1], state[2], state[3] ~= ask.version
    end
end

-- Lowers the level by the time that has passed. A level that was reached under other quotas is
-- reduced to the highest level that the current quotas allow, so no client waits longer than the
-- current quotas require.
function bucket.turn(ask)
    ask.level = math.max(ask.level - (now_us - ask.last_us) * ask.per_us, 0)
    ask.last_us = now_us
    if ask.is_older then
        ask.level = math.min(ask.level, ask.highest)
    end
end

function bucket.wait(ask, cost)
    if cost == 0 then
        return 0
    elseif cost > ask.limit then
        return nil
    end
    local room = (ask.limit - cost) * ask.period
    return math.max(math.ceil((ask.level - room) / ask.per_us), 0)
end

function bucket.used(ask)
    return math.min(math.ceil(ask.level / ask.period), ask.limit)
end

function bucket.spend(ask, cost)
    ask.level = math.min(ask.level + cost * ask.period, MOST)
end

function bucket.mark(ask)
    return now_us, ask.level
end

-- Refunds a charge that raised the level to `level` at `at_us`. The part of the charge that has
-- already leaked out of the level is not refunded.
function bucket.refund(ask, cost, at_us, level)
    local left = math.max((at_us - now_us) * ask.per_us + level, 0)
    ask.level = math.max(ask.level - math.min(cost * ask.period, left), 0)
end

function bucket.save(ask)
    write(ask.key, ask.level / ask.per_us, {now_us, ask.level, ask.version})
end

-- The leaky queue is a bucket whose events wait for their turn.
local queue = setmetatable({}, {__index = bucket})

function queue.delay(ask)
    return math.ceil(ask.level / ask.per_us)
end

-- Refunds a charge only if it was the last one. Otherwise, later requests already have their
-- delays, and the gap before them stays empty.
function queue.refund(ask, cost, at_us, level)
    if (at_us - now_us) * ask.per_us + level == ask.level then
        bucket.refund(ask, cost, at_us, level)
    end
end

return {[1] = bucket, [2] = queue}
