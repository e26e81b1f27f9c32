-- The line of waiting visitors, in order.
--
-- PRESENT contains the visitors who check in when they are due, by rank: by arrival, or by lot if
-- the order is random. ARRIVALS contains the visitors whose arrival is not their rank: the visitors
-- who are away, or all visitors in line if the order is random. For an entrant of a draw that has
-- taken place, its place stands in for its arrival in both keys, see draw.lua.

-- A late place is behind the whole line: its rank is LATE plus the number of places, in UNITs, that have
-- to enter the line before it does, which is stored only in PRESENT or ARRIVALS.

-- The maximum number of late places that enter the line at once.
local LET_IN_AT_ONCE = 64

-- Returns the arrival of a visitor in line, and whether its place is late, from the third number of its
-- record.
local function arrival_of(third)
    if third < LATE then
        return third, false
    end
    return third - LATE, true
end

-- Returns the rank in the order of arrival of a visitor in line whose record has this kind.
local function order_of(id, kind, arrival_us, is_late)
    if not is_late then
        return rank_us(id, arrival_us)
    end
    local key = kind == PRESENT_PLACE and room.queueing_method ~= 'random' and PRESENT or ARRIVALS
    -- The rank may have been lost.
    return tonumber(redis.call('ZSCORE', key, id) or LATE + (room.entered + 1) * UNIT)
end

-- Takes note that a place has entered the line, by a `change` of 1, or that a place is given up.
local function count_entered(change)
    room.entered = math.max(room.entered + change, 0)
    room.looked = math.min(room.looked, room.entered)
end

-- Returns whether the visitor of one reply with a rank is before that of another, which may be empty.
-- Late places may have equal ranks. Lua compares strings by the rules of a language, so it does not
-- compare ids.
local function is_before(one, other)
    local rank, its_rank = tonumber(one[2] or math.huge), tonumber(other[2] or math.huge)
    return rank < its_rank
        or one[1] and rank == its_rank and struct.unpack('>I7', one[1]) < struct.unpack('>I7', other[1])
end

-- Returns the late place that enters the line next, and the key with its rank, if it is due.
local function first_late()
    local first, its_key, its_rank
    for _, key in ipairs(room.queueing_method == 'random' and {ARRIVALS} or {PRESENT, ARRIVALS}) do
        local due = redis.call('ZRANGEBYSCORE', key, digits(LATE), digits(LATE + room.entered * UNIT),
            'WITHSCORES', 'LIMIT', 0, 1)
        if is_before(due, {first, its_rank}) then
            first, its_key, its_rank = due[1], key, tonumber(due[2])
        end
    end
    return first, its_key
end

-- Lets late places into the line, in the order of arrival from now on, once the places have entered
-- that they are behind. `room.looked` is a number of entered places at which none was due.
local function let_in()
    for _ = 1, room.entered > room.looked and math.min(room.late, LET_IN_AT_ONCE) or 0 do
        local id, key = first_late()
        if not id then
            room.looked = room.entered
            return
        end
        read_visitors({id})
        local _, page, at = find(id)
        if at then
            local kind, deadline_us, kept_us = record_at(page, at)
            put(id, kind, deadline_us, kept_us, room.now_us)
            redis.call('ZADD', key, digits(room.now_us), id)
            room.late = room.late - 1
            count_entered(1)
        else
            redis.call('ZREM', key, id)
        end
    end
end

-- Removes a visitor from the line. The visitor's record, whose kind is given, is removed or
-- replaced by the caller.
local function leave_line(id, kind, is_late)
    room.places = room.places - 1
    networks.add_place(id, -1)
    if is_late then
        room.late = room.late - 1
        count_entered(1)
    end
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
local function abandon_line(id, kind, is_late)
    leave_line(id, kind, is_late)
    count_entered(-1)
    redis.call('HINCRBY', ROOM, 'abandoned', 1)
end

-- Gives a visitor a place, or keeps the visitor's existing place. The caller has added the visitor
-- to PRESENT.
--
-- A visitor who is asked to return after `interval` seconds counts as present for one and a half
-- intervals, and keeps its place for the retention time.
local function keep_place(id, arrived_us, interval, is_late)
    local kept_us = room.now_us + room.place_retention_us
    local present_us = math.min(room.now_us + interval * 1500000, kept_us)
    local third = arrived_us + (is_late and LATE or 0)
    local kind, _, before = put(id, PRESENT_PLACE, present_us, kept_us, third)
    if not kind then
        room.places = room.places + 1
        networks.add_place(id, 1)
    end
    local was_late = kind and before >= LATE
    room.late = room.late + (is_late and 1 or 0) - (was_late and 1 or 0)
    if not is_late and (was_late or not kind) then
        count_entered(1)
    end
    if room.queueing_method == 'random' then
        redis.call('ZADD', ARRIVALS, digits(rank_us(id, arrived_us)), id)
    elseif kind == AWAY_PLACE then
        redis.call('ZREM', ARRIVALS, id)
    end
    let_in()
end

-- Removes from PRESENT a visitor who was added for a decision, and who does not get a place.
local function step_back(id)
    redis.call('ZREM', PRESENT, id)
    unmark(id)
    room.present = nil
end

-- Marks the visitor of a place as away, until the place is removed at `kept_us`.
local function go_away(id, kept_us, third)
    local order_us = order_of(id, PRESENT_PLACE, arrival_of(third))
    put(id, AWAY_PLACE, kept_us, kept_us, third)
    note_away(id)
    redis.call('ZREM', PRESENT, id)
    room.present = nil
    if room.queueing_method ~= 'random' then
        redis.call('ZADD', ARRIVALS, digits(order_us), id)
    end
end

-- Returns the arrival of the visitor at the front of the line, present or away, or -1 if the line is
-- empty. Unless an order was drawn, it is the earliest arrival.
local function first_arrival_us()
    local first = redis.call('ZRANGE', ARRIVALS, 0, 0, 'WITHSCORES')
    if room.queueing_method ~= 'random' then
        local present = redis.call('ZRANGE', PRESENT, 0, 0, 'WITHSCORES')
        if is_before(present, first) then
            first = present
        end
    end
    local rank = tonumber(first[2] or -1)
    if first[1] and (current_draw() or rank >= LATE) then
        -- The rank may be a place, so the record is read.
        read_visitors({first[1]})
        local _, page, at = find(first[1])
        return at and (arrival_of(select(4, record_at(page, at)))) or -1
    end
    return rank
end
