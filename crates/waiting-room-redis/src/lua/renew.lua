-- Active visitors renew their passes.
--
-- KEYS  those of the room, see head.lua
-- ARGV for each visitor: id, bucket, accepted_us, last_check_in_us, expires_us
-- reply for each visitor: {'renew', bucket, accepted_us, expires_us}, or {'end'} if its session is
--       over
-- time  the room's own

-- Renews one pass. The session of a valid pass that the room does not know, because it has lost its
-- memory, is resumed.
local function renew(id, shown, last_check_in_us)
    local pass = session(id)
    if not pass then
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
    hold(id, pass)
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
