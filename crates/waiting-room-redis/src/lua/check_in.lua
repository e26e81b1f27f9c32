-- Checks in waiting visitors with their tickets. A visitor who only stays is not admitted: if it is
-- its turn, it keeps its place, and its next check-in takes the slot.
--
-- KEYS  the keys of the room, see head.lua
-- ARGV for each visitor: id (16 bytes), first_seen_us (8), last_check_in_us (8), 1 if it has a
--       place (1), jitter in thousandths (2), lot (8), 1 if a node has reissued its ticket (1),
--       1 if it only stays (1), head_start_us (8), 1 if it returns from a lapsed session (1), the
--       number of places that its ticket is late by (4); for an entrant also: number (4), tag of the
--       draw (4), place (4) and number of entrants (4), both 0 if unknown, and the position at the
--       last check-in (4), or 0 if that was not after the draw;
--       after a question also the number (4) and the place (4) of each entrant in question
-- reply for each visitor, one of:
--       {'admit', reason, bucket, accepted_us, expires_us}
--       {'wait', reason, 1 if the ticket had lapsed, arrived_us, interval_s, present visitors
--        ahead, 1 if its network is over its share in shadow mode, the number of places that enter
--        the line before a late one, or 0, entrant}
--       {'full', 1 if the ticket had lapsed, arrived_us, interval_s, entrant}
--       {'network_full', interval_s}
--       {'first', reason, interval_s}
--       {'refuse', reason, retry_us or -1}
--       {'turn'}, for a visitor who stays and whose turn it is, but who has no place
--       {'draw', tag, number, number of entrants, {numbers of entrants in GONE}}, if the node has
--        to compute the places of these numbers, and then to ask again
--       entrant is nothing in a room that never had a draw, see `with_entrant` in draw.lua
-- time  the clock of the room

-- The number of visitors at the front of the line whose presence lasts for the shortest interval
-- while they stay. See `stay.rs` in the core.
local FRONT = 8

-- Returns whether the order of arrival determines when a visitor is admitted.
local function is_by_arrival(ticket)
    return not ticket.number and not will_be_drawn() and room.queueing_method ~= 'random'
end

-- Returns the rank of a visitor whose place is late. `known_us` is the rank of its place in line.
local function late_order(id, ticket, known_us, is_late)
    if not is_by_arrival(ticket) then
        return nil
    elseif known_us then
        return is_late and known_us
    elseif ticket.placed then
        -- The place was late before the room has lost its state.
        return ticket.late_by > 0 and LATE + (room.entered + ticket.late_by) * UNIT
    end
    local order = networks.late_order(id)
    return order and LATE + order
end

-- Decides whether a visitor who may not enter gets a place, keeps its existing place, or is
-- refused.
local function stand(id, ticket, ahead, reason)
    if not ticket.placed and room.queueing_method == 'reject' then
        step_back(id)
        return reject(reason)
    end
    local is_over = ticket.needs_place and networks.is_full(id)
    -- The visitor's earlier arrival no longer counts. Otherwise, a network could hold tickets in
    -- reserve and, each time it gives up a place, take another one at the front of the line.
    if is_over and not room.shares_in_shadow then
        step_back(id)
        return {'network_full', interval_s(math.huge, reason, ticket.jitter)}
    end
    -- The capacity does not apply to a ticket with a place. After a loss, the room may not know
    -- about the place. A ticket that was not reissued does not outlive its place, so there are no
    -- more such tickets than there were places.
    if ticket.needs_place and room.places >= room.line_capacity then
        step_back(id)
        local interval = interval_s(math.huge, reason, ticket.jitter)
        return with_entrant({'full', ticket.is_new, ticket.arrived_us, interval}, ticket)
    end
    local interval = interval_s(ahead, reason, ticket.jitter)
    if ticket.stays and ahead < FRONT then
        interval = math.min(interval, SHORTEST_INTERVAL_US / 1000000)
    end
    arrive(id, ticket, ticket.was_present)
    if not ticket.placed and is_by_arrival(ticket) then
        networks.charge(id)
    end
    local late_by = 0
    if ticket.late_us then
        late_by = math.max(math.ceil((ticket.late_us - LATE) / UNIT) - room.entered, 1)
        ticket.arrived_us = ticket.arrived_us + ticket.head_us
        -- Places that enter the line before this one will be ahead of it.
        local in_order = reason == 'turn' and 0
            or redis.call('ZCOUNT', PRESENT, '-inf', '(' .. digits(LATE)) + late_by - 1
        ahead = math.max(ahead, in_order)
    end
    keep_place(id, ticket.arrived_us, interval, ticket.late_us)
    local is_told = is_over and 1 or 0
    local reply = {
        'wait', reason, ticket.is_new, ticket.arrived_us, interval, ahead, is_told, late_by,
    }
    return with_entrant(reply, ticket)
end

-- Returns the time for which a ticket keeps its order of arrival. For a ticket without a place, it
-- is one and a half refresh intervals, and at least a refresh interval and two seconds.
local function ticket_lifetime_us(ticket)
    return ticket.placed and room.place_retention_us
        or math.max(room.refresh_interval_us * 1.5, room.refresh_interval_us + 2000000)
end

