-- Opens a room, or replaces its rules with those of a starting node or of an operator.
--
-- The room stores the configured rules of the node that opened it. A node that starts with the same
-- rules changes nothing, so changes by operators are preserved. A node that starts with different
-- rules is a new release, and its rules replace the current rules. An operator's change applies
-- only to the version of the rules for which it was made. The schedule belongs to the rules.
--
-- KEYS  the keys of the room, see head.lua
-- ARGV  [2] the version that is changed; or 'start' and the version that the node knows, or 0, for a
--           starting node, which keeps the events of the room, or the event in progress; or 'again'
--           for a node that has found that the room is gone
--       [3] the node's estimate of the current time, in microseconds; a new room must not start
--           before this time
--       [4] the rules and the schedule that the node was configured with
--       [5] the rules in the format for nodes [6] the schedule in the format for nodes, or ''
--       [7] the phases of the schedule, see `phases.rs`, or '' [8] the tag and the number of
--       entrants of the latest draw, or '' if the node does not know them
--       [9...] the rules in the format for scripts
-- reply for the one call: 1 if the given rules are now in effect, 2 if the node has to start again
--       with the events that follow; the current rules; the longest lifetime of a pass under any
--       rules so far, in microseconds; the schedule or ''; the latest draw, see `read_plan` in
--       course.lua; and, for a node that is starting, the server's maxmemory and maxmemory-policy
-- time  the clock of the room

-- Replaces the current rules and the schedule with those in ARGV, under a new version.
local function set_rules()
    redis.call('HSET', ROOM, 'rules', ARGV[5], 'schedule', ARGV[6], 'phases', ARGV[7])
    room.version = next_version()
    if ARGV[7] ~= '' then
        room.course = room.course or {}
        change_phase(cjson.decode(ARGV[7]))
        return
    end
    -- The latest draw outlives its event, so that entrants who are waiting keep their order.
    if room.course then
        room.course = {stage = 'idle', draw = room.course.draw}
    end
    apply_rules({unpack(ARGV, 9)})
end

-- Continues a draw that took place before the room was lost, with the number of entrants that the
-- node knows.
local function continue_draw()
    local draw = current_draw()
    local tag, count = string.match(ARGV[8], '(%d+) (%d+)')
    if draw and draw.started_us and not draw.entrants and tonumber(tag) == draw.tag then
        freeze_draw(draw, tonumber(count))
    end
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
    read_sizes({0, 0, 0, 1})
    room.watermark_us, room.next_forget_us = 0, 0
    set_rules()
    continue_draw()
    room.hold_until_us = room.now_us + room.hold_us
end

-- Whether a node is starting, and the version that it has seen.
local starts, seen = string.match(ARGV[2], '^(start) (%d+)$')
-- Whether the node has to learn the events of the room first, because what has begun is kept.
local is_behind = false

-- Returns whether the given rules replace the rules of an existing room.
local function replaces()
    if ARGV[2] == 'again' then
        return false
    elseif not starts then
        return tonumber(ARGV[2]) == room.version
    elseif redis.call('HGET', ROOM, 'origin') == ARGV[4] then
        return false
    elseif tonumber(seen) ~= room.version then
        is_behind = true
        return false
    end
    redis.call('HSET', ROOM, 'origin', ARGV[4])
    return true
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
local plan = read_plan()
local reply = {is_behind and 2 or is_set and 1 or 0, plan[1], tonumber(redis.call('HGET', ROOM, 'longest_us') or 0),
    plan[2], plan[3]}
if starts then
    local memory = redis.call('INFO', 'memory')
    table.insert(reply, string.match(memory, 'maxmemory:(%d+)'))
    table.insert(reply, string.match(memory, 'maxmemory_policy:([%w-]+)'))
end
return close({reply})
