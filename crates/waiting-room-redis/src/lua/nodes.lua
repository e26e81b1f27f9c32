-- Records that a node has polled the room, and returns the nodes that have done so lately. The room
-- itself is neither read nor changed.
--
-- KEYS  [1] a sorted set of the names of nodes, by the time at which each of them was last heard
-- ARGV  [1] the name of the node [2] the time for which a node is remembered, in microseconds
--       [3] the maximum number of nodes
-- reply {name, age in microseconds} for each node, the most recently heard first
-- time  the server's clock

local NODES = KEYS[1]
local kept_us, most = tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]

redis.call('ZADD', NODES, string.format('%.0f', now_us), ARGV[1])
redis.call('PEXPIRE', NODES, math.ceil(kept_us / 1000))

-- If the server's clock was set back, the times of other nodes are in the future until they poll
-- the room again. A time that is too far in the future is as useless as one in the distant past.
local heard, unheard = {}, {}
local entries = redis.call('ZRANGE', NODES, 0, -1, 'WITHSCORES')
for i = #entries - 1, 1, -2 do
    local age_us = now_us - tonumber(entries[i + 1])
    if math.abs(age_us) >= kept_us or #heard >= most then
        table.insert(unheard, entries[i])
    else
        table.insert(heard, {entries[i], math.max(age_us, 0)})
    end
end
-- Only nodes that have joined since the last script are above the bound, so this is one short call.
if #unheard > 0 then
    redis.call('ZREM', NODES, unpack(unheard))
end
return heard
