-- The admissions of the last minute, stored as a list of their times, newest first. They count for
-- `room.held_us`: sixty seconds, or slightly more if all sites share the limit on new visitors.

-- Returns whether one more visitor may be admitted in addition to `reserved` other visitors.
--
-- With a limit of n admissions per minute, the (n - reserved)-th latest admission, if it exists,
-- must no longer count.
local function conforms(reserved)
    if not room.new_users_per_minute then
        return true
    end
    if room.new_users_per_minute <= reserved then
        return false
    end
    -- Admissions by this script are not in the list yet.
    local index = room.new_users_per_minute - reserved - 1 - room.admitted
    local at_us = index < 0 and room.now_us or redis.call('LINDEX', MINUTE, index)
    return not at_us or tonumber(at_us) + room.held_us <= room.now_us
end

-- Adds the admissions by this script to the list, all at the current time. For each of them, up to
-- two entries that no longer count are dropped, so that the list shrinks again after a busy minute.
local function write_admissions()
    if room.admitted == 0 then
        return
    end
    local times, now = {}, digits(room.now_us)
    for i = 1, room.admitted do
        times[i] = now
    end
    redis.call('LPUSH', MINUTE, unpack(times))
    local kept = -1
    for _, at_us in ipairs(redis.call('LRANGE', MINUTE, -2 * room.admitted, -1)) do
        kept = tonumber(at_us) + room.held_us <= room.now_us and kept - 1 or kept
    end
    if kept < -1 then
        redis.call('LTRIM', MINUTE, 0, kept)
    end
end

-- Returns the number of visitors who were admitted after the time `at_us`, using a binary search.
local function count_since(at_us)
    local inside, outside = 0, redis.call('LLEN', MINUTE)
    while inside < outside do
        local middle = math.floor((inside + outside) / 2)
        if tonumber(redis.call('LINDEX', MINUTE, middle)) <= at_us then
            outside = middle
        else
            inside = middle + 1
        end
    end
    return inside
end

-- Returns the number of visitors who were admitted in the last 60 seconds, and drops the times that no
-- longer count.
local function count_minute()
    local kept = count_since(room.now_us - room.held_us)
    if kept == 0 then
        redis.call('DEL', MINUTE)
    else
        redis.call('LTRIM', MINUTE, 0, kept - 1)
    end
    return room.held_us == MINUTE_US and kept or count_since(room.now_us - MINUTE_US)
end
