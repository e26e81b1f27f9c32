-- Visitors go: the slots and the places are free at once, and older proofs are void.
--
-- ARGV for each: id

if not open() then
    return {}
end
check_losses()
clear()
local replies = {}
for i = 2, #ARGV do
    local id, pass = ARGV[i], session(ARGV[i])
    local forget_us = room.now_us + math.max(room.lifetime_us, room.retention_us)
    remove_place(id)
    if pass then
        redis.call('ZREM', ACTIVE, id)
        redis.call('HDEL', PASSES, id)
        forget_us = math.max(forget_us, pass.expires_us)
    end
    remember_end(id, room.now_us, forget_us, 'left')
    table.insert(replies, {'left'})
end
return close(replies)
