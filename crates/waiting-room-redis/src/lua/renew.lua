-- Renews the passes of active visitors.
--
-- KEYS  the keys of the room, see head.lua
-- ARGV for each visitor: id (16 bytes), bucket (4), accepted_us (8), last_check_in_us (8),
--       expires_us (8)
-- reply for each visitor: {'renew', bucket, accepted_us, expires_us}, or {'end'} if the session is
--       over
-- time  the clock of the room

-- Renews one pass. If the room has lost its state and does not know about a valid pass, the session
-- of the pass is resumed.
local function renew(id, bucket, accepted_us, last_check_in_us, expires_us)
    local shown = {bucket = bucket, accepted_us = accepted_us, expires_us = expires_us}
    local pass, kind, _, is_late = visitor(id)
    if not pass then
        local how = ended(id, last_check_in_us)
        if shown.expires_us <= room.now_us or how and how ~= 'lapsed' then
            return {'end'}
        end
        if room.site and not is_leased() then
            -- The pass stays as it is until the site has learnt which slots it holds.
            return {'renew', shown.bucket, shown.accepted_us, shown.expires_us}
        end
        if not can_take_up(shown, last_check_in_us) then
            return {'end'}
        end
        pass = shown
        if kind then
            drop(id)
            leave_line(id, kind, is_late)
        end
    end
    prolong(id, pass)
    return {'renew', pass.bucket, pass.accepted_us, pass.expires_us}
end

if not open() then
    return {}
end
write_without_free_memory()
check_losses()
clear()
return close(for_each_visitor('>I4I8I8I8', renew))
