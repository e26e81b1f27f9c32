-- The admissions of the last 60 seconds, stored as a list of their times, newest first.

-- Returns whether one more visitor may be admitted in addition to `reserved` other visitors.
--
-- With a limit of n admissions per minute, the (n - reserved)-th latest admission must be at least
-- a minute old, if it exists.
local function conforms(reserved)
    if not room.minute then
        return true
    end
    if room.minute <= reserved then
        return false
    end
    local at_us = redis.call('LINDEX', MINUTE, room.minute - reserved - 1)
    return not at_us or tonumber(at_us) + MINUTE_US <= room.now_us
end

-- Records an admission at the current time. Each call adds one entry, and drops up to two entries
-- that are older than a minute, so that the list shrinks again after a busy minute.
local function record_admission()
    redis.call('LPUSH', MINUTE, digits(room.now_us))
    for _ = 1, 2 do
        if tonumber(redis.call('LINDEX', MINUTE, -1)) + MINUTE_US <= room.now_us then
            redis.call('RPOP', MINUTE)
        end
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

-- Returns the number of visitors who were admitted within the last minute, and drops older times.
local function count_minute()
    local inside = count_since(room.now_us - MINUTE_US)
    if inside == 0 then
        redis.call('DEL', MINUTE)
    else
        redis.call('LTRIM', MINUTE, 0, inside - 1)
    end
    return inside
end
