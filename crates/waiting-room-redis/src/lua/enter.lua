-- Admits or refuses visitors without a pass or a ticket, or gives them first tickets.
--
-- KEYS  the keys of the room, see head.lua
-- ARGV for each visitor: id, jitter in thousandths, the time until which its node waits for the
--       reply, in microseconds
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
    return admit_again(id) or newcomer(id, jitter)
end

if not open() then
    return {}
end
check_losses()
clear()
local replies = {}
for i = 2, #ARGV, 3 do
    table.insert(replies, enter(ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])))
end
return close(replies)
