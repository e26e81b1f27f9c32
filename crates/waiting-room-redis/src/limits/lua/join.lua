-- Returns the secret with which keys are hashed to a node that joins a group of limits.
--
-- KEYS  [1] the hash that the limits of a group share
-- ARGV  [1] a secret, which is stored if the group has no secret yet
-- reply {the group's secret; maxmemory in bytes, 0 if there is no bound; maxmemory-policy}
-- time  none

redis.call('HSETNX', KEYS[1], 'secret', ARGV[1])
local memory = redis.call('INFO', 'memory')
return {
    redis.call('HGET', KEYS[1], 'secret'),
    string.match(memory, 'maxmemory:(%d+)'),
    string.match(memory, 'maxmemory_policy:([%w-]+)'),
}
