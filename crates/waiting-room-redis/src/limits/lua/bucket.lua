-- The token bucket and GCRA, which are one, and the leaky queue.
--
-- A level rises by one interval for each event, and falls by itself. It is counted in units of which
-- a microsecond has `per_us`: nanoseconds, unless the whole bucket has too many of them.
--
-- ask    limit, interval, per_us; the highest level that any tier of this version allows
-- state  last_us level version

local bucket = {}

function bucket.load(ask)
    local state = read(ask.key)
    ask.is_there = state ~= false
    ask.last_us, ask.level = 0, 0
    if state then
        ask.last_us, ask.level, ask.is_older = state[1], state[2], state[3] ~= ask.version
    end
end

-- Lets the level fall to what it is now. If it was reached by other quotas, nobody waits for longer
-- than these can make them.
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

-- What has fallen since is not there any more.
function bucket.refund(ask, cost, at_us, level)
    local left = math.max((at_us - now_us) * ask.per_us + level, 0)
    ask.level = math.max(ask.level - math.min(cost * ask.period, left), 0)
end

function bucket.save(ask)
    write(ask.key, ask.level / ask.per_us, {now_us, ask.level, ask.version})
end

-- A bucket that holds its events until their turn.
local queue = setmetatable({}, {__index = bucket})

function queue.delay(ask)
    return math.ceil(ask.level / ask.per_us)
end

-- Whoever came later has been told a time already, and the gap before it stays empty.
function queue.refund(ask, cost, at_us, level)
    if (at_us - now_us) * ask.per_us + level == ask.level then
        bucket.refund(ask, cost, at_us, level)
    end
end

return {[1] = bucket, [2] = queue}
