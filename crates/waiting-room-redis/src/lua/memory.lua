-- What the server does when its memory is full.
--
-- KEYS  [1] a key on the server that is meant
-- reply {how much memory the server may use, what it does about it}

local memory = redis.call('INFO', 'memory')
return {
    string.match(memory, 'maxmemory:(%d+)'),
    string.match(memory, 'maxmemory_policy:([%w-]+)'),
}
