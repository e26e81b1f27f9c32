-- The first part of the script of the limits: what the meters have in common.
--
-- The files of the meters follow, each as the body of a function that is called only if one of its
-- meters is needed, and then charge.lua, whose header has KEYS, ARGV, the reply and the time.
--
-- Times are microseconds of the group's clock, which a double holds exactly until the year 2255.
-- Every other number here is an integer below 2^53 as well. A meter is a table with these functions
-- of an ask:
--
--   load     reads the state of the key, and sets `last_us`, the time of its last write
--   turn     brings the state up to the present time, and converts it if the quota has changed
--   wait     returns the microseconds until a cost is allowed: 0 if it is, nil if it never will be
--   used     returns how much of the quota cannot be spent now
--   spend    spends a cost, allowed or not
--   mark     returns two numbers for the receipt: where the state stands after a charge
--   refund   gives back a part of a charge, as far as time has not given it back already
--   save     writes the state, with an expiry at the time at which it is replenished
--   delay    returns how long a request is held, if the meter holds any
--   refused  records a refusal, if the meter counts them
--
-- A state is turned once, before any other function is called.
-- A replenished state means the same as none, so no client gains anything when a state expires.

local MOST = 2 ^ 53 - 1
local MS_US = 1000
-- Added to every expiry under a given clock, because the server's own must not end a state then.
local TEST_MS = 24 * 60 * 60 * 1000

local now_us
local skew_us = 0
local is_test = false

-- Formats an integer with all its digits; `..` would round it to 14 of them.
local function digits(number)
    return string.format('%.0f', number)
end

-- Returns a * b / c rounded down, for b no greater than c. If a double cannot hold the product, it
-- multiplies and divides bit by bit, so that the result is exact.
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

-- Returns an expiry of at least 1 ms, rounded up, so that no state ends early.
local function expiry_ms(in_us)
    return digits(math.max(math.ceil(in_us / MS_US), 1) + (is_test and TEST_MS or 0))
end

-- Raises the present time to the last write of a state. The server's clock may have been set back,
-- or a server whose clock is behind may have taken over: the time then continues from where it was
-- for this key, and with the skew for all keys from now on.
local function see(last_us)
    if last_us > now_us then
        skew_us = skew_us + last_us - now_us
        now_us = last_us
    end
end

-- States that are one string. Each is read once for all asks of a script, and all are written at
-- its end: a server that is out of memory refuses the first write, before anything is charged.
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
