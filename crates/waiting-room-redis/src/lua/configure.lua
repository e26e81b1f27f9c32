-- Puts rules in force: those that a node was started with, or those that an operator has changed.
--
-- A node that starts brings the rules it was configured with. If the room was opened with the
-- same, what operators have changed since stays; otherwise this is a new release, and its rules
-- are in force. An operator changes the rules of a version, and is told if they are another's.
--
-- ARGV  [2] the version that is changed; 'start' for a node that starts, 'again' for one that has
--           found the room gone
--       [3] the time as the node knows it, behind which the room does not begin
--       [4] the rules that the node was configured with
--       [5] the rules, to be read by nodes; [6...] the same, to be read by scripts
-- reply for the one call: 1 if they are in force now, the rules that are, the longest that a pass may
--       live that was issued under any rules so far, and for a node that starts how much memory the
--       server may use and what it does about it

-- A room on hold waits for the longest pass that was ever issued, not only for those of these rules.
local function hold_for_the_longest(before_us)
    local longest_us = tonumber(redis.call('HGET', ROOM, 'longest_us') or 0)
    longest_us = math.max(longest_us, before_us, room.lifetime_us)
    if room.hold_us > 0 then
        room.hold_us = math.max(room.hold_us, longest_us)
    end
    redis.call('HSET', ROOM, 'longest_us', digits(longest_us), 'hold_us', digits(room.hold_us))
end

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
    -- Lots are drawn at the next check-in. The order of arrival is in force at once again.
    if old_method == 'random' and room.method ~= 'random' then
        redis.call('ZINTERSTORE', PRESENT, 2, PRESENT, PLACES, 'WEIGHTS', 0, 1)
    end
end

-- Opens a room that was not there, or has been lost.
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

-- Whether these rules replace those of a room that is there.
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
