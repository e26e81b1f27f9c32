-- The keys of a room: how many entries each holds, by which a loss is noticed, and how long they
-- are kept.
--
-- Each script leaves the number of entries of every key in the room's hash, and the next script
-- compares. A key with fewer entries than that was deleted or evicted, whole or in part.

-- All keys but the room's own, in the order in which they are counted.
local COUNTED = {ACTIVE, PASSES, ENDED, VOIDS, PLACES, PRESENT, DUE, KEPT, MINUTE, NETWORKS}
-- The keys that are deleted with one that is gone, because they mean nothing without it. Tickets
-- restore the places of their visitors at their next check-ins, and passes the sessions.
local GOES_WITH = {
    [ACTIVE] = {PASSES}, [ENDED] = {VOIDS}, [VOIDS] = {ENDED}, [PLACES] = {PRESENT, DUE, KEPT},
    [DUE] = {PLACES, PRESENT, KEPT}, [KEPT] = {PLACES, PRESENT, DUE},
}
-- A room expires when no node has looked at it for a day and for the longest lifetime of a proof.
local UNUSED_MS = 24 * 60 * 60 * 1000
-- A script adds at most this many entries to a key, so a key that holds more is not new.
local MADE_AT_ONCE = CLEARED_AT_ONCE + 64

-- Returns the number of entries of each key, in the order of COUNTED.
local function count_keys()
    return {
        redis.call('ZCARD', ACTIVE), redis.call('HLEN', PASSES), redis.call('ZCARD', ENDED),
        redis.call('HLEN', VOIDS), redis.call('ZCARD', PLACES), redis.call('ZCARD', PRESENT),
        redis.call('ZCARD', DUE), redis.call('HLEN', KEPT), redis.call('LLEN', MINUTE),
        redis.call('HLEN', NETWORKS),
    }
end

-- Whether a key holds fewer entries than the last script has left in it. This is unknown, and
-- taken for no, if that script was of a release that did not count.
--
-- After a loss the places of networks are counted again from zero, because places that are gone may
-- still be counted. If a network is believed to have more places than it has, its visitors are
-- refused for ever; if it is believed to have fewer, it gets too many for a while. For the same
-- reason the loss of the counts themselves is not a loss of the room.
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

-- Renews the expiry of a key.
local function keep_key(key)
    local proofs_ms = math.ceil(math.max(room.lifetime_us, room.retention_us) / 1000)
    redis.call('PEXPIRE', key, digits(UNUSED_MS + proofs_ms))
end

-- Gives an expiry to each key that this script may have created. Without one, the key would stay
-- for ever if no node looked at the room again.
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
