-- Admits or refuses visitors without a pass or a ticket, or gives them first tickets.
--
-- KEYS  the keys of the room, see head.lua
-- ARGV for each visitor: id (16 bytes), jitter in thousandths (2), the time until which its node
--       waits for the reply, in microseconds (8)
-- reply for each visitor, one of:
--       {'admit', reason, bucket, accepted_us, expires_us}, {'first', reason, interval_s},
--       {'refuse', reason, retry_us or -1}, {'late'}
-- time  the clock of the room

-- Decides on one visitor. A call may run late, from the buffer of a connection that its node has
-- abandoned, after the node has already released the visitor's slot. A late call must not take a
-- slot.
local function enter(id, jitter, until_us)
    if room.now_us > until_us then
        return {'late'}
    end
    local pass = visitor(id)
    return pass and admit_again(id, pass) or newcomer(id, jitter)
end

if not open() then
    return {}
end
check_losses()
clear()
return close(for_each_visitor('>I2I8', enter))
