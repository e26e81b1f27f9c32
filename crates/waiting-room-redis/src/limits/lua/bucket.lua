-- The token bucket and GCRA, which share one implementation, and the leaky queue.
--
-- A level rises by one interval for each event, and falls at the rate of time. A microsecond has
-- `per_us` units of the level: nanoseconds, unless the whole bucket has too many of them for a
-- double.
--
-- ask    limit, period (the interval of one event), per_us, highest (the highest level that any
--        tier allows), version (of the quotas of all tiers)
-- state  last_us level version
-- time   the group's, see charge.lua

local bucket = {}

function bucket.load(ask)
    local state = read(ask.key)
    ask.is_there = state ~= false
    ask.last_us, ask.level = 0, 0
    if state then
        ask.last_us, ask.level, ask.is_older = state[1], state[2], state[3] ~= ask.version
    end
end

-- Lets the level fall to what it is now. A level that was reached under other quotas is cut to the
-- highest that the present ones allow, so no client waits longer than these can make it.
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

-- The charge has raised the level to `level` at `at_us`. Only the part of it that has not fallen
-- since is given back.
function bucket.refund(ask, cost, at_us, level)
    local left = math.max((at_us - now_us) * ask.per_us + level, 0)
    ask.level = math.max(ask.level - math.min(cost * ask.period, left), 0)
end

function bucket.save(ask)
    write(ask.key, ask.level / ask.per_us, {now_us, ask.level, ask.version})
end

-- The leaky queue: a bucket whose events wait for their turn.
local queue = setmetatable({}, {__index = bucket})

function queue.delay(ask)
    return math.ceil(ask.level / ask.per_us)
end

-- Only the last charge is given back. Later requests have been given their delays already, and the
-- gap before them stays empty.
function queue.refund(ask, cost, at_us, level)
    if (at_us - now_us) * ask.per_us + level == ask.level then
        bucket.refund(ask, cost, at_us, level)
    end
end

return {[1] = bucket, [2] = queue}
