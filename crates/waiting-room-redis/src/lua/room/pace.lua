-- The pace of admissions, and the intervals after which visitors are asked to return.
--
-- Admissions are counted in slices of ten seconds, oldest first. The counterpart of this file in
-- the core is `room/estimate.rs`.

-- Makes the slice of the current time the last slice, and drops slices older than three minutes.
-- All visitors of a batch have the same time, so the first call does all the work.
local function roll()
    if room.is_rolled then
        return
    end
    room.is_rolled = true
    local pace, index = room.pace, math.floor(room.now_us / SLICE_US)
    if pace.began_us == 0 then
        pace.began_us, pace.current, pace.slices = room.now_us, index, {0}
    end
    for _ = 1, math.min(index - pace.current, SLICES + 1) do
        table.insert(pace.slices, 0)
        if #pace.slices > SLICES + 1 then
            table.remove(pace.slices, 1)
        end
        table.insert(pace.touches, 1, 0)
        table.remove(pace.touches)
    end
    pace.current = math.max(pace.current, index)
end

-- Forgets the admissions that were counted, because the start of an event changes their rate.
local function restart_pace()
    roll()
    room.pace.began_us, room.pace.slices = room.now_us, {0}
    room.per_second = nil
end

-- Counts one admission in the current slice.
local function record_pace()
    roll()
    local slices = room.pace.slices
    slices[#slices] = slices[#slices] + 1
    room.per_second = nil
end

-- Counts one first ticket in the current slice.
local function record_first_touch()
    roll()
    room.pace.touches[1] = room.pace.touches[1] + 1
end

-- Returns the number of first tickets in the last 50 to 60 seconds: in the current slice and the
-- five slices before it.
local function first_touches_in_last_minute()
    roll()
    local sum = 0
    for _, touches in ipairs(room.pace.touches) do
        sum = sum + touches
    end
    return sum
end

-- Returns the sum of the first `count` slices.
local function total(slices, count)
    local sum = 0
    for i = 1, count do
        sum = sum + slices[i]
    end
    return sum
end

-- Measures the number of admissions per second over the last three minutes.
local function measure_per_second()
    roll()
    local slices = room.pace.slices
    local kept_us = (#slices - 1) * SLICE_US + room.now_us % SLICE_US
    local elapsed_us = math.min(room.now_us - room.pace.began_us, kept_us)
    if elapsed_us < TRUSTED_AFTER_US then
        return room.rate
    end
    return total(slices, #slices) * 1000000 / elapsed_us
end

-- Returns the number of admissions per second over the last three minutes, or the configured rate
-- until 30 seconds have been measured. The number is measured again only after an admission.
local function per_second()
    room.per_second = room.per_second or measure_per_second()
    return room.per_second
end

-- Returns the variance of the complete slices divided by their mean, but at least 1, which is the
-- value for independent admissions.
local function dispersion()
    local slices, complete = room.pace.slices, #room.pace.slices - 1
    local sum = total(slices, math.max(complete, 0))
    if complete < 3 or sum == 0 then
        return 1
    end
    local mean, squares = sum / complete, 0
    for i = 1, complete do
        squares = squares + (slices[i] - mean) * (slices[i] - mean)
    end
    return math.max(squares / (complete - 1) / mean, 1)
end

-- Returns whether a room that gives this reason admits no visitors, even if slots become free.
local function is_closed(reason)
    return reason == 'queue_all' or reason == 'recovery' or reason == 'prequeue'
end

-- Returns the number of seconds after which a newcomer is asked to return for the second touch. The
-- result is 1 to 2 for up to a thousand newcomers per second. For more newcomers, it is larger and
-- spread over a longer time. `jitter` is in thousandths, up to 300.
local function second_touch_s(jitter)
    roll()
    local covered_us = SLICE_US + room.now_us % SLICE_US
    local per_second = (room.pace.touches[1] + room.pace.touches[2]) * 1000000 / covered_us
    local base = math.max(math.min(per_second / 1000, room.refresh_interval_us / 1000000 * 0.65), 1)
    return math.floor(base * (1 + jitter / 300) + 0.5)
end

-- Returns the number of seconds after which a visitor in the prequeue of an event has to check in
-- again. The last check-in before the start is postponed until just after the start, when the
-- check-ins are spread over 2 seconds, or over a second for each 5000 visitors, see
-- `interval_before_start` in the core.
local function interval_before_start_s(jitter)
    local refresh_us, shortest_us = room.refresh_interval_us, SHORTEST_INTERVAL_US
    local until_us = math.max(room.course.start_us - room.now_us, 0)
    local usual_s = math.ceil((refresh_us + math.floor(refresh_us * jitter / 1000)) / 1000000)
    if usual_s * 1000000 + math.min(refresh_us / 4, shortest_us) < until_us then
        return usual_s
    end
    local longest_us = refresh_us * 7 / 5
    local crowd = redis.call('ZCARD', PRESENT)
    local spread_us = math.floor(crowd / STARTERS_PER_SECOND) * 1000000
    spread_us = math.min(spread_us, refresh_us, math.max(longest_us - until_us, 0))
    spread_us = math.max(spread_us, shortest_us)
    local s = math.ceil(until_us / 1000000) + jitter % math.floor(spread_us / 1000000)
    return math.max(math.min(s, math.floor(longest_us / 1000000)), 1)
end

-- Returns the number of seconds after which a visitor with `ahead` visitors ahead of it has to
-- check in again. The interval is an eighth of the expected wait, at least 2 seconds and at most
-- the refresh interval, and is then lengthened by `jitter` thousandths, up to 300.
local function interval_s(ahead, reason, jitter)
    if reason == 'prequeue' then
        return interval_before_start_s(jitter)
    end
    local base_us = room.refresh_interval_us
    if not is_closed(reason) then
        local rate = per_second()
        local pace_us = (ahead + 1) * 1000000 / (rate > room.rate and rate or room.rate)
        -- Most visitors in a long line are asked to return after the refresh interval.
        if pace_us / 8 < base_us then
            base_us = math.min(math.max(pace_us / 8, SHORTEST_INTERVAL_US), base_us)
        end
    end
    return math.ceil((base_us + math.floor(base_us * jitter / 1000)) / 1000000)
end
