-- Puts rules in force: those that a node was started with, or those that an operator has changed.
--
-- A node that starts brings the rules it was configured with. If the room was opened with the
-- same, what operators have changed since stays; otherwise this is a new release, and its rules
-- are in force. An operator changes the rules of a version, and is told if they are another's.
--
-- ARGV  [2] the version that is changed; '' for a node that starts
--       [3] the rules, to be read by nodes; [4...] the same, to be read by scripts
-- reply for the one call: 1 if they are in force now, the rules that are, and for a node that starts
--       how much memory the server may use and what it does about it

local function set_rules()
    local old_method = room.method
    local values = {unpack(ARGV, 4)}
    local fields = {'rules', ARGV[3]}
    for i, name in ipairs(FIELDS) do
        table.insert(fields, name)
        table.insert(fields, values[i])
    end
    redis.call('HSET', ROOM, unpack(fields))
    read_rules(values)
    room.version = room.version + 1
    -- Lots are drawn at the next check-in. The order of arrival is in force at once again.
    if old_method == 'random' and room.method ~= 'random' then
        redis.call('ZINTERSTORE', PRESENT, 2, PRESENT, PLACES, 'WEIGHTS', 0, 1)
    end
end

-- Opens a room that was not there, or has been lost.
local function create()
    redis.call('DEL', unpack(KEYS))
    redis.call('HSET', ROOM, 'origin', ARGV[3])
    room.last_us, room.skew_us = 0, 0
    room.now_us = read_clock()
    -- No version of a room that was lost is one of this room.
    room.version = room.now_us
    room.since_us, room.checked_us, room.server = room.now_us, room.now_us, server_id()
    room.pace = {began_us = 0, current = 0, slices = {}}
    set_rules()
    room.hold_until_us = room.now_us + room.hold_us
end

local is_start = ARGV[2] == ''
local is_set = 1
if not open() then
    create()
else
    check_server()
    clear()
    local is_known = is_start and redis.call('HGET', ROOM, 'origin') == ARGV[3]
    if is_start and not is_known then
        redis.call('HSET', ROOM, 'origin', ARGV[3])
    end
    if is_known or (not is_start and tonumber(ARGV[2]) ~= room.version) then
        is_set = 0
    else
        set_rules()
    end
end
local reply = {is_set, redis.call('HGET', ROOM, 'rules')}
if is_start then
    local memory = redis.call('INFO', 'memory')
    table.insert(reply, string.match(memory, 'maxmemory:(%d+)'))
    table.insert(reply, string.match(memory, 'maxmemory_policy:([%w-]+)'))
end
return close({reply})
