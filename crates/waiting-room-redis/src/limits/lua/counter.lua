-- The sliding counter, which adds a part of the previous window's count to the current window's
-- count.
--
-- ask    limit, period (the window in microseconds)
-- state  last_us start_us previous current window_us limit
-- time   the clock of the group, see charge.lua

local counter = {}

-- Moves to the window that contains the current time, if the stored window is over.
local function slide(ask, window_us)
    local elapsed_us = now_us - ask.start_us
    if elapsed_us >= window_us then
        ask.previous = elapsed_us - window_us < window_us and ask.current or 0
        ask.start_us, ask.current = now_us - now_us % window_us, 0
    end
end

-- Estimates the count in the window that ends now, as if the previous window had been used evenly.
local function estimate(ask, window_us)
    return scale(ask.previous, window_us - (now_us - ask.start_us), window_us) + ask.current
end

function counter.load(ask)
    local state = read(ask.key)
    ask.is_there = state ~= false
    ask.last_us, ask.start_us, ask.previous, ask.current = 0, 0, 0, 0
    ask.window_us, ask.older_limit = ask.period, ask.limit
    if state then
        ask.last_us, ask.start_us, ask.previous, ask.current, ask.window_us, ask.older_limit =
            unpack(state)
    end
end

-- Slides to the current time, and converts a state that was written under another quota. The used
-- units stay used, up to the new limit. An excess over the new limit would only delay the client in
-- the next window.
function counter.turn(ask)
    slide(ask, ask.window_us)
    ask.is_older = ask.window_us ~= ask.period or ask.older_limit ~= ask.limit
    if ask.window_us ~= ask.period then
        ask.current, ask.previous = estimate(ask, ask.window_us), 0
        ask.start_us = now_us - now_us % ask.period
    end
    if ask.is_older then
        ask.current = math.min(ask.current, ask.limit)
    end
    ask.window_us, ask.older_limit = ask.period, ask.limit
end

-- Returns the time, in microseconds from the start of the next window, at which the weight of
-- `count` events has fallen to at most `room`.
local function fades_us(ask, count, room)
    if count <= room then
        return 0
    end
    return scale(count - room - 1, ask.period, count) + 1
end

function counter.wait(ask, cost)
    if cost == 0 then
        return 0
    elseif cost > ask.limit then
        return nil
    end
    local room = ask.limit - cost
    local allowed_us
    if ask.current <= room then
        allowed_us = fades_us(ask, ask.previous, room - ask.current)
    else
        allowed_us = ask.period + fades_us(ask, ask.current, room)
    end
    return math.max(allowed_us - (now_us - ask.start_us), 0)
end

function counter.used(ask)
    return math.min(estimate(ask, ask.period), ask.limit)
end

function counter.spend(ask, cost)
    ask.current = math.min(ask.current + cost, MOST)
end

function counter.mark(ask)
    return ask.start_us, 0
end

function counter.refund(ask, cost, start_us)
    if start_us == ask.start_us then
        ask.current = math.max(ask.current - cost, 0)
    elseif start_us == ask.start_us - ask.period then
        ask.previous = math.max(ask.previous - cost, 0)
    end
end

function counter.save(ask)
    local windows = ask.current > 0 and 2 or 1
    write(ask.key, ask.start_us + windows * ask.period - now_us,
        {now_us, ask.start_us, ask.previous, ask.current, ask.period, ask.limit})
end

return {[5] = counter}
