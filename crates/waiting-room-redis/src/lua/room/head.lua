-- What all verbs of a room share. It stands before each of them, in one script.
--
-- Times are microseconds of the store's clock, which a double holds exactly until the year 2255.
-- Members of the sorted sets are the 16 bytes of a visitor's id, most significant first, so that
-- visitors of one instant stand in the order of their ids.
--
-- KEYS  the keys of the room, in the order of the names below
-- ARGV  [1] the time, if it is given and not that of the server
--       [2...] what the verb is called with, visitor after visitor
-- reply {{now_us, since_us, version, present, admissions per second, dispersion, losses},
--        {for each visitor}}, or {} if there is no room

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
-- So much is cleared away at once. What is left over is cleared by the next verbs; until then the
-- line is taken for longer than it is, never for shorter.
local CLEARED_AT_ONCE = 1000

local room = {}

-- The exact digits of a whole number; `..` would round it to 14 of them.
local function digits(number)
    return string.format('%.0f', number)
end
