-- Renews a node's share of a gate that all nodes share. The node reports its demand and gets a
-- share.
--
-- A node holds as many permits as the greatest of three numbers: its share, its current limit, and
-- its number of requests in flight, some of which may be older than that limit. At most that
-- many requests may run on the node. No node is granted more than the other nodes leave of the
-- total, so the sum of the permits that all nodes hold never exceeds the total. A node whose share
-- shrinks releases the difference when it reports that it applies the lower limit.
--
-- KEYS  [1] a hash of {hold, wanted, expires_us, renewal} for each node, and the gate's clock
-- ARGV  [1] node [2] total [3] current limit [4] in flight [5] in flight and waiting
--       [6] lease_us [7] the sequence number of the renewal, which grows with each renewal
-- reply the share; 0 for a renewal that arrives after a later renewal
-- time  the server's clock plus a skew, so that time never runs backwards

local SHARES = KEYS[1]
local node, total, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local in_flight, wanted, lease_us = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local renewal = tonumber(ARGV[7])
-- The number of leases after which a hash that no node has renewed expires.
local KEPT_LEASES = 10

-- A renewal on a connection that the node has abandoned may arrive after later renewals. Such a
-- late renewal is ignored, and no caller waits for its reply.
local entry = redis.call('HGET', SHARES, node)
if entry and cmsgpack.unpack(entry)[4] > renewal then
    return 0
end

-- If the server's clock is set back, or a server whose clock is behind takes over, the gate's clock
-- continues from its last value.
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

-- If the total is sufficient, each node gets its demand and an equal part of the rest, for requests
-- that arrive before its next renewal. Otherwise each node gets a part in proportion to its demand,
-- but at least 1. In either case, a node gets no more than the other nodes leave.
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
