-- Charges either all limits of a request or none of them, and corrects earlier charges.
--
-- An `ask` is one charge request: one limit, for one client key. The meter files precede this file,
-- each as the body of a function, as meters.lua describes.
--
-- KEYS  [1] the hash that the limits of a group share; then the key of each charge request
-- ARGV  [1] the time in microseconds; empty for the time of the server
--       [2] the secret with which the node hashes keys
--       then any number of calls:
--         1, the number of charge requests, the requests: makes one charge
--         2, a request with the corrected cost, the charged cost, its two marks: corrects a charge
--       a request: meter, limit, period, per_us, highest, version, cost, 1 if soft, the size of
--       the largest block that may be charged in addition
-- reply {now_us, and for each charge request:
--        1 allowed, 0 refused, -1 not decided; remaining, reset_us, retry_us or -1, delay_us, two
--        marks, the size of the block}
--       or {another secret}: nothing was done, because the other nodes hash keys with that secret
-- time  the server's clock plus a skew for the group, so that time never runs backwards for any key

-- For each code, the function that creates the meters of its family. The function `code` in
-- meter.rs returns the same codes.
local families = {buckets, buckets, windows, windows, counters, logs, logs}
local meters = {}

-- Returns the meter for a code. The meters of a family are created when the first of them is
-- needed.
local function meter(code)
    if not meters[code] then
        for each, made in pairs(families[code]()) do
            meters[each] = made
        end
    end
    return meters[code]
end

local next_key, next_argument = 2, 3

-- Takes the next argument as a number.
local function number()
    next_argument = next_argument + 1
    return tonumber(ARGV[next_argument - 1])
end

-- Takes the arguments and the key of the next charge request, and reads the state of that key.
local function read_ask()
    local ask = {
        key = KEYS[next_key], meter = meter(number()),
        limit = number(), period = number(), per_us = number(),
        highest = number(), version = number(), cost = number(), is_soft = number() == 1,
        largest = number(), block = 0,
    }
    next_key = next_key + 1
    ask.meter.load(ask)
    see(ask.last_us)
    return ask
end

-- Brings a state up to the current time. A state that was converted from another quota is written
-- even if nothing is charged, because a state must not be converted twice.
local function turn(ask)
    ask.meter.turn(ask)
    if ask.is_older and ask.is_there then
        ask.meter.save(ask)
    end
end

local reply, said = {}, 1
local PER_ASK = 8

-- The divisor for the size of a block, which is at most an eighth of the units that remain after
-- the request.
local BLOCKS = 8

-- Appends the reply to one charge request.
local function say(ask, delay_us)
    local meter = ask.meter
    local used = meter.used(ask)
    reply[said + 1] = ask.is_allowed and 1 or 0
    reply[said + 2] = ask.limit - used
    reply[said + 3] = used > 0 and meter.wait(ask, ask.limit - used + 1) or 0
    reply[said + 4] = ask.is_allowed and 0 or meter.wait(ask, ask.cost) or -1
    reply[said + 5] = delay_us
    reply[said + 6], reply[said + 7] = meter.mark(ask)
    reply[said + 8] = ask.block
    said = said + PER_ASK
end

-- Appends the reply to a charge request that was not decided.
local function say_nothing()
    for i = 1, PER_ASK do
        reply[said + i] = -1
    end
    said = said + PER_ASK
end

-- Returns the delay of a request, which depends on the state before its charge. Only the leaky
-- queue delays requests.
local function delay_us(ask)
    return ask.cost > 0 and ask.meter.delay and ask.meter.delay(ask) or 0
end

-- Returns the size of the block to charge in addition. The size depends on the units that remain
-- after the request, so blocks become smaller towards the limit, and close to the limit there are
-- no blocks.
local function block(ask)
    if ask.largest == 0 then
        return 0
    end
    local left = ask.limit - ask.meter.used(ask) - ask.cost
    return math.max(math.min(ask.largest, math.floor(left / BLOCKS)), 0)
end

-- Charges the units of an allowed charge request, together with those of its block.
local function allow(ask)
    local delay = delay_us(ask)
    ask.block = block(ask)
    if ask.cost + ask.block > 0 then
        ask.meter.spend(ask, ask.cost + ask.block)
        ask.meter.save(ask)
    end
    say(ask, delay)
end

-- Refuses a charge request. Only a log that counts refusals records the refusal.
local function refuse(ask)
    if ask.meter.refused then
        ask.meter.refused(ask, ask.cost)
        ask.meter.save(ask)
    end
    say(ask, 0)
end

-- Makes one charge. If a hard limit refuses the request, nothing is charged: all other hard limits
-- report their current state, and soft limits make no decision.
local function charge()
    local asks, is_refused = {}, false
    for i = 1, number() do
        asks[i] = read_ask()
    end
    for _, ask in ipairs(asks) do
        turn(ask)
        ask.is_allowed = ask.meter.wait(ask, ask.cost) == 0
        is_refused = is_refused or not (ask.is_soft or ask.is_allowed)
    end
    for _, ask in ipairs(asks) do
        if is_refused and ask.is_soft then
            say_nothing()
        elseif not ask.is_allowed then
            refuse(ask)
        elseif is_refused then
            say(ask, delay_us(ask))
        else
            allow(ask)
        end
    end
end

-- Corrects one charge. If the corrected cost is higher, the difference is spent, even beyond the
-- limit. If the corrected cost is lower, the difference is refunded.
local function settle()
    local ask = read_ask()
    local charged, first_mark, second_mark = number(), number(), number()
    turn(ask)
    if ask.cost > charged then
        ask.meter.spend(ask, ask.cost - charged)
        ask.meter.save(ask)
    elseif ask.cost < charged and ask.is_there then
        ask.meter.refund(ask, charged - ask.cost, first_mark, second_mark)
        ask.meter.save(ask)
    end
end

local shared = redis.call('HMGET', KEYS[1], 'secret', 'skew_us')
if not shared[1] then
    redis.call('HSET', KEYS[1], 'secret', ARGV[2])
elseif shared[1] ~= ARGV[2] then
    return {shared[1]}
end
skew_us = tonumber(shared[2] or 0)
if ARGV[1] ~= '' then
    now_us, is_test = tonumber(ARGV[1]), true
else
    local time = redis.call('TIME')
    now_us = time[1] * 1000000 + time[2]
end
now_us = now_us + skew_us
while next_argument <= #ARGV do
    if number() == 1 then
        charge()
    else
        settle()
    end
end
flush()
if skew_us > tonumber(shared[2] or 0) then
    redis.call('HSET', KEYS[1], 'skew_us', digits(skew_us))
end
reply[1] = now_us
return reply
