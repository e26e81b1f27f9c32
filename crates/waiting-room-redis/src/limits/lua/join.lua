-- A node begins to share limits.
--
-- KEYS  [1] what the limits of a group share
-- ARGV  [1] a secret for the hashes of keys, if there is none yet
-- reply {the secret, how much memory the server may use, what it does about it}

redis.call('HSETNX', KEYS[1], 'secret', ARGV[1])
local memory = redis.call('INFO', 'memory')
return {
    redis.call('HGET', KEYS[1], 'secret'),
    string.match(memory, 'maxmemory:(%d+)'),
    string.match(memory, 'maxmemory_policy:([%w-]+)'),
}
