-- The part that all verbs of a room share. Each script is this part followed by one verb.
--
-- Times are microseconds of the room's clock, which a double holds exactly until the year 2255.
-- Members of the sorted sets are the 16 bytes of a visitor's id, most significant first, so that
-- visitors with the same score stand in the order of their ids.
--
-- KEYS  the keys of the room, in the order of the names below
-- ARGV  [1] the time in microseconds; empty for the time of the server
--       [2...] the arguments of the verb, visitor after visitor
-- reply {{now_us, since_us, version, present, admissions per second, dispersion, losses},
--        {one reply for each visitor}}, or {} if there is no room
-- time  the room's own, see clock.lua

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
-- The most entries of the line, and of the sessions, that one script clears. The next scripts clear
-- the rest; until then the line counts as longer than it is, and never as shorter.
local CLEARED_AT_ONCE = 1000

local room = {}

-- Formats an integer with all its digits; `..` would round it to 14 of them.
local function digits(number)
    return string.format('%.0f', number)
end
