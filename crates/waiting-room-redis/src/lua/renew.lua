-- Renews the passes of active visitors.
--
-- KEYS  the keys of the room, see head.lua
-- ARGV for each visitor: id, bucket, accepted_us, last_check_in_us, expires_us
-- reply for each visitor: {'renew', bucket, accepted_us, expires_us}, or {'end'} if the session is
--       over
-- time  the clock of the room

-- Renews one pass. If the room has lost its state and does not know about a valid pass, the session
-- of the pass is resumed.
local function renew(id, shown, last_check_in_us)
    local pass = session(id)
    local is_active = pass ~= nil
    if not is_active then
        if shown.expires_us <= room.now_us or ended(id, last_check_in_us) == 'left' then
            return {'end'}
        end
        if not can_take_up(shown, last_check_in_us) then
            return {'end'}
        end
        pass = shown
    end
    prolong(pass)
    remove_place(id)
    hold(id, pass, is_active)
    return {'renew', pass.bucket, pass.accepted_us, pass.expires_us}
end

if not open() then
    return {}
end
check_losses()
clear()
local replies = {}
for i = 2, #ARGV, 5 do
    table.insert(replies, renew(ARGV[i], {
        bucket = tonumber(ARGV[i + 1]),
        accepted_us = tonumber(ARGV[i + 2]),
        expires_us = tonumber(ARGV[i + 4]),
    }, tonumber(ARGV[i + 3])))
end
return close(replies)
