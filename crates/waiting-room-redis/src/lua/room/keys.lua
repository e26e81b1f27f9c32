-- The keys of a room. The numbers of their entries show whether data was lost, and their expiry
-- determines how long the room is kept.
--
-- Each script stores the number of entries of every key in the room's hash, and the next script
-- compares the numbers. A key with fewer entries than before was deleted or evicted, as a whole or
-- in part.

-- All keys except the room's hash and GONE, whose loss only delays entrants, in the order in which their entries are counted.
local COUNTED = {VISITORS, DEADLINES, PRESENT, ARRIVALS, ENDED, VOIDS, MINUTE, NETWORKS}
-- The keys that are deleted together with a key that was lost as a whole, because they are useless
-- without it.
local GOES_WITH = {[ENDED] = {VOIDS}, [VOIDS] = {ENDED}}
-- A room expires if no node has polled it for a day plus the longest lifetime of a proof.
local UNUSED_MS = 24 * 60 * 60 * 1000
-- The maximum number of entries that a script adds to a key. A key with more entries is not new.
local MADE_AT_ONCE = 4096

-- Returns the number of entries of each key, in the order of COUNTED.
local function count_keys()
    return {
        redis.call('HLEN', VISITORS), redis.call('ZCARD', DEADLINES), redis.call('ZCARD', PRESENT),
        redis.call('ZCARD', ARRIVALS), redis.call('ZCARD', ENDED), redis.call('HLEN', VOIDS),
        redis.call('LLEN', MINUTE), redis.call('HLEN', NETWORKS),
    }
end

-- Forgets all visitors after a part of their pages or deadlines was lost, because the rest does not
-- tell how many there were. Tickets restore the places of their visitors at the next check-ins, and
-- passes restore sessions.
local function forget_visitors()
    redis.call('DEL', VISITORS, DEADLINES, PRESENT, ARRIVALS)
    room.active, room.places, room.records = 0, 0, 0
    room.late, room.ending = 0, 0
    room.watermark_us = 0
    set_pages(1)
end

-- Returns whether the sizes of the room contradict the numbers of entries, which cannot happen if
-- every script runs to its end.
local function are_sizes_wrong(counts)
    local deadlines, present = counts[2], counts[3]
    return math.min(room.active, room.places, room.records) < 0 or present > room.places
        or (room.records == 0) ~= (deadlines == 0)
end

-- Returns whether a key has fewer entries than after the last script, or the room's sizes are
-- wrong.
--
-- After a loss of visitors, the counts of the networks restart from zero, because they may still
-- include lost places and sessions. The loss of the counts themselves is not treated as a loss of the
-- room.
local function has_lost_keys()
    local counts = count_keys()
    local are_visitors_lost = are_sizes_wrong(counts)
    local is_lost, are_networks_lost = are_visitors_lost, counts[8] < room.counts[8]
    for i, count in ipairs(counts) do
        local key, was = COUNTED[i], room.counts[i]
        if count < was then
            is_lost = is_lost or key ~= NETWORKS
            are_visitors_lost = are_visitors_lost or key == VISITORS or key == DEADLINES
        end
        if count == 0 and was > 0 and GOES_WITH[key] then
            redis.call('DEL', unpack(GOES_WITH[key]))
        end
    end
    if are_visitors_lost then
        forget_visitors()
    end
    if are_visitors_lost or are_networks_lost then
        networks.restart()
    end
    if is_lost then
        -- A visitor who is neither in line nor in GONE may or may not be present.
        if room.course and room.course.draw then
            room.course.draw.is_blind = true
        end
    end
    return is_lost
end

-- Renews the expiry of a key.
local function keep_key(key)
    local proofs_ms = math.ceil(math.max(room.lifetime_us, room.place_retention_us) / 1000)
    redis.call('PEXPIRE', key, digits(UNUSED_MS + proofs_ms))
end

-- Sets an expiry on each key that the current script may have created. Without an expiry, a key
-- would stay forever if no node polled the room again.
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
