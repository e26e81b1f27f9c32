-- Waiting visitors check in with their tickets.
--
-- KEYS  those of the room, see head.lua
-- ARGV for each visitor: id, first_seen_us, last_check_in_us, 1 if it has a place, jitter in
--       thousandths, lot, 1 if a node has issued its ticket anew
-- reply for each visitor, one of:
--       {'admit', reason, bucket, accepted_us, expires_us}
--       {'wait', reason, 1 if the ticket had lapsed, first_seen_us, interval_s, present visitors
--        ahead, 1 if its network is over its share in shadow mode}
--       {'full', 1 if the ticket had lapsed, first_seen_us, interval_s}
--       {'network_full', interval_s}
--       {'first', reason, interval_s}
--       {'refuse', reason, retry_us or -1}
-- time  the room's own

-- Decides about a visitor who may not enter: gives it a place, or keeps the one it has.
local function stand(id, ticket, ahead, reason)
    if not ticket.placed and room.method == 'reject' then
        redis.call('ZREM', PRESENT, id)
        return reject(reason)
    end
    local is_over = ticket.needs_place and is_network_full(id)
    -- Its order of arrival starts again. Otherwise a network could hold tickets in reserve, and
    -- take each place that it gives back, at the front of the line.
    if is_over and not room.is_share_in_shadow then
        redis.call('ZREM', PRESENT, id)
        return {'network_full', interval_s(math.huge, reason, ticket.jitter)}
    end
    -- A ticket with a place is not checked. After a loss it may be unknown to the room, but unless it
    -- was issued anew, it outlives the place by nothing, so there are no more such tickets than there
    -- were places.
    if ticket.needs_place and redis.call('ZCARD', PLACES) >= room.capacity then
        redis.call('ZREM', PRESENT, id)
        local interval = interval_s(math.huge, reason, ticket.jitter)
        return {'full', ticket.is_new, ticket.first_seen_us, interval}
    end
    local interval = interval_s(ahead, reason, ticket.jitter)
    keep_place(id, ticket.first_seen_us, interval)
    local is_told = is_over and 1 or 0
    return {'wait', reason, ticket.is_new, ticket.first_seen_us, interval, ahead, is_told}
end

-- Returns how long a ticket keeps its order of arrival. Without a place, that is one and a half of
-- the longest interval after which a visitor is asked to return.
local function ticket_lifetime_us(ticket)
    return ticket.placed and room.retention_us or room.refresh_us * 1.5
end

-- Decides about one visitor: admits it, gives it a place, or refuses it.
local function check_in(id, ticket)
    local again = admit_again(id)
    if again then
        return again
    end
    if ended(id, ticket.first_seen_us) then
        return newcomer(id, ticket.jitter)
    end
    local arrival_us = redis.call('ZSCORE', PLACES, id)
    local has_lapsed = ticket.last_check_in_us + ticket_lifetime_us(ticket) <= room.now_us
    -- A ticket that was issued anew may outlive its place by one retention. Then it gets a place only
    -- as a newcomer would, or a client could have its places twice.
    ticket.needs_place = not arrival_us and (not ticket.placed or ticket.reissued)
    if arrival_us then
        arrival_us = tonumber(arrival_us)
        -- The place may come from a check-in that arrived too late, with a ticket that had lapsed by
        -- then. The ticket that was issued anew meanwhile proves the earlier arrival.
        if has_lapsed or not ticket.reissued or arrival_us < ticket.first_seen_us then
            ticket.first_seen_us = arrival_us
        end
        ticket.placed = true
    elseif has_lapsed then
        ticket.first_seen_us, ticket.placed, ticket.is_new = room.now_us, false, 1
    end
    ticket.first_seen_us = math.min(ticket.first_seen_us, room.now_us)
    if not ticket.placed and room.mode == 'drain' then
        return newcomer(id, ticket.jitter)
    end
    local rank = room.method == 'random' and ticket.lot or digits(ticket.first_seen_us)
    redis.call('ZADD', PRESENT, rank, id)
    local ahead = redis.call('ZRANK', PRESENT, id)
    local enters, reason = may_enter(ahead)
    if enters then
        -- `admit` removes it only together with a place, which the visitor may not have yet.
        redis.call('ZREM', PRESENT, id)
        return admit(id, ticket.first_seen_us, reason)
    end
    return stand(id, ticket, ahead, reason)
end

if not open() then
    return {}
end
check_losses()
clear()
local replies = {}
for i = 2, #ARGV, 7 do
    table.insert(replies, check_in(ARGV[i], {
        first_seen_us = tonumber(ARGV[i + 1]),
        last_check_in_us = tonumber(ARGV[i + 2]),
        placed = ARGV[i + 3] == '1',
        jitter = tonumber(ARGV[i + 4]),
        lot = ARGV[i + 5],
        reissued = ARGV[i + 6] == '1',
        is_new = 0,
    }))
end
return close(replies)