-- Makes a visitor present at its rank, and returns the number of visitors ahead. `stood_us` is the
-- rank that a present visitor already has. Both ranks are those in the order of arrival.
local function stand_up(id, ticket, order_us, stood_us)
    local is_random = room.queueing_method == 'random'
    local ahead = not is_random and stood_us == order_us and redis.call('ZRANK', PRESENT, id)
    if not ahead then
        redis.call('ZADD', PRESENT, digits(is_random and ticket.lot or order_us), id)
        room.present = nil
        ahead = redis.call('ZRANK', PRESENT, id)
    end
    return ahead
end

-- Lets a visitor wait, although it would be admitted if it checked in.
local function turn(id, ticket, kind)
    if not ticket.needs_place then
        return stand(id, ticket, 0, 'turn')
    end
    if kind ~= PRESENT_PLACE then
        step_back(id)
    end
    return {'turn'}
end

-- Returns whether the session of a ticket's visitor ended after the ticket was issued. A visitor who
-- returns from a lapsed session must not have left it.
--
-- If the end may have been forgotten, the ticket counts only if it claims no more than a place of its
-- visitor: neither an earlier arrival, nor another number in the draw. A ticket that moves between
-- sites counts for a pass of another clock.
local function is_void(id, first_seen_us, ticket, resumes, arrival_us, rest)
    local how = ended(id, first_seen_us)
    if resumes and how ~= 'left' and how ~= 'lapsed' then
        local before = ended(id, ticket.arrived_us)
        how = before ~= 'lapsed' and before
    end
    if how ~= 'forgotten' or resumes and ticket.placed then
        return how and how ~= 'forgotten'
    elseif not arrival_us or arrival_us > first_seen_us then
        return true
    end
    local shown, own = shown_entrant(rest), entrant_of(id)
    return shown and not (own and (own.tag ~= current_draw().tag or own.number == shown.number))
end

-- Decides whether one visitor is admitted, gets a place, or is refused.
--
-- The line is ordered by arrival: the first touch, less the head start.
local function check_in(
    id, first_seen_us, last_check_in_us, placed, jitter, lot, reissued, stays, head_us, resumes,
    late_by, rest
)
    local ticket = {
        arrived_us = first_seen_us - head_us, last_check_in_us = last_check_in_us,
        placed = placed == 1, jitter = jitter, lot = lot, reissued = reissued == 1,
        stays = stays == 1, is_new = 0, late_by = late_by,
    }
    local pass, kind, arrival_us, is_late = visitor(id)
    if pass then
        return admit_again(id, pass)
    end
    if is_void(id, first_seen_us, ticket, resumes == 1, arrival_us, rest) then
        if ticket.stays then
            return {'turn'}
        end
        return newcomer(id, ticket.jitter)
    end
    local has_lapsed = ticket.last_check_in_us + ticket_lifetime_us(ticket) <= room.now_us
    -- A reissued ticket may outlive its place by one retention time, and then gets a place only
    -- under the same conditions as a newcomer. Otherwise a client could get its share of places
    -- twice.
    ticket.needs_place = not arrival_us and (not ticket.placed or ticket.reissued)
    -- A head start belongs to an order of arrival. Otherwise a ticket could be kept for later.
    if has_lapsed then
        head_us = 0
    end
    if arrival_us then
        -- The place may have been created by a check-in that arrived only after its ticket had
        -- lapsed. A ticket that was reissued in the meantime proves the earlier arrival.
        if has_lapsed or not ticket.reissued or arrival_us < ticket.arrived_us then
            ticket.arrived_us = arrival_us
        end
        ticket.placed = true
    elseif has_lapsed then
        ticket.arrived_us, ticket.placed, ticket.is_new = room.now_us, false, 1
    end
    local shown = ticket.is_new == 0 and shown_entrant(rest)
    ticket.arrived_us = math.min(ticket.arrived_us, room.now_us - head_us)
    if not ticket.placed and room.mode == 'drain' then
        return newcomer(id, ticket.jitter)
    end
    ticket.was_present = kind == PRESENT_PLACE
    local known_us = arrival_us and order_of(id, kind, arrival_us, is_late)
    ticket.has_lapsed, ticket.head_us = has_lapsed, head_us
    local own = arrival_us and entrant_of(id)
    local order_us = recognize(ticket, own, shown)
    local asked = question(ticket, shown)
    if asked then
        return asked
    end
    note_place(id, ticket)
    ticket.late_us = late_order(id, ticket, known_us, is_late)
    order_us = ticket.late_us or order_us
    local ahead = stand_up(id, ticket, order_us, ticket.was_present and known_us)
    ahead = ahead_after_draw(id, ticket, order_us, ahead)
    local enters, reason = may_enter(ahead)
    if awaits_draw(ticket) then
        enters, reason = false, 'recovery'
    end
    if enters and ticket.stays then
        return turn(id, ticket, kind)
    end
    if enters then
        -- `admit` removes a visitor from PRESENT only together with its place.
        if kind ~= PRESENT_PLACE then
            step_back(id)
        end
        if not own or own.tag ~= current_draw().tag then
            depart_unplaced(ticket)
        end
        return admit(id, ticket.arrived_us + head_us, reason)
    end
    return stand(id, ticket, ahead, reason)
end

if not open() then
    return {}
end
check_losses()
clear()
return close(for_each_visitor('>I8I8BI2I8BBI8BI4', check_in, true))
