-- Returns the figures of the room, and its rules if the node does not know them yet. Each snapshot
-- renews the expiry of the room's keys, so a room is kept while any node polls it.
--
-- KEYS  the keys of the room, see head.lua
-- ARGV  [2] the version of the rules that the node already knows
-- reply for the one call: active, new_in_last_minute, waiting, first_arrival_us or -1,
--       rules or '', frontier_us or -1, {arrivals of present visitors, evenly spaced},
--       1 if more entries have to be swept, first tickets in the last 50 to 60 seconds, places
--       given up, schedule or '', draw or {}, the tag of the latest draw or 0, its entrants so far,
--       the largest numbers of slots and of places of one narrow network
-- time  the clock of the room

-- The time for which a node may use a snapshot to answer check-ins.
local HORIZON_US = 2 * 1000000
-- The minimum margin between the frontier and the visitors who are expected to enter within the
-- horizon. The margin is needed because visitors may end their sessions early.
local AT_LEAST_MORE = 32
-- The number of arrivals from which a node interpolates positions.
local SAMPLES = 32

-- Returns the expected number of visitors who may enter within the horizon, plus a margin of half
-- that number, but at least AT_LEAST_MORE.
local function foreseen()
    local later_us = room.now_us + HORIZON_US
    local first, last = math.floor(room.now_us / 1000000), math.floor(later_us / 1000000)
    local free = room.total_active_users - active() + count_expiring(first, last)
    if room.new_users_per_minute then
        free = math.min(free, room.new_users_per_minute - count_since(later_us - room.held_us))
    end
    free = math.max(free, 0)
    return free + math.max(AT_LEAST_MORE, math.floor(free / 2))
end

-- Returns the arrival time of the visitor at the frontier, so that visitors who arrived later
-- cannot be admitted before the next snapshot. Returns -1 if the line does not reach the frontier,
-- if its order is random, if the room is closed, or if the room admits every visitor. The server
-- then decides each check-in.
local function frontier_us()
    local draw = current_draw()
    local is_closed = room.mode == 'queue_all' or room.now_us < room.hold_until_us
        or draw and draw.settled_us
    if is_closed or room.queueing_method == 'random' or room.queueing_method == 'passthrough' then
        return -1
    end
    local index = foreseen()
    local at = redis.call('ZRANGE', PRESENT, index, index, 'WITHSCORES')
    return at[2] and tonumber(at[2]) or -1
end

-- Returns the arrival times of up to SAMPLES present visitors, at equal distances in the line.
local function arrivals_us()
    local samples, present = {}, redis.call('ZCARD', PRESENT)
    for i = 0, SAMPLES - 1 do
        local index = math.floor(i * present / SAMPLES)
        local at = redis.call('ZRANGE', PRESENT, index, index, 'WITHSCORES')
        if at[2] then
            -- Late places count as if they came now.
            table.insert(samples, math.min(tonumber(at[2]), room.now_us))
        end
    end
    return samples
end

-- Stores a copy of the reply in the room for nodes that poll the room within the next second, which
-- read the copy with one command instead of a script. The numbers are separated by spaces, and
-- `revive` in reply.rs decodes them.
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
local rules, schedule, drawn = '', '', {}
if tonumber(ARGV[2]) ~= room.version then
    rules, schedule, drawn = unpack(read_plan())
end
local draw = current_draw()
local frontier = frontier_us()
local samples = frontier < 0 and {} or arrivals_us()
local most_slots, most_places = networks.write()
local numbers = {active(), count_minute(), room.places, first_arrival_us()}
local reply = close({{
    numbers[1], numbers[2], numbers[3], numbers[4], rules, frontier, samples, is_more and 1 or 0,
    first_touches_in_last_minute(), tonumber(redis.call('HGET', ROOM, 'abandoned') or 0),
    schedule, drawn, draw and draw.tag or 0, draw and (draw.entrants or draw.highest) or 0,
    most_slots, most_places,
}})
leave_glance(reply[1], numbers, frontier, samples)
return reply
