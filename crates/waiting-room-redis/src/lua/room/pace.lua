-- How fast visitors are let in, and when one is asked to come back.

-- Makes the slice of now the last one, and drops those that are older than three minutes.
local function roll()
    local pace, index = room.pace, math.floor(room.now_us / SLICE_US)
    -- First tickets in the last slices, the current one first. A room that an earlier release has
    -- opened has none.
    pace.touches = pace.touches or {0, 0, 0, 0, 0, 0}
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

local function record_pace()
    roll()
    local slices = room.pace.slices
    slices[#slices] = slices[#slices] + 1
end

local function record_first_touch()
    roll()
    room.pace.touches[1] = room.pace.touches[1] + 1
end

-- First tickets in the current slice and the five before.
local function first_touches_in_last_minute()
    roll()
    local sum = 0
    for _, touches in ipairs(room.pace.touches) do
        sum = sum + touches
    end
    return sum
end

local function total(slices, count)
    local sum = 0
    for i = 1, count do
        sum = sum + slices[i]
    end
    return sum
end

-- Admissions per second over the last three minutes; as configured until that is known.
local function per_second()
    roll()
    local slices = room.pace.slices
    local kept_us = (#slices - 1) * SLICE_US + room.now_us % SLICE_US
    local elapsed_us = math.min(room.now_us - room.pace.began_us, kept_us)
    if elapsed_us < TRUSTED_AFTER_US then
        return room.rate
    end
    return total(slices, #slices) * 1000000 / elapsed_us
end

-- Variance over mean of the slices that are complete; 1 for independent arrivals.
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

-- Whether nobody is let in whatever becomes free, so that there is nothing to expect.
local function is_closed(reason)
    return reason == 'queue_all' or reason == 'recovery'
end

-- In how many seconds a newcomer is to ask for the second time: 1 to 2 while up to a thousand come
-- per second, and later, spread over longer, if there are more.
local function second_touch_s(jitter)
    roll()
    local covered_us = SLICE_US + room.now_us % SLICE_US
    local per_second = (room.pace.touches[1] + room.pace.touches[2]) * 1000000 / covered_us
    local base = math.max(math.min(per_second / 1000, room.refresh_us / 1000000 * 0.65), 1)
    return math.floor(base * (1 + jitter / 300) + 0.5)
end

-- In how many seconds to ask again: an eighth of what the others take, within bounds, spread by so
-- many thousandths.
local function interval_s(ahead, reason, jitter)
    local base_us = room.refresh_us
    if not is_closed(reason) then
        local pace_us = (ahead + 1) * 1000000 / math.max(per_second(), room.rate)
        base_us = math.min(math.max(pace_us / 8, SHORTEST_INTERVAL_US), room.refresh_us)
    end
    return math.ceil((base_us + math.floor(base_us * jitter / 1000)) / 1000000)
end
