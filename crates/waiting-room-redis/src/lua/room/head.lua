-- The shared part of the scripts. Each script consists of the shared part and one operation of a
-- room.
--
-- Times are microseconds on the room's clock, which a double represents exactly until the year
-- 2255. Visitors are members of sorted sets by the 16 bytes of their ids, most significant byte first,
-- so that visitors with the same score are in the order of their ids.
--
-- KEYS  the keys of the room, in the order of the variables below
-- ARGV  [1] the time in microseconds; empty for the time of the server
--       [2...] the arguments of the operation, for each visitor in one string, which begins with
--       the visitor's id; numbers are packed, most significant byte first
-- reply {{now_us, since_us, version, present, admissions per second, dispersion, losses},
--        {one reply for each visitor}}, or {} if there is no room
-- time  the clock of the room, see clock.lua

local ROOM, VISITORS, DEADLINES, PRESENT, ARRIVALS, ENDED, VOIDS, MINUTE, NETWORKS, GONE =
    unpack(KEYS, 1, 10)

local MINUTE_US = 60 * 1000000
local SLICE_US = 10 * 1000000
local SLICES = 18
local TRUSTED_AFTER_US = 30 * 1000000
local SHORTEST_INTERVAL_US = 2 * 1000000
local COOKIE_TEST_INTERVAL_S = 1
local STARTERS_PER_SECOND = 5000
local CHECK_SERVER_EVERY_US = 50 * 1000
local MAX_USERS = 10000000
-- The rank of the first late place, which is later than all times until the year 2112.
local LATE = 2 ^ 52
local MAX_ENDED = 1000000
-- The maximum number of records of ended sessions that one script looks at, and of pages of visitors
-- that one script clears. Later scripts clear the rest. Until then, the line seems longer than it is, but never
-- shorter.
local CLEARED_AT_ONCE = 1000
local PAGES_AT_ONCE = 128
-- The maximum number of seconds for which lapsed sessions are counted before they are removed.
local COUNTED_S = 1024
-- The version of the layout of the keys, which changes if an earlier release cannot use the keys.
local LAYOUT = '6'

if struct.unpack('>I7', struct.pack('>I7', 2 ^ 52)) ~= 2 ^ 52 then
    error('the room needs a server for machines of 64 bits')
end

-- The state of the room, the number of visitors whom this script has admitted, and the time for which
-- an admission counts towards the limit on new visitors.
local room = {admitted = 0, held_us = MINUTE_US}

-- The format of an integer with all its digits, because `..` would round it to 14 digits. '%d' is
-- faster than '%.0f', but is limited to 32 bits on some machines.
local DIGITS = string.format('%d', 2 ^ 52) == '4503599627370496' and '%d' or '%.0f'

local function digits(number)
    return string.format(DIGITS, number)
end
