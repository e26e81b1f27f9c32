-- The draw of an event: the numbers of the entrants and, after the start, their places. The
-- counterpart of this file in the core is `room/event/drawing.rs`.
--
-- `room.course.draw` is the latest draw, or nil in a room that never had one:
--
--   tag         the bits that identify the draw
--   event, seed what a node needs to compute places, which it passes to the scripts
--   begins_us   the beginning of the prequeue
--   highest     the highest number that was assigned, or presented with a ticket
--   started_us  the start of the event, or nil before the start
--   settled_us  the time by which all present entrants have checked in; nil before the start, and
--               again once that time has passed
--   entrants    the number of entrants, or nil while it is not known
--   refresh_us  the longest refresh interval since the beginning of the prequeue
--   since_us    the time since which the room knows of departures, see `recall`
--   is_blind    whether the room did not know at the start which entrants were present, because it
--               had lost visitors or had slept through the start. Only those who were admitted or have
--               left then count as gone.
--
-- The field 'E' + id of VISITORS contains the number of an entrant in line, the tag of the draw in
-- which it was assigned, the entrant's place, or 0 while the place is unknown, and the result of
-- `recall`, if it is not 0. A place is also the entrant's rank in PRESENT: all places are less than
-- 2^40, and all arrivals are more.
--
-- GONE contains, until the draw is settled:
--
--   1 ...         the entrants who are not present, by place
--   PENDING ...   those of them whose place is unknown, and who are no longer in line, by number
--   AWAY ...      those of them whose place is unknown, and who are away, by number
--   2^40 ...      present visitors without a number, by arrival, if that is before the start
--
-- Only entrants who are present thus have no entry, so they can be counted, although most of them
-- are still ordered by arrival.

local ENTRANT = 'E'
local PENDING, AWAY = 2 ^ 33, 2 ^ 34
-- The longest time from the start to the first script if any entrant is present, because the first
-- of them check in within about three seconds.
local PROMPT_US = 5 * 1000000
-- The maximum number of entries of GONE. Entrants beyond this number count as ahead until the draw is
-- settled.
local MAX_GONE = 2 ^ 20
-- The number of departed entrants whose places one check-in requests, and the number of check-ins of
-- one script that request them. Computing a place takes a node about 14 microseconds.
local PLACES_AT_ONCE = 64
local MAX_ASKING = 8

-- The entrants that this script has read, or false for a visitor without a number, by visitor, and
-- the visitors whose entries have changed.
local entrants, changed_entrants = {}, {}

local function current_draw()
    return room.course and room.course.draw
end

-- Returns whether the order of the line is unknown until the start of an event.
local function will_be_drawn()
    return room.course and room.course.stage == 'prequeue' and room.course.is_drawn
end

-- Returns the draw if it is not settled, so that GONE is kept up to date.
local function open_draw()
    local draw = current_draw()
    return draw and (draw.settled_us or not draw.started_us) and draw
end

-- Returns the time within which every present visitor checks in: one and a half of the longest
-- check-in intervals.
local function settles_after_us(refresh_us)
    local longest_us = refresh_us + math.floor(refresh_us * 300 / 1000)
    return math.ceil(longest_us / 1000000) * 1500000
end

-- Returns the time from which numbers are assigned. A room that has lost its memory in the prequeue
-- waits for all present entrants to present their numbers first, so that no number is assigned
-- twice.
local function numbered_from_us(draw)
    return room.since_us > draw.begins_us and room.since_us + settles_after_us(room.refresh_interval_us) or 0
end

-- Fixes the number of entrants. Nodes learn this number because the version rises.
local function freeze_draw(draw, count)
    draw.entrants = count
    room.version = next_version()
end

-- Starts an event, whose start the room notices now. `is_known` says whether the room has followed the
-- prequeue.
local function start_draw(draw, start_us, is_known)
    local is_complete = is_known and numbered_from_us(draw) <= start_us
    local is_awake = room.now_us - start_us <= PROMPT_US
    draw.is_blind = draw.is_blind or not (is_complete and is_awake)
    -- A blind draw is settled as early as possible. Any other draw has no reason to hurry, so it waits
    -- for the visitors who checked in under earlier rules.
    local refresh_us = draw.is_blind and room.refresh_interval_us or draw.refresh_us
    draw.started_us, draw.settled_us = start_us, room.now_us + settles_after_us(refresh_us)
    if is_complete then
        freeze_draw(draw, draw.highest)
    end
