-- A node says what it has of a gate that all nodes share, and what it wants; it is told its share.
--
-- What a node holds is the greatest of its share, of the limit that it has in force and of what
-- still runs from before that: so much may run there. The sum over all nodes is never more than
-- the total, because nobody is given more than the others leave. A node that is told less gives the
-- rest away by having it in force when it comes again.
--
-- KEYS  [1] hash: {hold, wanted, expires_us, renewal} of each node, and the clock
-- ARGV  [1] node [2] total [3] the limit in force [4] in flight [5] in flight and waiting
--       [6] lease_us [7] which renewal of this node it is
-- reply the share

local SHARES = KEYS[1]
local node, total, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local in_flight, wanted, lease_us = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local renewal = tonumber(ARGV[7])
-- When nobody has come for so many leases there is nothing left to know.
local KEPT_LEASES = 10

-- One that was sent on a connection that is given up by now may come after those that follow it.
local entry = redis.call('HGET', SHARES, node)
if entry and cmsgpack.unpack(entry)[4] > renewal then
    return 0
end

-- The time of the server, which goes on from where it was if the clock is set back, or if another
-- server takes over whose clock is behind.
local clock, time = redis.call('HMGET', SHARES, 'last_us', 'skew_us'), redis.call('TIME')
local last_us, skew_us = tonumber(clock[1] or 0), tonumber(clock[2] or 0)
skew_us = math.max(skew_us, last_us - time[1] * 1000000 - time[2])
local now_us = time[1] * 1000000 + time[2] + skew_us

local held, wanted_by_all, nodes = 0, wanted, 1
local entries = redis.call('HGETALL', SHARES)
for i = 1, #entries, 2 do
    if entries[i] ~= node and not string.find(entries[i], '_us$') then
        local other = cmsgpack.unpack(entries[i + 1])
        if other[3] <= now_us then
            redis.call('HDEL', SHARES, entries[i])
        else
            held, wanted_by_all, nodes = held + other[1], wanted_by_all + other[2], nodes + 1
        end
    end
end

-- While there is enough, each gets what it wants and the same part of the rest, for what comes
-- next; otherwise in proportion to what each wants.
local share
if wanted_by_all <= total then
    share = wanted + math.floor((total - wanted_by_all) / nodes)
else
    share = math.max(math.floor(total * wanted / wanted_by_all), 1)
end
share = math.max(math.min(share, total - held), 0)

local hold = math.max(share, limit, in_flight)
redis.call('HSET', SHARES, node, cmsgpack.pack({hold, wanted, now_us + lease_us, renewal}),
    'last_us', string.format('%.0f', now_us), 'skew_us', string.format('%.0f', skew_us))
redis.call('PEXPIRE', SHARES, math.ceil(lease_us / 1000) * KEPT_LEASES)
return share
