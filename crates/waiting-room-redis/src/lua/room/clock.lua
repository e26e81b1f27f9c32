-- The time of a room, which goes on whatever the clocks of its servers do.

-- The time of the server. It may be set back, and another server may take over whose clock is
-- behind: the time of the room then goes on from where it was. A time that is given may come late.
local function read_clock()
    local now_us
    if ARGV[1] ~= '' then
        now_us = math.max(tonumber(ARGV[1]), room.last_us)
    else
        local time = redis.call('TIME')
        now_us = time[1] * 1000000 + time[2] + room.skew_us
    end
    if now_us < room.last_us then
        room.skew_us = room.skew_us + room.last_us - now_us
        now_us = room.last_us
    end
    room.last_us = now_us
    return now_us
end

-- The run id of this server: another one may have lost what was written last.
local function server_id()
    return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or ''
end
