-- Visitors without a pass or a ticket ask for a slot.
--
-- ARGV for each: id, jitter in thousandths

if not open() then
    return {}
end
check_server()
clear()
local replies = {}
for i = 2, #ARGV, 2 do
    local id, jitter = ARGV[i], tonumber(ARGV[i + 1])
    table.insert(replies, admit_again(id) or newcomer(id, jitter))
end
return close(replies)
