-- The sliding log, which has one entry, called a run, for each time at which units were spent.
--
-- A run contains its time and the number of all events up to and including its own, so that a
-- binary search can find an event by its time or by its number. The log keeps the latest events, at
-- most as many as the limit, and older events are pushed out.
--
-- ask    limit, period (the window in microseconds)
-- state  a list of strings with two numbers. The first string is the header: a time that is later
--        than all events that were pushed out, and the number of events before the first run. The
--        other strings are the runs, oldest first: at_us, and the number of events up to the run
-- time   the clock of the group, see charge.lua

local log = {}

-- The maximum number of runs that the refunds of one script may change. Changing this many runs
-- takes a few milliseconds.
local changes_left = 1000

-- Returns the two numbers of a run. The index 0 is the header, and -1 is the last run.
local function run(ask, index)
    local at_us, total = string.match(redis.call('LINDEX', ask.key, index), '(%d+) (-?%d+)')
    return tonumber(at_us), tonumber(total)
end

local function text(at_us, total)
    return digits(at_us) .. ' ' .. digits(total)
end

function log.load(ask)
    ask.runs = redis.call('LLEN', ask.key) - 1
    ask.is_there = ask.runs > 0
    ask.last_us, ask.total, ask.pushed_us, ask.before = 0, 0, 0, 0
    if ask.is_there then
        ask.pushed_us, ask.before = run(ask, 0)
        ask.header = text(ask.pushed_us, ask.before)
        ask.last_us, ask.total = run(ask, -1)
    end
end

-- Returns the index of the first run that passes the test, or the number of runs plus 1 if no run
-- passes. All runs after the first run that passes must also pass the test.
local function first(ask, holds)
    if ask.runs > 0 and holds(run(ask, 1)) then
        return 1
    end
    local low, high = 1, math.max(ask.runs, 0) + 1
    while low < high do
        local middle = math.floor((low + high) / 2)
        if holds(run(ask, middle)) then
            high = middle
        else
            low = middle + 1
        end
    end
    return low
end

-- Returns the number of events before the run at `index`.
local function total_before(ask, index)
    if index <= 1 then
        return ask.before
    end
    local _, total = run(ask, index - 1)
    return total
end

-- Returns the first microsecond of the window that ends now.
local function since_us(ask)
    return now_us - ask.period + 1
end

-- Returns the index of the first run in the window that ends now.
local function first_inside(ask)
    local since = since_us(ask)
    return first(ask, function(at_us)
        return at_us >= since
    end)
end

-- Returns the time of the event that is preceded by `place` other events in the log.
local function event_us(ask, place)
    local index = first(ask, function(_, total)
        return total > ask.before + place
    end)
    return (run(ask, index))
end

-- Does nothing, because the next charge drops the runs that have left the window.
function log.turn()
end

function log.wait(ask, cost)
    if cost == 0 then
        return 0
    elseif cost > ask.limit then
        return nil
    end
    local in_the_way = ask.total - ask.before + cost - ask.limit - 1
    if in_the_way < 0 then
        return 0
    end
    return math.max(event_us(ask, in_the_way) + ask.period - now_us, 0)
end

function log.used(ask)
    return math.min(ask.total - total_before(ask, first_inside(ask)), ask.limit)
end

-- Drops the runs before the run at `index`, which becomes the first run.
local function drop(ask, index)
    if index > 1 then
        ask.before = math.max(ask.before, total_before(ask, index))
        redis.call('LTRIM', ask.key, index - 1, -1)
        ask.runs, ask.header = ask.runs - (index - 1), nil
    end
end

-- Appends `cost` events at the current time. Events beyond the limit push out the oldest events.
local function push(ask, cost)
    local added = math.min(cost, ask.limit)
    local excess = ask.total - ask.before + added - ask.limit
    if cost > added then
        ask.pushed_us = now_us + 1
    elseif excess > 0 then
        ask.pushed_us = event_us(ask, excess - 1) + 1
    end
    if excess > 0 then
        ask.before = ask.before + excess
        drop(ask, first(ask, function(_, total)
            return total > ask.before
        end))
    end
    ask.total = ask.total + added
    if ask.runs > 0 and ask.last_us == now_us then
        redis.call('LSET', ask.key, -1, text(now_us, ask.total))
    elseif added > 0 then
        if ask.runs < 1 then
            redis.call('DEL', ask.key)
            redis.call('RPUSH', ask.key, '')
            ask.runs, ask.header = 0, nil
        end
        redis.call('RPUSH', ask.key, text(now_us, ask.total))
        ask.runs = ask.runs + 1
    end
    ask.last_us = now_us
end

function log.spend(ask, cost)
    if ask.runs > 0 and ask.last_us < since_us(ask) then
        redis.call('DEL', ask.key)
        ask.runs, ask.total, ask.before, ask.pushed_us = 0, 0, 0, 0
    else
        drop(ask, first_inside(ask))
    end
    push(ask, cost)
end

function log.mark(ask)
    return ask.last_us, 0
end

-- Removes `count` events from one run, which reduces the totals of all later runs. If too many runs
-- would have to be rewritten, the oldest events of the log are removed instead. The oldest events
-- would have left the window earlier, so the limit is stricter for a while, but never laxer.
local function take(ask, index, count)
    if ask.runs - index >= changes_left then
        ask.before = ask.before + count
        drop(ask, first(ask, function(_, total)
            return total > ask.before
        end))
        return
    end
    changes_left = changes_left - (ask.runs - index)
    local before = total_before(ask, index)
    for i = index, ask.runs do
        local at_us, total = run(ask, i)
        redis.call('LSET', ask.key, i, text(at_us, total - count))
    end
    local _, left = run(ask, index)
    if left == before then
        redis.call('LSET', ask.key, index, '')
        redis.call('LREM', ask.key, 1, '')
        ask.runs = ask.runs - 1
    end
    ask.total = ask.total - count
end

-- Restores events that were pushed out by the refunded events. The times of the restored events are
-- no longer known, so these events get the latest time that they can have had.
local function stand_in(ask, count)
    local at_us = ask.pushed_us - 1
    if ask.runs < 1 or run(ask, 1) ~= at_us then
        redis.call('LSET', ask.key, 0, text(at_us, ask.before))
        redis.call('LPUSH', ask.key, '')
        ask.runs, ask.header = ask.runs + 1, nil
    end
    ask.before = ask.before - count
end

function log.refund(ask, cost, at_us)
    local index = first(ask, function(run_us)
        return run_us >= at_us
    end)
    local run_us, total = 0, 0
    if index <= ask.runs then
        run_us, total = run(ask, index)
    end
    if run_us ~= at_us then
        return
    end
    local count = math.min(cost, total - total_before(ask, index))
    take(ask, index, count)
    if ask.pushed_us > since_us(ask) then
        stand_in(ask, count)
    end
    ask.last_us = run(ask, -1)
end

function log.save(ask)
    if ask.total == ask.before then
        redis.call('DEL', ask.key)
    else
        local header = text(ask.pushed_us, ask.before)
        if header ~= ask.header then
            redis.call('LSET', ask.key, 0, header)
        end
        redis.call('PEXPIRE', ask.key, expiry_ms(ask.last_us + ask.period - now_us))
    end
end

-- A log that records refused requests in the same way as allowed requests.
local penal = setmetatable({refused = log.spend}, {__index = log})

return {[6] = log, [7] = penal}
