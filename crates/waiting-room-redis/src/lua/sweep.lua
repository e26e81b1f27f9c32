-- Removes lapsed sessions and places, up to a bound.
--
-- KEYS  the keys of the room, see head.lua
-- ARGV  only the time
-- reply for the one call: 1 if more lapsed entries may be left, else 0
-- time  the clock of the room

if not open() then
    return {}
end
check_losses()
local is_more = clear()
count_minute()
return close({{is_more and 1 or 0}})
