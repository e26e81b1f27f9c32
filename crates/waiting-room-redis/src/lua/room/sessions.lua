-- Who is active, and which proofs of whom are void.

local function active()
    return redis.call('ZCOUNT', ACTIVE, '(' .. digits(room.now_us), '+inf')
end

-- The session of a visitor who is active: {bucket, accepted_us, expires_us}.
local function session(id)
    local expires_us = tonumber(redis.call('ZSCORE', ACTIVE, id) or 0)
    if expires_us <= room.now_us then
        return nil
    end
    local packed = redis.call('HGET', PASSES, id)
    if not packed then
        -- Somebody has deleted a key. The pass of its visitor brings the session back.
        redis.call('ZREM', ACTIVE, id)
        return nil
    end
    local pass = cmsgpack.unpack(packed)
    return {bucket = pass[1], accepted_us = pass[2], expires_us = expires_us}
end

local function forget_end(id)
    if redis.call('ZREM', ENDED, id) == 1 then
        redis.call('HDEL', VOIDS, id)
    end
end

-- Proofs of this visitor that were made until `at_us` are void until `forget_us`; if it has left, its
-- passes as well. What prolonged the pass of a session that has lapsed may have been forgotten here.
local function remember_end(id, at_us, forget_us, how)
    if redis.call('ZCARD', ENDED) >= MAX_ENDED then
        redis.call('HDEL', VOIDS, redis.call('ZPOPMIN', ENDED)[1])
    end
    redis.call('ZADD', ENDED, digits(forget_us), id)
    redis.call('HSET', VOIDS, id, cmsgpack.pack({at_us, how}))
end

-- How the session ended that a proof belongs to which was made then, if it is over.
local function ended(id, made_us)
    local void = redis.call('HGET', VOIDS, id)
    if void then
        local at_us, how = unpack(cmsgpack.unpack(void))
        return made_us <= at_us and how
    end
end

local function hold(id, pass)
    redis.call('ZADD', ACTIVE, digits(pass.expires_us), id)
    redis.call('HSET', PASSES, id, cmsgpack.pack({pass.bucket, pass.accepted_us}))
    forget_end(id)
end

local function prolong(pass)
    if not room.fixed then
        pass.expires_us = math.max(pass.expires_us, room.now_us + room.lifetime_us)
    end
end

-- Whether a pass that is unknown here is taken up. In a room on hold, one of before it lost its memory
-- shows for how long others may live, so the hold is prolonged to that; one that is shown after the
-- hold needs a free slot.
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

local function pass_reply(pass, reason)
    return {'admit', reason, pass.bucket, pass.accepted_us, pass.expires_us}
end

-- Who is active already goes on with the same session.
local function admit_again(id)
    local pass = session(id)
    if pass then
        prolong(pass)
        hold(id, pass)
        return pass_reply(pass, 'slot')
    end
end
