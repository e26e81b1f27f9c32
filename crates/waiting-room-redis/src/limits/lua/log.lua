-- The sliding log: a run for each time at which something was spent.
--
-- A run says when, and how many events there were up to and with it, so that a place in the log is
-- found by halves. Only the last events are kept, no more of them than the limit.
--
-- ask    limit, period: the window in microseconds
-- state  a list: {the first of its events were pushed out before, how many there were before it},
--        {at_us, how many there are with it} ...

local log = {}

-- So many runs are changed by one script at most, for all its refunds: some milliseconds' work.
local changes_left = 1000

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

-- The first of the runs that the test holds for, as it does for all after; one more than there are
-- if it holds for none.
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

-- How many events there were before a run.
local function total_before(ask, index)
    if index <= 1 then
        return ask.before
    end
    local _, total = run(ask, index - 1)
    return total
end

-- The first microsecond of the window that ends now.
local function since_us(ask)
    return now_us - ask.period + 1
end

local function first_inside(ask)
    local since = since_us(ask)
    return first(ask, function(at_us)
        return at_us >= since
    end)
end

-- When the event was that has so many before it in the log.
local function event_us(ask, place)
    local index = first(ask, function(_, total)
        return total > ask.before + place
    end)
    return (run(ask, index))
end

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

-- Forgets the runs before this one.
local function drop(ask, index)
    if index > 1 then
        ask.before = math.max(ask.before, total_before(ask, index))
        redis.call('LTRIM', ask.key, index - 1, -1)
        ask.runs, ask.header = ask.runs - (index - 1), nil
    end
end

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

-- Takes events from one run on: the runs after it have fewer before them. If there are too many of
-- those, the oldest events are taken instead, which would have left the window earlier.
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

-- The places of events that were pushed out, and would not have been without these, are taken by as
-- many at the latest time that they can have had.
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

-- A log that counts what it refuses.
local penal = setmetatable({refused = log.spend}, {__index = log})

return {[6] = log, [7] = penal}