end

-- Prepares the draw of a phase, and starts it if the event has started. A room that has lost its
-- memory, or has slept through the prequeue, learns the number of entrants from their tickets.
local function prepare_draw(phase)
    local course = room.course
    local is_known = course.draw and course.draw.tag == phase.draw.tag
    if not is_known then
        local draw = phase.draw
        course.draw = {
            tag = draw.tag, event = draw.event, seed = draw.seed,
            begins_us = phase.begins_us, highest = 0, refresh_us = 0, since_us = room.since_us,
        }
        redis.call('UNLINK', GONE)
        -- Nodes forget the result of the earlier draw.
        room.version = next_version()
    end
    local draw = course.draw
    draw.refresh_us = math.max(draw.refresh_us, room.refresh_interval_us)
    if phase.stage == 'active' and not draw.started_us then
        start_draw(draw, phase.start_us, is_known)
    end
end

-- Ends the time in which entrants who have not checked in yet count as ahead.
local function settle_draw()
    local draw = current_draw()
    if draw and draw.settled_us and draw.settled_us <= room.now_us then
        if not draw.entrants then
            freeze_draw(draw, draw.highest)
        end
        draw.settled_us = nil
        redis.call('UNLINK', GONE)
    end
end

-- Reads the entries of these visitors that have not been read yet.
local function read_entrants(ids)
    local missing, fields = {}, {}
    for _, id in ipairs(ids) do
        if entrants[id] == nil then
            table.insert(missing, id)
            table.insert(fields, ENTRANT .. id)
        end
    end
    for i, entry in ipairs(fields[1] and redis.call('HMGET', VISITORS, unpack(fields)) or {}) do
        local entrant = false
        if entry then
            local number, tag, place, rest = struct.unpack('>I4I4I4', entry)
            entrant = {number = number, tag = tag, place = place}
            entrant.recalled = rest <= #entry and struct.unpack('>I4', entry, rest) or 0
        end
        entrants[missing[i]] = entrant
    end
end

-- Returns the entry of a visitor in line, of any draw, or false.
local function entrant_of(id)
    if not current_draw() then
        return false
    elseif entrants[id] == nil then
        read_entrants({id})
    end
    return entrants[id]
end

-- Replaces or, with `false`, removes the entry of a visitor.
local function set_entrant(id, entrant)
    entrants[id], changed_entrants[id] = entrant, true
end

-- Adds the changed entries to the fields of VISITORS to set and to delete.
local function add_changed_entrants(set, gone)
    for id in pairs(changed_entrants) do
        local entrant = entrants[id]
        if entrant then
            local entry = struct.pack('>I4I4I4', entrant.number, entrant.tag, entrant.place)
            if entrant.recalled > 0 then
                entry = entry .. struct.pack('>I4', entrant.recalled)
            end
            table.insert(set, ENTRANT .. id)
            table.insert(set, entry)
        else
            table.insert(gone, ENTRANT .. id)
        end
    end
end

-- Returns the rank of a visitor in line in the order of arrival: its place in a draw, or its
-- arrival.
local function rank_us(id, arrival_us)
    local entrant = entrant_of(id)
    return entrant and entrant.place > 0 and entrant.place or arrival_us
end

-- Adds a member to GONE.
local function add_gone(at, member)
    if redis.call('ZCARD', GONE) < MAX_GONE then
        redis.call('ZADD', GONE, digits(at), member)
        if not room.is_gone_kept then
            room.is_gone_kept = true
            keep_key(GONE)
        end
    end
end

-- Adds an entrant to GONE: by its place, or else by `pending` and its number.
local function set_gone(entrant, pending)
    local at = entrant.place > 0 and entrant.place or pending + entrant.number
    add_gone(at, digits(entrant.number))
end

-- Takes note that a visitor without a number is not present.
local function unmark(id)
    local draw = open_draw()
    if draw and draw.started_us and not draw.is_blind then
        redis.call('ZREM', GONE, id)
    end
end

