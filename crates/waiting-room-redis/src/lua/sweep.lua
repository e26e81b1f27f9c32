-- Clears what has lapsed, up to a bound.
--
-- KEYS  those of the room, see head.lua
-- ARGV  none but the time
-- reply for the one call: 1 if there may be more, else 0
-- time  the room's own

if not open() then
    return {}
end
check_losses()
local is_more = clear()
count_minute()
return close({{is_more and 1 or 0}})
