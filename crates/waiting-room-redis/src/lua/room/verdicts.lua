-- Decides whether a visitor may enter, and builds the replies that newcomers and waiting visitors
-- share.

-- Decides whether a visitor with `ahead` present visitors ahead of it may enter. Returns true or
-- false, and the reason.
--
-- Slots and admissions of the current minute are reserved for the visitors ahead, so a visitor
-- enters only if enough are left for all visitors ahead and for itself.
local function may_enter(ahead)
    if room.mode == 'queue_all' then
        return false, room.course and room.course.waits and 'prequeue' or 'queue_all'
    end
    if room.queueing_method == 'passthrough' and active() < MAX_USERS then
        return true, 'passthrough'
    end
    if room.now_us < room.hold_until_us then
        return false, 'recovery'
    end
    local free = free_slots()
    if free <= 0 then
        return false, 'active_limit'
    end
    if not conforms(0) then
        return false, 'rate'
    end
    if free <= ahead or not conforms(ahead) then
        return false, 'behind_others'
    end
    return true, 'slot'
end

-- Returns whether so many slots are taken that a newcomer has to return a first ticket before it
-- enters.
local function is_cookie_tested()
    return room.cookie_test and active() * 100 >= room.cookie_test * room.total_active_users
end

-- Admits a visitor, and records the admission.
local function admit(id, first_seen_us, reason)
    local pass = {
        bucket = math.floor(first_seen_us / MINUTE_US),
        accepted_us = room.now_us,
        expires_us = room.now_us + room.lifetime_us,
    }
    hold(id, pass, not networks.crowded(id), false)
    room.admitted = room.admitted + 1
    if reason == 'slot' then
        take_slot()
    end
    record_pace()
    return pass_reply(pass, reason)
end

-- Refuses a visitor because the queueing method is 'reject'. The retry time is -1 (never) unless
-- the room is closed and will open again.
local function reject(reason)
    return {'refuse', 'reject', is_closed(reason) and room.refresh_interval_us or -1}
end

-- Decides on a visitor who has neither a pass nor a valid ticket, and is thus behind all present
-- visitors.
local function newcomer(id, jitter)
    if room.mode == 'drain' then
        return {'refuse', 'draining', room.refresh_interval_us}
    end
    -- All newcomers of a batch are behind the same visitors.
    room.present = room.present or redis.call('ZCARD', PRESENT)
    local enters, reason = may_enter(room.present)
    if enters and reason == 'slot' and is_cookie_tested() then
        record_first_touch()
        return {'first', 'cookie_test', COOKIE_TEST_INTERVAL_S}
    end
    if enters then
        return admit(id, room.now_us, reason)
    end
    if room.queueing_method == 'reject' then
        return reject(reason)
    end
    local interval = second_touch_s(jitter)
    record_first_touch()
    return {'first', reason, interval}
end