-- Takes note that a visitor is no longer in line.
local function depart(id)
    local entrant, draw = entrant_of(id), open_draw()
    if entrant then
        set_entrant(id, false)
    end
    if entrant and draw and entrant.tag == draw.tag then
        set_gone(entrant, PENDING)
    else
        unmark(id)
    end
end

-- Takes note that a visitor in line has gone away.
local function note_away(id)
    local draw = open_draw()
    if not draw or draw.is_blind then
        return
    end
    local entrant = entrant_of(id)
    if entrant and entrant.tag == draw.tag then
        set_gone(entrant, AWAY)
    else
        unmark(id)
    end
end

-- Takes note of the admission of an entrant that has no place with its number, because the room has lost
-- its state.
local function depart_unplaced(ticket)
    if ticket.number and open_draw() then
        set_gone({number = ticket.number, place = ticket.place or 0}, PENDING)
    end
end

-- Takes note that a visitor has become present. The visitor is an entrant if `number` is not nil.
local function note_return(number)
    if number and open_draw() then
        redis.call('ZREM', GONE, digits(number))
    end
end

-- Reads the number that a visitor presents in the current argument, if it is a number in the current
-- draw. The number is followed by the places of departed entrants, if a script has asked for them.
local function shown_entrant(at)
    local draw = current_draw()
    if not draw or #room.argument < at then
        return nil
    end
    local number, tag, place, count, position, rest =
        struct.unpack('>I4I4I4I4I4', room.argument, at)
    if tag ~= draw.tag then
        return nil
    end
    for pair = rest, #room.argument, 8 do
        local departed, its_place = struct.unpack('>I4I4', room.argument, pair)
        if count == draw.entrants then
            redis.call('ZADD', GONE, 'XX', its_place, digits(departed))
        end
    end
    local has_answered = rest <= #room.argument
    return {
        number = number, place = place, entrants = count, position = position,
        has_answered = has_answered,
    }
end

-- For an entrant whose ticket is from before a loss of state: returns how many entrants with better
-- places were no longer waiting at its last check-in, because they were inside, had left or were away.
-- The room knows nothing about these entrants, and they do not delay any other.
local function recall(ticket, own, shown)
    if own then
        return own.recalled
    elseif shown.position > 0 and ticket.last_check_in_us
        and ticket.last_check_in_us < current_draw().since_us then
        return math.max(shown.place - shown.position, 0)
    end
    return 0
end

-- Determines the number and the place of a visitor, and returns its rank in the order of arrival.
-- Until the visitor's node has computed its place, the result is not yet its final rank.
--
-- `own` is the entry of a visitor in line. A number counts only in the draw in which it was assigned.
-- A room that has lost its state learns the number from the ticket.
local function recognize(ticket, own, shown)
    local draw = current_draw()
    if not draw then
        return ticket.arrived_us
    end
    own = own and own.tag == draw.tag and own
    -- The number on a lapsed ticket does not count, but the node's answer about a known number does.
    if ticket.has_lapsed and not own then
        shown = nil
    end
    if shown and not own and not draw.entrants then
        if draw.started_us and shown.entrants > 0 then
            freeze_draw(draw, shown.entrants)
        else
            draw.highest = math.max(draw.highest, shown.number)
        end
    end
    ticket.number = own and own.number or shown and shown.number
    ticket.recalled = ticket.number and recall(ticket, own, shown)
    if not ticket.number or not draw.entrants or ticket.number > draw.entrants then
        return ticket.arrived_us
    end
    if own and own.place > 0 then
        ticket.place = own.place
    elseif shown and shown.number == ticket.number and shown.entrants == draw.entrants then
        ticket.place = shown.place > 0 and shown.place
    end
    return ticket.place or ticket.arrived_us
end

-- Stores the place of an entrant in line.
local function note_place(id, ticket)
    local own = ticket.place and entrant_of(id)
    if own and own.place ~= ticket.place then
        set_entrant(id, {
            number = ticket.number, tag = current_draw().tag, place = ticket.place,
            recalled = ticket.recalled,
        })
    end
end

