-- What all limits of a group share. It stands before the meters, in one script with them; each file
-- of meters is the body of a function there, which is called if one of them is asked for.
--
-- Times are microseconds of the server's clock, which a double holds exactly until the year 2255,
-- and so is every number here below 2^53. A meter is a table with these functions of an ask:
--
--   load    reads the state of its key, so that `last_us` is when it was last written
--   turn    makes of it the state as it is now
--   wait    in how many microseconds a cost is allowed: 0 if it is, nothing if it never will be
--   used    how much cannot be spent now
--   spend   spends a cost, allowed or not
--   mark    where the state stands after it: two numbers for the receipt
--   refund  gives back a cost of a receipt, as far as time has not given it back already
--   save    writes the state, to expire when it is replenished
--
-- A state is turned to now once, before anything else is asked of it.
-- A state that is replenished means the same as none, so that nobody is forgiven by its end.

local MOST = 2 ^ 53 - 1
local MS_US = 1000
-- With a given clock the server's own must not end a state.
local TEST_MS = 24 * 60 * 60 * 1000

local now_us
local skew_us = 0
local is_test = false

-- The exact digits of a whole number; `..` would round it to 14 of them.
local function digits(number)
    return string.format('%.0f', number)
end

-- a * b / c, rounded down, for a part b of the whole c: exact where the product is not, bit by bit.
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

local function expiry_ms(in_us)
    return digits(math.max(math.ceil(in_us / MS_US), 1) + (is_test and TEST_MS or 0))
end

-- A clock that was set back, on this server or by another that has taken over, goes on from where
-- it was for this key, and from then on for all.
local function see(last_us)
    if last_us > now_us then
        skew_us = skew_us + last_us - now_us
        now_us = last_us
    end
end

-- The numbers of a state that is one string, read once for all asks of a script.
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
