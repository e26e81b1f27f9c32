-- The fixed window, which begins at multiples of its length or at the first event.
--
-- ask    limit, period (the window in microseconds)
-- state  last_us start_us used window_us
-- time   the clock of the group, see charge.lua

-- Creates a meter whose windows start at the time that `begin` returns.
local function window(begin)
    local meter = {}

    function meter.load(ask)
        local state = read(ask.key)
        ask.is_there = state ~= false
        ask.last_us, ask.start_us, ask.taken, ask.window_us = 0, 0, 0, ask.period
        if state then
            ask.last_us, ask.start_us, ask.taken, ask.window_us = unpack(state)
        end
    end

    -- Begins a new window if the current window is over or unused. If the length of the window has
    -- changed with the quota, the used units stay used.
    function meter.turn(ask)
        ask.is_older = ask.window_us ~= ask.period
        if ask.taken == 0 or now_us - ask.start_us >= ask.window_us then
            ask.start_us, ask.taken = begin(ask), 0
        elseif ask.is_older then
            ask.start_us = begin(ask)
        end
        ask.window_us = ask.period
    end

    function meter.wait(ask, cost)
        if cost == 0 then
            return 0
        elseif cost > ask.limit then
            return nil
        elseif ask.taken <= ask.limit - cost then
            return 0
        end
        return ask.start_us + ask.period - now_us
    end

    function meter.used(ask)
        return math.min(ask.taken, ask.limit)
    end

    function meter.spend(ask, cost)
        ask.taken = math.min(ask.taken + cost, MOST)
    end

    function meter.mark(ask)
        return ask.start_us, 0
    end

    function meter.refund(ask, cost, start_us)
        if start_us == ask.start_us then
            ask.taken = math.max(ask.taken - cost, 0)
        end
    end

    function meter.save(ask)
        write(ask.key, ask.start_us + ask.period - now_us,
            {now_us, ask.start_us, ask.taken, ask.period})
    end

    return meter
end

-- Begins windows at multiples of their length since the Unix epoch.
local function by_epoch(ask)
    return now_us - now_us % ask.period
end

-- Begins a window at the first event after the previous window.
local function by_first_hit()
    return now_us
end

return {[3] = window(by_epoch), [4] = window(by_first_hit)}