-- Returns the numbers of some entrants in GONE whose places are unknown. Each of the first visitors
-- of a batch gets different numbers.
local function pending_departures()
    local asked = room.asked or 0
    if asked >= MAX_ASKING then
        return {}
    end
    room.asked = asked + 1
    local up_to = current_draw().is_blind and AWAY or 2 * AWAY
    local departed = redis.call('ZRANGEBYSCORE', GONE, digits(PENDING), '(' .. digits(up_to),
        'LIMIT', asked * PLACES_AT_ONCE, PLACES_AT_ONCE)
    for i, entry in ipairs(departed) do
        departed[i] = tonumber(entry)
    end
    return departed
end

-- Returns the question that a node has to answer before the script can decide on a visitor, or nil
-- if there is none. The question asks for the visitor's place and, until the draw is settled, for
-- the places of some departed entrants. After an answer, no further places of departed entrants are
-- needed, so no visitor asks forever.
local function question(ticket, shown)
    local draw = current_draw()
    if not draw or not draw.entrants or not ticket.number or ticket.number > draw.entrants then
        return nil
    end
    local is_done = not draw.settled_us or shown and shown.has_answered
    local departed = is_done and {} or pending_departures()
    if not ticket.place or departed[1] then
        return {'draw', draw.tag, ticket.number, draw.entrants, departed}
    end
end

-- Returns whether a visitor's place is not known yet because the room has lost its state.
local function awaits_draw(ticket)
    local draw = current_draw()
    return draw and ticket.number and draw.started_us and not draw.entrants
end

-- Takes note of a present visitor without a number, and returns how many such visitors behind it are
-- also ordered by a time before the start. Visitors who have not checked in since the beginning of
-- the prequeue are not known, and count as ahead.
local function behind_without_number(id, order_us)
    add_gone(order_us, id)
    local rank = redis.call('ZRANK', GONE, id)
    return rank and redis.call('ZCARD', GONE) - 1 - rank or 0
end

-- Returns the number of visitors who count as ahead, of whom `ahead` are present and have better
-- ranks. Just after a draw, these include the present entrants with better places who have not
-- checked in yet. The visitor is in PRESENT.
local function ahead_after_draw(id, ticket, order_us, ahead)
    local draw = current_draw()
    if not draw or not draw.settled_us or room.queueing_method == 'random' and not draw.is_blind then
        return ahead
    elseif ticket.place then
        local gone = redis.call('ZCOUNT', GONE, '-inf', '(' .. digits(ticket.place))
        return math.max(ahead, ticket.place - 1 - gone - ticket.recalled)
    elseif order_us < draw.started_us and room.queueing_method ~= 'random' then
        -- A visitor who came before the start, but got no place before it, is behind all entrants,
        -- including those who are still ordered by arrival.
        local before = redis.call('ZCOUNT', PRESENT, '-inf', '(' .. digits(draw.started_us))
        local behind = not draw.is_blind and not ticket.number
            and behind_without_number(id, order_us) or 0
        return math.max(ahead, before - 1 - behind)
    end
    return ahead
end

-- Stores the number of a visitor who gets or keeps a place. In the prequeue of an event with a
-- draw, a visitor without a number gets one. `was_present` is whether the visitor was in line and
-- present before.
local function arrive(id, ticket, was_present)
    local draw = current_draw()
    if not draw then
        return
    end
    local is_numbered = will_be_drawn() and not draw.started_us
    if is_numbered and not ticket.number and room.now_us >= numbered_from_us(draw) then
        draw.highest = draw.highest + 1
        ticket.number = draw.highest
    end
    local old, place = entrant_of(id), ticket.place or 0
    local is_own = old and old.tag == draw.tag and old.number == ticket.number
    if not ticket.number then
        if old then
            set_entrant(id, false)
        end
    elseif not is_own or old.place ~= place then
        set_entrant(id, {
            number = ticket.number, tag = draw.tag, place = place, recalled = ticket.recalled or 0,
        })
    end
    if not (is_own and was_present) then
        note_return(ticket.number)
    end
end

-- Adds to a reply what a node writes into the ticket of an entrant: the number or 0, the tag of the
-- draw, the place or 0, the number of entrants or -1, and 1 if the position is not known before the
-- start.
local function with_entrant(reply, ticket)
    local draw = current_draw()
    if draw then
        for _, value in ipairs({ticket.number or 0, draw.tag, ticket.place or 0,
            draw.entrants or -1, will_be_drawn() and 1 or 0}) do
            table.insert(reply, value)
        end
    end
    return reply
end
