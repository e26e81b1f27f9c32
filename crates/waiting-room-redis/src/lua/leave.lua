-- Ends the sessions and places of visitors who leave, and makes their proofs void.
--
-- The end of a session is remembered until every proof that was issued before it has lapsed.
--
-- KEYS  the keys of the room, see head.lua
-- ARGV for each visitor: id (16 bytes)
-- reply for each visitor: {'left'}, even if the room did not know about the visitor
-- time  the clock of the room

-- Ends the session and the place of one visitor.
local function leave(id)
    local pass, kind, _, is_late = visitor(id)
    local forget_us = room.now_us + math.max(room.lifetime_us, 3 * room.place_retention_us)
    if kind then
        drop(id)
    end
    if pass then
        release(id, pass)
        forget_us = math.max(forget_us, pass.expires_us)
    elseif kind then
        abandon_line(id, kind, is_late)
    end
    remember_end(id, room.now_us, forget_us, 'left')
    return {'left'}
end

if not open() then
    return {}
end
write_without_free_memory()
check_losses()
clear()
return close(for_each_visitor('>', leave))
