-- The room in numbers, and its rules if the node does not know them yet. Renews the expiry of the
-- room's keys, so a room is kept while any node looks at it.
--
-- KEYS  those of the room, see head.lua
-- ARGV  [2] the version of the rules that the node knows
-- reply for the one call: active, new_in_last_minute, waiting, first_arrival_us or -1,
--       rules or '', frontier_us or -1, {arrivals of present visitors, evenly spaced},
--       1 if there is more to sweep, first tickets in the last 50 to 60 seconds
-- time  the room's own

-- How long a node uses a snapshot to answer check-ins.
local HORIZON_US = 2 * 1000000
-- The least margin between the visitors who are expected to enter by then and the frontier, because
-- visitors may end their sessions early.
local AT_LEAST_MORE = 32
-- The number of arrivals from which a node interpolates positions.
local SAMPLES = 32

-- Returns how many visitors may enter before the next snapshot, as far as can be foreseen, with a
-- margin of half as many, or AT_LEAST_MORE.
local function foreseen()
    local later_us = room.now_us + HORIZON_US
    local free = room.slots - redis.call('ZCOUNT', ACTIVE, '(' .. digits(later_us), '+inf')
    if room.minute then
        free = math.min(free, room.minute - count_since(later_us - MINUTE_US))
    end
    free = math.max(free, 0)
    return free + math.max(AT_LEAST_MORE, math.floor(free / 2))
end

-- Returns the arrival of the visitor at the frontier: visitors who arrived later cannot be admitted
-- before the next snapshot. Returns -1 if the line is shorter than that, and for a room that is
-- random or closed or that admits every visitor: there the server decides each check-in.
local function frontier_us()
    local is_closed = room.mode == 'queue_all' or room.now_us < room.hold_until_us
    if is_closed or room.method == 'random' or room.method == 'passthrough' then
        return -1
    end
    local index = foreseen()
    local at = redis.call('ZRANGE', PRESENT, index, index, 'WITHSCORES')
    return at[2] and tonumber(at[2]) or -1
end

-- Returns the arrivals of up to SAMPLES present visitors, at equal distances in the line.
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

-- Leaves a copy of this reply in the room, for nodes that look within the next second: they read it
-- with one command instead of a script. The numbers are separated by spaces; `revive` in reply.rs
-- reads them.
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
