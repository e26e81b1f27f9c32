-- The time of a room, which never runs backwards, even if the clock of a server does.

-- Returns the time of the room in microseconds since the Unix epoch.
--
-- If the server's clock is set back, or a server whose clock is behind takes over, the difference
-- is added to `skew_us`, and the time of the room continues from where it was. A given time
-- (ARGV[1]) may be earlier than the last given time, because calls may overtake each other.
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

-- Returns the run id of this server. A server with a new run id was restarted, or is a replica that
-- has taken over, and may have lost the latest writes.
local function server_id()
    return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or ''
end
