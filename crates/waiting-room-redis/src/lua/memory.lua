-- Returns the server's options that determine what it does when its memory is full.
--
-- KEYS  [1] any key on the cluster node to query; the key itself is not read
-- ARGV  none
-- reply {maxmemory in bytes, 0 if there is no bound; maxmemory-policy}
-- time  none

local memory = redis.call('INFO', 'memory')
return {
    string.match(memory, 'maxmemory:(%d+)'),
    string.match(memory, 'maxmemory_policy:([%w-]+)'),
}
