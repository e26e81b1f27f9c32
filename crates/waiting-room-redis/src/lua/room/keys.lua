-- The keys of a room: how much each holds, by which one is missed that was deleted or evicted, and
-- for how long they are kept.

-- Each key but the room's own, in the order in which they are counted.
local COUNTED = {ACTIVE, PASSES, ENDED, VOIDS, PLACES, PRESENT, DUE, KEPT, MINUTE, NETWORKS}
-- What goes with a key that is gone, since it means nothing alone. The tickets of the line bring its
-- places back, and passes their sessions.
local GOES_WITH = {
    [ACTIVE] = {PASSES}, [ENDED] = {VOIDS}, [VOIDS] = {ENDED}, [PLACES] = {PRESENT, DUE, KEPT},
    [DUE] = {PLACES, PRESENT, KEPT}, [KEPT] = {PLACES, PRESENT, DUE},
}
-- A room that nobody has looked at for so long, and for as long as any proof is good, is forgotten.
local UNUSED_MS = 24 * 60 * 60 * 1000
-- A script adds no more than this to a key, so one that holds more was there before.
local MADE_AT_ONCE = CLEARED_AT_ONCE + 64

local function count_keys()
    return {
        redis.call('ZCARD', ACTIVE), redis.call('HLEN', PASSES), redis.call('ZCARD', ENDED),
        redis.call('HLEN', VOIDS), redis.call('ZCARD', PLACES), redis.call('ZCARD', PRESENT),
        redis.call('ZCARD', DUE), redis.call('HLEN', KEPT), redis.call('LLEN', MINUTE),
        redis.call('HLEN', NETWORKS),
    }
end

-- Whether a key holds less than the last script has left in it. Nothing is known where that script
-- was of a release that did not count.
--
-- The places of networks are counted anew, from nothing, where some may be counted that are gone: a
-- network that is believed to have more than it has is refused for good, and one that has more than
-- is believed is not refused for a while. For the same reason, that count is not missed itself.
local function has_lost_keys()
    local is_lost, before = false, room.counts or {}
    local found = room.counts and count_keys() or {}
    for i, count in ipairs(found) do
        local key, was = COUNTED[i], before[i] or 0
        is_lost = is_lost or count < was and key ~= NETWORKS
        if count == 0 and was > 0 and GOES_WITH[key] then
            redis.call('DEL', unpack(GOES_WITH[key]))
        end
    end
    if is_lost or #before < #COUNTED then
        redis.call('DEL', NETWORKS)
    end
    return is_lost
end

local function keep_key(key)
    local proofs_ms = math.ceil(math.max(room.lifetime_us, room.retention_us) / 1000)
    redis.call('PEXPIRE', key, digits(UNUSED_MS + proofs_ms))
end

-- Has no key stay for ever that was made just now, should nobody look at the room again.
local function keep_new(counts)
    for i, key in ipairs(COUNTED) do
        local is_small = counts[i] > 0 and counts[i] <= MADE_AT_ONCE
        if is_small and redis.call('PTTL', key) < 0 then
            keep_key(key)
        end
    end
    if redis.call('PTTL', ROOM) < 0 then
        keep_key(ROOM)
    end
end
