-- Ends the sessions and places of visitors who leave, and makes their proofs void.
--
-- The end of a session is remembered until every proof that was issued before it has lapsed.
--
-- KEYS  the keys of the room, see head.lua
-- ARGV for each visitor: id
-- reply for each visitor: {'left'}, even if the room did not know about the visitor
-- time  the clock of the room

if not open() then
    return {}
end
check_losses()
clear()
local replies = {}
for i = 2, #ARGV do
    local id, pass = ARGV[i], session(ARGV[i])
    local forget_us = room.now_us + math.max(room.lifetime_us, 3 * room.retention_us)
    remove_place(id)
    if pass then
        redis.call('ZREM', ACTIVE, id)
        redis.call('HDEL', PASSES, id)
        room.active = nil
        forget_us = math.max(forget_us, pass.expires_us)
    end
    remember_end(id, room.now_us, forget_us, 'left')
    table.insert(replies, {'left'})
end
return close(replies)
