-- Drops what has lapsed, up to a bound.
--
-- reply for the one call: 1 if there may be more

if not open() then
    return {}
end
check_losses()
local is_more = clear()
count_minute()
return close({{is_more and 1 or 0}})
