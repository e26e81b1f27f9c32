-- Visitors without a pass or a ticket ask for a slot.
--
-- ARGV for each: id, jitter in thousandths, until when its asker waits for the answer

-- A question may come late, on a connection that was given up, after what it took was given back.
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
