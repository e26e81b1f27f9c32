-- Waiting visitors ask again.
--
-- ARGV for each: id, first_seen_us, last_check_in_us, placed, jitter in thousandths, lot

-- Gives a visitor who checked in a place, or leaves it the one it has.
local function stand(id, ticket, ahead, reason)
    if not ticket.placed and room.method == 'reject' then
        redis.call('ZREM', PRESENT, id)
        return reject(reason)
    end
    local is_over = not ticket.placed and is_network_full(id)
    -- Its order of arrival begins anew, or the tickets that a network holds in reserve would take each
    -- place that it gives back, at the front.
    if is_over and not room.is_share_in_shadow then
        redis.call('ZREM', PRESENT, id)
        return {'network_full', interval_s(math.huge, reason, ticket.jitter)}
    end
    -- A ticket with a place outlives the memory of the room by no more than the place itself, so
    -- there are no more of them than there were places.
    if not ticket.placed and redis.call('ZCARD', PLACES) >= room.capacity then
        redis.call('ZREM', PRESENT, id)
        local interval = interval_s(math.huge, reason, ticket.jitter)
        return {'full', ticket.is_new, ticket.first_seen_us, interval}
    end
    local interval = interval_s(ahead, reason, ticket.jitter)
    keep_place(id, ticket.first_seen_us, interval)
    local is_told = is_over and 1 or 0
    return {'wait', reason, ticket.is_new, ticket.first_seen_us, interval, ahead, is_told}
end

-- How long a ticket keeps its order of arrival: without a place, for half as long again as any client
-- is asked to stay away.
local function ticket_lifetime_us(ticket)
    return ticket.placed and room.retention_us or room.refresh_us * 1.5
end

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
    if arrival_us then
        arrival_us = tonumber(arrival_us)
        -- A place may be of a check-in that came too late, when the ticket of then had lapsed; one
        -- that has not lapsed still proves the order.
        if has_lapsed or arrival_us < ticket.first_seen_us then
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
        -- Without a place yet, it would stay among the present.
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
for i = 2, #ARGV, 6 do
    table.insert(replies, check_in(ARGV[i], {
        first_seen_us = tonumber(ARGV[i + 1]),
        last_check_in_us = tonumber(ARGV[i + 2]),
        placed = ARGV[i + 3] == '1',
        jitter = tonumber(ARGV[i + 4]),
        lot = ARGV[i + 5],
        is_new = 0,
    }))
end
return close(replies)
