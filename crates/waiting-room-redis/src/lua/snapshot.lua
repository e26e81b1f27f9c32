-- The room in numbers, and its rules if they are not those of the version that is known.
--
-- ARGV  [2] the version that is known
-- reply for the one call: active, new_in_last_minute, waiting, first_arrival_us or -1, rules or ''

if not open() then
    return {}
end
check_server()
clear()
local rules = ''
if tonumber(ARGV[2]) ~= room.version then
    rules = redis.call('HGET', ROOM, 'rules')
end
local first = redis.call('ZRANGE', PLACES, 0, 0, 'WITHSCORES')
local arrival_us = first[2] and tonumber(first[2]) or -1
return close({{
    active(), count_minute(), redis.call('ZCARD', PLACES), arrival_us, rules,
}})
