-- The room in numbers, and its rules if they are not those of the version that is known. As long as
-- somebody looks, the room is kept.
--
-- ARGV  [2] the version that is known
-- reply for the one call: active, new_in_last_minute, waiting, first_arrival_us or -1, rules or '',
--       the frontier or -1, {arrivals of the present, evenly spaced}, 1 if more is to be swept,
--       first tickets in about the last minute

-- A node answers by this for so long.
local HORIZON_US = 2 * 1000000
-- So many more than are expected to enter by then have to ask, for sessions that end by themselves.
local AT_LEAST_MORE = 32
local SAMPLES = 32

-- How many may enter before the next snapshot at most, as far as can be foreseen.
local function foreseen()
    local later_us = room.now_us + HORIZON_US
    local free = room.slots - redis.call('ZCOUNT', ACTIVE, '(' .. digits(later_us), '+inf')
    if room.minute then
        free = math.min(free, room.minute - count_since(later_us - MINUTE_US))
    end
    free = math.max(free, 0)
    return free + math.max(AT_LEAST_MORE, math.floor(free / 2))
end

-- Who arrived later than this cannot be let in before the next snapshot, but will be later. Where
-- chance decides, or nobody is let in, each is told so.
local function frontier_us()
    local is_closed = room.mode == 'queue_all' or room.now_us < room.hold_until_us
    if is_closed or room.method == 'random' or room.method == 'passthrough' then
        return -1
    end
    local index = foreseen()
    local at = redis.call('ZRANGE', PRESENT, index, index, 'WITHSCORES')
    return at[2] and tonumber(at[2]) or -1
end

local function arrivals_us()
    local samples, present = {}, redis.call('ZCARD', PRESENT)
    for i = 0, SAMPLES - 1 do
        local index = math.floor(i * present / SAMPLES)
        local at = redis.call('ZRANGE', PRESENT, index, index, 'WITHSCORES')
        if at[2] then
            table.insert(samples, tonumber(at[2]))
        end
    end
    return samples
end

-- Leaves what was seen for the nodes that look within the next second: they read it by one command.
local function leave_glance(head, numbers, frontier, samples)
    local said = {}
    for _, part in ipairs({head, numbers, {frontier}, samples}) do
        for _, value in ipairs(part) do
            table.insert(said, type(value) == 'number' and digits(value) or value)
        end
    end
    redis.call('HSET', ROOM, 'glance', table.concat(said, ' '))
end

if not open() then
    return {}
end
check_losses()
local is_more = clear()
for _, key in ipairs(KEYS) do
    keep_key(key)
end
local rules = ''
if tonumber(ARGV[2]) ~= room.version then
    rules = redis.call('HGET', ROOM, 'rules')
end
local first = redis.call('ZRANGE', PLACES, 0, 0, 'WITHSCORES')
local arrival_us = first[2] and tonumber(first[2]) or -1
local frontier = frontier_us()
local samples = frontier < 0 and {} or arrivals_us()
local numbers = {active(), count_minute(), redis.call('ZCARD', PLACES), arrival_us}
local reply = close({{
    numbers[1], numbers[2], numbers[3], numbers[4], rules, frontier, samples, is_more and 1 or 0,
    first_touches_in_last_minute(),
}})
leave_glance(reply[1], numbers, frontier, samples)
return reply
