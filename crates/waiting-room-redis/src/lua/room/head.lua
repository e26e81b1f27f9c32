-- The shared part of the scripts. Each script consists of the shared part and one operation of a
-- room.
--
-- Times are microseconds on the room's clock, which a double represents exactly until the year
-- 2255. Members of the sorted sets are the 16 bytes of a visitor's id, most significant byte first,
-- so that visitors with the same score are in the order of their ids.
--
-- KEYS  the keys of the room, in the order of the variables below
-- ARGV  [1] the time in microseconds; empty for the time of the server
--       [2...] the arguments of the operation, for one visitor after another
-- reply {{now_us, since_us, version, present, admissions per second, dispersion, losses},
--        {one reply for each visitor}}, or {} if there is no room
-- time  the clock of the room, see clock.lua

local ROOM, ACTIVE, PASSES, ENDED, VOIDS, PLACES, PRESENT, DUE, KEPT, MINUTE, NETWORKS =
    unpack(KEYS, 1, 11)

local MINUTE_US = 60 * 1000000
local SLICE_US = 10 * 1000000
local SLICES = 18
local TRUSTED_AFTER_US = 30 * 1000000
local SHORTEST_INTERVAL_US = 2 * 1000000
local COOKIE_TEST_INTERVAL_S = 1
local CHECK_SERVER_EVERY_US = 50 * 1000
local MAX_USERS = 10000000
local MAX_ENDED = 1000000
-- The maximum number of entries of the line, and of the sessions, that one script removes. Later
-- scripts remove the rest. Until then, the line seems longer than it is, but never shorter.
local CLEARED_AT_ONCE = 1000

local room = {}

-- Formats an integer with all its digits, because `..` would round it to 14 digits.
local function digits(number)
    return string.format('%.0f', number)
end
