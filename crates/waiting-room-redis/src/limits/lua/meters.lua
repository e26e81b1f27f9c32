-- The first part of the script that charges limits, with the code that all meters share.
--
-- The meter files follow, each as the body of a function that is called only if one of its meters
-- is needed. The last file is charge.lua, whose header describes KEYS, ARGV, the reply and the
-- time.
--
-- Times are microseconds on the group's clock, which a double represents exactly until the year
-- 2255. All other numbers in the script are also integers below 2^53. A meter is a table of the
-- following functions, each of which takes one charge request (`ask`):
--
--   load     reads the state of the key, and sets `last_us`, the time of its last write
--   turn     brings the state up to the current time, and converts it if the quota has changed
--   wait     returns the microseconds until a cost is allowed: 0 if it is, nil if it never will be
--   used     returns the units of the quota that cannot be spent now
--   spend    spends a cost, allowed or not
--   mark     returns two numbers for the receipt: the position in the state after a charge
--   refund   refunds a part of a charge, unless the passage of time has already restored it
--   save     writes the state, which expires when it has been fully replenished
--   delay    returns how long a request is held, if the meter holds requests
--   refused  records a refusal, if the meter counts refusals
--
-- The function `turn` is called once for each state, before any other function except `load`. A
-- replenished state is equivalent to a missing state, so no client gains anything when a state
-- expires.

local MOST = 2 ^ 53 - 1
local MS_US = 1000
-- The time added to every expiry if a test supplies the current time, because a state must then not
-- end by the server's clock.
local TEST_MS = 24 * 60 * 60 * 1000

local now_us
local skew_us = 0
local is_test = false

-- Formats an integer with all its digits, because `..` would round it to 14 digits.
local function digits(number)
    return string.format('%.0f', number)
end

-- Returns a * b / c, rounded down, where b is at most c. If a double cannot represent the product
-- exactly, the function multiplies and divides bit by bit, so that the result is exact.
local function scale(a, b, c)
    if a * b < MOST then
        return math.floor(a * b / c)
    end
    local quotient, rest = 0, 0
    local bit = 2 ^ 52
    for _ = 1, 53 do
        quotient, rest = quotient * 2, rest * 2
        if rest >= c then
            quotient, rest = quotient + 1, rest - c
        end
        if a >= bit then
            a, rest = a - bit, rest + b
            if rest >= c then
                quotient, rest = quotient + 1, rest - c
            end
        end
        bit = bit / 2
    end
    return quotient
end

-- Returns an expiry in milliseconds, rounded up to at least 1 ms, so that no state expires early.
local function expiry_ms(in_us)
    return digits(math.max(math.ceil(in_us / MS_US), 1) + (is_test and TEST_MS or 0))
end

-- Raises the current time to the time of the last write of a state. If the server's clock has been
-- set back, or a server whose clock is behind has taken over, the time continues from the last
-- write of this key. From then on, the skew applies to all keys.
local function see(last_us)
    if last_us > now_us then
        skew_us = skew_us + last_us - now_us
        now_us = last_us
    end
end

-- The states that are stored as a single string. Each state is read once per script, and all states
-- are written at the end of the script. A server that is out of memory thus refuses the first
-- write, before anything is charged.
local strings, written = {}, {}

local function read(key)
    local numbers = strings[key]
    if not numbers then
        local value = redis.call('GET', key)
        numbers = value and {cmsgpack.unpack(value)}
        strings[key] = numbers
    end
    return numbers
end

local function write(key, in_us, numbers)
    strings[key], written[key] = numbers, in_us
end

local function flush()
    for key, in_us in pairs(written) do
        redis.call('SET', key, cmsgpack.pack(unpack(strings[key])), 'PX', expiry_ms(in_us))
    end
end
