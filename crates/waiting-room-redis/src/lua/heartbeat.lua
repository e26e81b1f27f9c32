-- Keeps the places of visitors far back in the line whose check-ins a node has answered by itself.
--
-- KEYS  the keys of the room, see head.lua
-- ARGV for each visitor: id (16 bytes), first_seen_us (8), its check-in interval in seconds
--       (4), head_start_us (8); for an entrant also the bytes that check_in.lua describes
-- reply nothing for the visitors
-- time  the clock of the room

-- Keeps the place of one visitor. A visitor who has been admitted or has left in the meantime gets
-- no place.
local function heartbeat(id, first_seen_us, interval, head_start_us, rest)
    local pass, kind, arrival_us, is_late = visitor(id)
    if pass or ended(id, first_seen_us) then
        return
    end
    local ticket = {arrived_us = arrival_us or first_seen_us - head_start_us}
    local order_us = order_of(id, kind, ticket.arrived_us, is_late)
    if not arrival_us then
        order_us = recognize(ticket, false, shown_entrant(rest))
        arrive(id, ticket, false)
    elseif kind == AWAY_PLACE and open_draw() then
        local own = entrant_of(id)
        note_return(own and own.tag == current_draw().tag and own.number)
    end
    redis.call('ZADD', PRESENT, digits(order_us), id)
    keep_place(id, ticket.arrived_us, interval, is_late)
end

if not open() then
    return {}
end
check_losses()
clear()
for_each_visitor('>I8I4I8', heartbeat, true)
return close({})
