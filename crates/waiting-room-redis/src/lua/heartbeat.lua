-- Keeps the places of visitors far back in the line whose check-ins a node has answered by itself.
--
-- KEYS  the keys of the room, see head.lua
-- ARGV for each visitor: id, first_seen_us, its check-in interval in seconds
-- reply nothing for the visitors
-- time  the clock of the room

-- Keeps the place of one visitor. A visitor who has been admitted or has left in the meantime gets
-- no place.
local function heartbeat(id, first_seen_us, interval)
    if session(id) or ended(id, first_seen_us) then
        return
    end
    first_seen_us = tonumber(redis.call('ZSCORE', PLACES, id) or first_seen_us)
    redis.call('ZADD', PRESENT, digits(first_seen_us), id)
    keep_place(id, first_seen_us, interval)
end

if not open() then
    return {}
end
check_losses()
clear()
for i = 2, #ARGV, 3 do
    heartbeat(ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]))
end
return close({})
