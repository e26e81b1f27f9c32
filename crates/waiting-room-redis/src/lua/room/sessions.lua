-- The sessions of active visitors, and the visitors whose proofs are void because their sessions
-- have ended.

-- Returns the number of active visitors. Lapsed sessions do not count, even if they have not been
-- removed yet. The visitors are counted once for all visitors of a batch, and `room.active` then
-- follows each change.
local function active()
    room.active = room.active
        or redis.call('ZCOUNT', ACTIVE, '(' .. digits(room.now_us), '+inf')
    return room.active
end

-- Returns the session of an active visitor, {bucket, accepted_us, expires_us}, or nil if the
-- visitor is not active.
local function session(id)
    local expires_us = tonumber(redis.call('ZSCORE', ACTIVE, id) or 0)
    if expires_us <= room.now_us then
        return nil
    end
    local packed = redis.call('HGET', PASSES, id)
    if not packed then
        -- The key that stores the passes was deleted or evicted. The visitor's pass restores the
        -- session.
        redis.call('ZREM', ACTIVE, id)
        room.active = nil
        return nil
    end
    local pass = cmsgpack.unpack(packed)
    return {bucket = pass[1], accepted_us = pass[2], expires_us = expires_us}
end

-- Forgets that a session of the visitor has ended.
local function forget_end(id)
    if redis.call('ZREM', ENDED, id) == 1 then
        redis.call('HDEL', VOIDS, id)
    end
end

-- Makes all proofs of a visitor that were issued up to `at_us` void. The record is kept until
-- `forget_us`.
--
-- `how` is 'left' or 'lapsed'. If a session has lapsed, only its tickets become void: a renewal
-- that extended its pass may have been lost with the server, and a session with such a pass must
-- not be ended.
local function remember_end(id, at_us, forget_us, how)
    if redis.call('ZCARD', ENDED) >= MAX_ENDED then
        redis.call('HDEL', VOIDS, redis.call('ZPOPMIN', ENDED)[1])
    end
    redis.call('ZADD', ENDED, digits(forget_us), id)
    redis.call('HSET', VOIDS, id, cmsgpack.pack({at_us, how}))
end

-- Returns 'left' or 'lapsed' if the session of a proof that was issued at `made_us` has ended, and
-- false or nil if the proof is not void.
local function ended(id, made_us)
    local void = redis.call('HGET', VOIDS, id)
    if void then
        local at_us, how = unpack(cmsgpack.unpack(void))
        return made_us <= at_us and how
    end
end

-- Stores the session `pass` of a visitor, who becomes active unless `is_active` is true already.
local function hold(id, pass, is_active)
    if room.active and not is_active then
        room.active = room.active + 1
    end
    redis.call('ZADD', ACTIVE, digits(pass.expires_us), id)
    redis.call('HSET', PASSES, id, cmsgpack.pack({pass.bucket, pass.accepted_us}))
    forget_end(id)
end

-- Extends a session to a full lifetime from now, unless the rules give sessions a fixed length.
local function prolong(pass)
    if not room.fixed then
        pass.expires_us = math.max(pass.expires_us, room.now_us + room.lifetime_us)
    end
end

-- Returns whether the session of a pass is resumed if the room does not know about the pass.
--
-- A room that pauses after a loss restricts passes from before the loss. During the pause, an
-- earlier pass shows how long other passes may be valid, and the pause is extended accordingly.
-- After the pause, an earlier pass needs a free slot.
local function can_take_up(pass, last_check_in_us)
    if room.hold_us == 0 or last_check_in_us >= room.since_us then
        return true
    elseif room.now_us < room.hold_until_us then
        local until_us = room.since_us + pass.expires_us - last_check_in_us
        room.hold_until_us = math.max(room.hold_until_us, until_us)
        return true
    end
    return room.method == 'passthrough' or active() < room.slots
end

-- Returns the reply that admits a visitor with the session `pass`.
local function pass_reply(pass, reason)
    return {'admit', reason, pass.bucket, pass.accepted_us, pass.expires_us}
end

-- Returns the reply for a visitor who is already active and continues the same session, or nil if
-- the visitor is not active.
local function admit_again(id)
    local pass = session(id)
    if pass then
        prolong(pass)
        hold(id, pass, true)
        return pass_reply(pass, 'slot')
    end
end
