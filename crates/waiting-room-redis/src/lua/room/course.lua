-- The course of the events of a room: which rules are in force, by the clock of the room. The
-- counterpart of this file in the core is `room/events.rs`.
--
-- The field `phases` of the room contains the rules of each phase of its schedule, as JSON, in the
-- order of time, see `phases.rs`. The field `course`, which is absent until the room has events, is
-- unpacked into `room.course`:
--
--   next_us   the time at which the phase changes next, or nil if it never changes again
--   stage     'idle', 'prequeue' or 'active'
--   start_us  the start of the event of the prequeue or of the active event
--   waits     whether visitors wait for the start, because no operator has set another mode
--   is_drawn  whether the order of the event is drawn at its start
--   draw      the latest draw, see draw.lua

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

-- Puts the rules with these values, in the order of FIELDS, into force.
local function apply_rules(values)
    local old_method, before_us = room.queueing_method, room.lifetime_us or 0
    local fields = {}
    for i, name in ipairs(FIELDS) do
        fields[2 * i - 1], fields[2 * i] = name, values[i]
    end
    redis.call('HSET', ROOM, unpack(fields))
    read_rules(values)
    hold_for_the_longest(before_us)
    -- After a change to a random order, each lot is drawn at the visitor's next check-in. A room
    -- whose order is no longer random immediately returns to the order of arrival. ARRIVALS
    -- contains the visitors whose arrival is not their rank.
    if old_method == 'random' and room.queueing_method ~= 'random' then
        redis.call('ZINTERSTORE', PRESENT, 2, PRESENT, ARRIVALS, 'WEIGHTS', 0, 1)
        redis.call('ZDIFFSTORE', ARRIVALS, 2, ARRIVALS, PRESENT)
    elseif old_method ~= 'random' and room.queueing_method == 'random' then
        redis.call('ZUNIONSTORE', ARRIVALS, 2, ARRIVALS, PRESENT)
    end
    keep_key(PRESENT)
    keep_key(ARRIVALS)
end

-- Enters the phase of the current time, the last one of `phases` that has begun.
local function change_phase(phases)
    local course, phase = room.course, nil
    course.next_us = nil
    for _, other in ipairs(phases) do
        if other.from_us > room.now_us then
            course.next_us = other.from_us
            break
        end
        phase = other
    end
    local starts = phase.stage == 'active'
        and (course.stage ~= 'active' or course.start_us ~= phase.start_us)
    course.stage, course.start_us = phase.stage, phase.start_us
    course.waits, course.is_drawn = phase.waits, phase.draw ~= nil
    apply_rules(phase.rules)
    if phase.draw then
        prepare_draw(phase)
    end
    if starts then
        restart_pace()
    end
end

-- Returns what nodes need to know: the room's own rules, its schedule or '', and the latest draw:
-- {tag, number of entrants or -1, name of the event, seed}, or {} before the first draw.
local function read_plan()
    local plan = redis.call('HMGET', ROOM, 'rules', 'schedule')
    local draw = current_draw()
    local drawn = draw and {draw.tag, draw.entrants or -1, draw.event, draw.seed} or {}
    return {plan[1], plan[2] or '', drawn}
end

-- Follows the schedule up to the current time. The clock of the room never runs backwards, so a
-- phase that has ended never returns.
local function follow_schedule()
    local course = room.course
    if course then
        if course.next_us and course.next_us <= room.now_us then
            change_phase(cjson.decode(redis.call('HGET', ROOM, 'phases')))
        end
        settle_draw()
    end
end
