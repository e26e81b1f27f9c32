-- The line of waiting visitors, in order, and the removal of lapsed sessions and places.

-- Returns the network of a visitor, which is bytes 5 to 8 of its id, or false if these bytes are
-- zero because the network is unknown.
local function network_of(id)
    local network = string.sub(id, 5, 8)
    return network ~= '\0\0\0\0' and network
end

-- Adds `change`, 1 or -1, to the number of places of a visitor's network.
local function count_place(id, change)
    local network = network_of(id)
    if network and redis.call('HINCRBY', NETWORKS, network, change) < 1 then
        redis.call('HDEL', NETWORKS, network)
    end
end

-- Returns whether the network of a visitor already has its share of the places.
local function is_network_full(id)
    local network = room.share and network_of(id)
    return network and tonumber(redis.call('HGET', NETWORKS, network) or 0) >= room.share
end

-- Removes the place of a visitor, if the visitor has a place.
local function remove_place(id)
    if redis.call('ZREM', PLACES, id) == 1 then
        count_place(id, -1)
        redis.call('ZREM', PRESENT, id)
        redis.call('ZREM', DUE, id)
        redis.call('HDEL', KEPT, id)
        room.present = nil
    end
end

-- Gives a visitor a place, or keeps the visitor's existing place.
--
-- A visitor who is asked to return after `interval` seconds counts as present for one and a half
-- intervals, and keeps its place for the retention time.
local function keep_place(id, first_seen_us, interval)
    local kept_us = room.now_us + room.retention_us
    local present_us = math.min(room.now_us + interval * 1500000, kept_us)
    if redis.call('ZADD', PLACES, digits(first_seen_us), id) == 1 then
        count_place(id, 1)
    end
    redis.call('ZADD', DUE, digits(present_us), id)
    redis.call('HSET', KEPT, id, digits(kept_us))
end

-- Removes lapsed sessions, and records of ended sessions that are no longer needed. Returns the
-- total number of removed sessions and records.
local function clear_sessions()
    local now = digits(room.now_us)
    local forgotten = redis.call('ZRANGEBYSCORE', ENDED, '-inf', now, 'LIMIT', 0, CLEARED_AT_ONCE)
    for _, id in ipairs(forgotten) do
        forget_end(id)
    end
    local lapsed = redis.call('ZRANGEBYSCORE', ACTIVE, '-inf', now, 'WITHSCORES',
        'LIMIT', 0, CLEARED_AT_ONCE)
    for i = 1, #lapsed, 2 do
        local id, expires_us = lapsed[i], tonumber(lapsed[i + 1])
        local packed = redis.call('HGET', PASSES, id)
        redis.call('ZREM', ACTIVE, id)
        redis.call('HDEL', PASSES, id)
        -- Tickets that led to the session may still be valid, but must not lead to another session.
        -- See `tickets_void_after` in the core.
        local accepted_us = packed and cmsgpack.unpack(packed)[2] or 0
        local forget_us = accepted_us + 3 * room.retention_us
        if forget_us > room.now_us then
            remember_end(id, expires_us, forget_us, 'lapsed')
        end
    end
    return #forgotten + #lapsed / 2
end

-- Marks visitors who have missed their check-ins as away, and removes visitors who have been away
-- for too long. Returns the total number of changed and removed visitors.
local function clear_line()
    local due = redis.call('ZRANGEBYSCORE', DUE, '-inf', digits(room.now_us),
        'LIMIT', 0, CLEARED_AT_ONCE)
    for _, id in ipairs(due) do
        local kept_us = redis.call('HGET', KEPT, id)
        if tonumber(kept_us or 0) <= room.now_us then
            remove_place(id)
            redis.call('ZREM', DUE, id)
        else
            redis.call('ZREM', PRESENT, id)
            redis.call('ZADD', DUE, kept_us, id)
        end
    end
    return #due
end

-- Removes lapsed sessions and places, up to CLEARED_AT_ONCE entries of each kind. Returns whether
-- more lapsed entries may be left.
local function clear()
    return math.max(clear_sessions(), clear_line()) >= CLEARED_AT_ONCE
end
