-- Opens a room, or replaces its rules with those of a starting node or of an operator.
--
-- The room stores the configured rules of the node that opened it. A node that starts with the same
-- rules changes nothing, so changes by operators are preserved. A node that starts with different
-- rules is a new release, and its rules replace the current rules. An operator's change applies
-- only to the version of the rules for which it was made.
--
-- KEYS  the keys of the room, see head.lua
-- ARGV  [2] the version that is changed, 'start' for a node that starts, or 'again' for a node that
--           has found that the room is gone
--       [3] the node's estimate of the current time, in microseconds; a new room must not start
--           before this time
--       [4] the rules that the node was configured with
--       [5] the rules in the format for nodes; [6...] the same rules in the format for scripts
-- reply for the one call: 1 if the given rules are now in effect; the current rules; the longest
--       lifetime of a pass under any rules so far, in microseconds; and, for a node that is
--       starting, the server's maxmemory and maxmemory-policy
-- time  the clock of the room

-- Ensures that the pause after a loss of state is at least as long as the longest lifetime of any
-- pass that was ever issued, including passes under earlier rules.
local function hold_for_the_longest(before_us)
    local longest_us = tonumber(redis.call('HGET', ROOM, 'longest_us') or 0)
    longest_us = math.max(longest_us, before_us, room.lifetime_us)
    if room.hold_us > 0 then
        room.hold_us = math.max(room.hold_us, longest_us)
    end
    redis.call('HSET', ROOM, 'longest_us', digits(longest_us), 'hold_us', digits(room.hold_us))
end

-- Replaces the current rules with the rules in ARGV, under a new version.
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
    -- After a change to a random order, each lot is drawn at the visitor's next check-in. A room
    -- whose order is no longer random immediately returns to the order of arrival. ARRIVALS
    -- contains the visitors whose arrival is not their rank.
    if old_method == 'random' and room.method ~= 'random' then
        redis.call('ZINTERSTORE', PRESENT, 2, PRESENT, ARRIVALS, 'WEIGHTS', 0, 1)
        redis.call('ZDIFFSTORE', ARRIVALS, 2, ARRIVALS, PRESENT)
    elseif old_method ~= 'random' and room.method == 'random' then
        redis.call('ZUNIONSTORE', ARRIVALS, 2, ARRIVALS, PRESENT)
    end
    keep_key(PRESENT)
    keep_key(ARRIVALS)
end

-- Opens a room that has never existed, or that was lost.
local function create()
    redis.call('DEL', unpack(KEYS))
    redis.call('HSET', ROOM, 'origin', ARGV[4], 'layout', LAYOUT)
    room.last_us, room.skew_us = tonumber(ARGV[3]), 0
    room.now_us = read_clock()
    room.version, room.losses = 0, 0
    room.since_us, room.checked_us, room.server = room.now_us, room.now_us, server_id()
    room.pace = {began_us = 0, current = 0, slices = {}, touches = {0, 0, 0, 0, 0, 0}}
    read_sizes(0, 0, 0, 1)
    set_rules()
    room.hold_until_us = room.now_us + room.hold_us
end

-- Returns whether the given rules replace the rules of an existing room.
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
