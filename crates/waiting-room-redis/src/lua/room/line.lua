-- The line of waiting visitors, in order.
--
-- PRESENT contains the visitors who check in when they are due, by rank: by arrival, or by lot if
-- the order is random. ARRIVALS contains the visitors whose arrival is not their rank: the visitors
-- who are away, or all visitors in line if the order is random. For an entrant of a draw that has
-- taken place, its place stands in for its arrival in both keys, see draw.lua.

-- Returns the narrow network of a visitor, which is bytes 3 to 8 of its id, or false if the first two
-- of them are zero because the network is unknown.
local function network_of(id)
    return string.sub(id, 3, 4) ~= '\0\0' and string.sub(id, 3, 8)
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
    local network = room.places_per_network and network_of(id)
    return network and tonumber(redis.call('HGET', NETWORKS, network) or 0) >= room.places_per_network
end

-- Removes a visitor from the line. The visitor's record, whose kind is given, is removed or
-- replaced by the caller.
local function leave_line(id, kind)
    room.places = room.places - 1
    count_place(id, -1)
    depart(id)
    if kind == PRESENT_PLACE then
        redis.call('ZREM', PRESENT, id)
        room.present = nil
    end
    if kind == AWAY_PLACE or room.queueing_method == 'random' then
        redis.call('ZREM', ARRIVALS, id)
    end
end

-- Removes a visitor who was not admitted from the line, and counts the place that is given up.
local function abandon_line(id, kind)
    leave_line(id, kind)
    redis.call('HINCRBY', ROOM, 'abandoned', 1)
end

-- Gives a visitor a place, or keeps the visitor's existing place. The caller has added the visitor
-- to PRESENT.
--
-- A visitor who is asked to return after `interval` seconds counts as present for one and a half
-- intervals, and keeps its place for the retention time.
local function keep_place(id, arrived_us, interval)
    local kept_us = room.now_us + room.place_retention_us
    local present_us = math.min(room.now_us + interval * 1500000, kept_us)
    local kind = put(id, PRESENT_PLACE, present_us, kept_us, arrived_us)
    if not kind then
        room.places = room.places + 1
        count_place(id, 1)
    end
    if room.queueing_method == 'random' then
        redis.call('ZADD', ARRIVALS, digits(rank_us(id, arrived_us)), id)
    elseif kind == AWAY_PLACE then
        redis.call('ZREM', ARRIVALS, id)
    end
end

-- Removes from PRESENT a visitor who was added for a decision, and who does not get a place.
local function step_back(id)
    redis.call('ZREM', PRESENT, id)
    unmark(id)
    room.present = nil
end

-- Marks the visitor of a place as away, until the place is removed at `kept_us`.
local function go_away(id, kept_us, arrival_us)
    put(id, AWAY_PLACE, kept_us, kept_us, arrival_us)
    note_away(id)
    redis.call('ZREM', PRESENT, id)
    room.present = nil
    if room.queueing_method ~= 'random' then
        redis.call('ZADD', ARRIVALS, digits(rank_us(id, arrival_us)), id)
    end
end

-- Returns the arrival of the visitor at the front of the line, present or away, or -1 if the line is
-- empty. Unless an order was drawn, it is the earliest arrival.
local function first_arrival_us()
    local first = redis.call('ZRANGE', ARRIVALS, 0, 0, 'WITHSCORES')
    if room.queueing_method ~= 'random' then
        local present = redis.call('ZRANGE', PRESENT, 0, 0, 'WITHSCORES')
        if tonumber(present[2] or math.huge) < tonumber(first[2] or math.huge) then
            first = present
        end
    end
    if first[1] and current_draw() then
        -- The rank may be a place, so the record is read.
        read_visitors({first[1]})
        local _, page, at = find(first[1])
        return at and select(4, record_at(page, at)) or -1
    end
    return tonumber(first[2] or -1)
end
