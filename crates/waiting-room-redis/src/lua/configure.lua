-- Opens a room or changes its rules: to those of a node that starts, or as an operator wants.
--
-- The room keeps the rules that the node which opened it was configured with. A node that starts
-- with the same rules changes nothing, so changes by operators stay. A node that starts with others
-- is a new release, and its rules replace those in force. An operator's change applies only to the
-- version of the rules for which it was made.
--
-- KEYS  those of the room, see head.lua
-- ARGV  [2] the version that is changed; 'start' for a node that starts, 'again' for one that has
--           found the room gone
--       [3] the time as the node knows it, in microseconds; a new room does not start before it
--       [4] the rules that the node was configured with
--       [5] the rules, in the form for nodes; [6...] the same, in the form for scripts
-- reply for the one call: 1 if these rules are in force now; the rules in force; the longest
--       lifetime of a pass under any rules so far, in microseconds; and for a node that starts the
--       server's maxmemory and its policy
-- time  the room's own

-- Makes a pause after a loss last for the longest lifetime of any pass that was ever issued, not
-- only of those under the present rules.
local function hold_for_the_longest(before_us)
    local longest_us = tonumber(redis.call('HGET', ROOM, 'longest_us') or 0)
    longest_us = math.max(longest_us, before_us, room.lifetime_us)
    if room.hold_us > 0 then
        room.hold_us = math.max(room.hold_us, longest_us)
    end
    redis.call('HSET', ROOM, 'longest_us', digits(longest_us), 'hold_us', digits(room.hold_us))
end

-- Puts the rules in ARGV in force, under a new version.
local function set_rules()
    local old_method, before_us = room.method, room.lifetime_us or 0
    local values = {unpack(ARGV, 6)}
    local fields = {'rules', ARGV[5]}
    for i, name in ipairs(FIELDS) do
        table.insert(fields, name)
        table.insert(fields, values[i])
    end
    redis.call('HSET', ROOM, unpack(fields))
    read_rules(values)
    hold_for_the_longest(before_us)
    room.version = next_version()
    -- A room that becomes random draws each lot at the visitor's next check-in. One that is random
    -- no longer returns to the order of arrival at once.
    if old_method == 'random' and room.method ~= 'random' then
        redis.call('ZINTERSTORE', PRESENT, 2, PRESENT, PLACES, 'WEIGHTS', 0, 1)
    end
end

-- Opens a room that has never been there, or was lost.
local function create()
    redis.call('DEL', unpack(KEYS))
    redis.call('HSET', ROOM, 'origin', ARGV[4])
    room.last_us, room.skew_us = tonumber(ARGV[3]), 0
    room.now_us = read_clock()
    room.version, room.losses = 0, 0
    room.since_us, room.checked_us, room.server = room.now_us, room.now_us, server_id()
    room.pace = {began_us = 0, current = 0, slices = {}}
    set_rules()
    room.hold_until_us = room.now_us + room.hold_us
end

-- Whether these rules replace those of an existing room.
local function replaces()
    if ARGV[2] == 'again' then
        return false
    elseif ARGV[2] ~= 'start' then
        return tonumber(ARGV[2]) == room.version
    end
    local is_release = redis.call('HGET', ROOM, 'origin') ~= ARGV[4]
    redis.call('HSET', ROOM, 'origin', ARGV[4])
    return is_release
end

local is_set = true
if not open() then
    create()
else
    check_losses()
    clear()
    is_set = replaces()
    if is_set then
        set_rules()
    end
end
local reply = {is_set and 1 or 0, redis.call('HGET', ROOM, 'rules'),
    tonumber(redis.call('HGET', ROOM, 'longest_us') or 0)}
if ARGV[2] == 'start' then
    local memory = redis.call('INFO', 'memory')
    table.insert(reply, string.match(memory, 'maxmemory:(%d+)'))
    table.insert(reply, string.match(memory, 'maxmemory_policy:([%w-]+)'))
end
return close({reply})
