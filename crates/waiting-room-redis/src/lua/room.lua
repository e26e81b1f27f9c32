-- What all verbs of a room share. It stands before each of them, in one script.
--
-- Times are microseconds of the store's clock, which a double holds exactly until the year 2255.
-- Members of the sorted sets are the 16 bytes of a visitor's id, most significant first, so that
-- visitors of one instant stand in the order of their ids.
--
-- KEYS  the keys of the room, in the order of the names below
-- ARGV  [1] the time, if it is given and not that of the server
--       [2...] what the verb is called with, visitor after visitor
-- reply {{now_us, since_us, version, present, admissions per second, dispersion},
--        {for each visitor}}, or {} if there is no room

local ROOM, ACTIVE, PASSES, ENDED, VOIDS, PLACES, PRESENT, DUE, KEPT, MINUTE =
    unpack(KEYS, 1, 10)

local MINUTE_US = 60 * 1000000
local SLICE_US = 10 * 1000000
local SLICES = 18
local TRUSTED_AFTER_US = 30 * 1000000
local SHORTEST_INTERVAL_US = 2 * 1000000
local COOKIE_TEST_INTERVAL_S = 1
local CHECK_SERVER_EVERY_US = 50 * 1000
local MAX_USERS = 10000000
local MAX_ENDED = 1000000
-- So much is cleared away at once. What is left over is cleared by the next verbs; until then the
-- line is taken for longer than it is, never for shorter.
local CLEARED_AT_ONCE = 1000

local room = {}

-- The exact digits of a whole number; `..` would round it to 14 of them.
local function digits(number)
    return string.format('%.0f', number)
end

-- The clock -------------------------------------------------------------------------------------

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

-- State -----------------------------------------------------------------------------------------

local FIELDS = {'slots', 'minute', 'lifetime_us', 'fixed', 'method', 'switch', 'capacity',
    'retention_us', 'refresh_us', 'cookie_test', 'hold_us', 'rate'}

-- The rules, from the values of the fields above. Those that do not apply are empty.
local function read_rules(values)
    room.slots, room.minute = tonumber(values[1]), tonumber(values[2])
    room.lifetime_us, room.fixed = tonumber(values[3]), values[4] == '1'
    room.method, room.switch, room.capacity = values[5], values[6], tonumber(values[7])
    room.retention_us, room.refresh_us = tonumber(values[8]), tonumber(values[9])
    room.cookie_test, room.hold_us = tonumber(values[10]), tonumber(values[11])
    room.rate = tonumber(values[12])
end

-- Reads the room. Nothing if there is none.
local function open()
    local state = redis.call('HMGET', ROOM, 'since_us', 'hold_until_us', 'last_us', 'skew_us',
        'server', 'checked_us', 'version', 'pace')
    if not state[1] then
        return false
    end
    room.since_us, room.hold_until_us = tonumber(state[1]), tonumber(state[2])
    room.last_us, room.skew_us = tonumber(state[3]), tonumber(state[4])
    room.server, room.checked_us = state[5], tonumber(state[6])
    room.version, room.pace = tonumber(state[7]), cmsgpack.unpack(state[8])
    read_rules(redis.call('HMGET', ROOM, unpack(FIELDS)))
    room.now_us = read_clock()
    return true
end

-- No version is used twice, not even one that a server has lost.
local function next_version()
    return math.max(room.version + 1, room.now_us)
end

-- A server that has another id than the one before may have lost what that one wrote last, so the
-- passes of before are counted anew. As often as it could have been changed, not each time.
local function check_server()
    if room.now_us - room.checked_us < CHECK_SERVER_EVERY_US then
        return
    end
    room.checked_us = room.now_us
    local server = server_id()
    if server ~= room.server then
        room.server = server
        room.since_us = room.now_us
        room.hold_until_us = room.now_us + room.hold_us
        room.version = next_version()
    end
end

-- Sessions --------------------------------------------------------------------------------------

local function active()
    return redis.call('ZCOUNT', ACTIVE, '(' .. digits(room.now_us), '+inf')
end

-- The session of a visitor who is active: {bucket, accepted_us, expires_us}.
local function session(id)
    local expires_us = tonumber(redis.call('ZSCORE', ACTIVE, id) or 0)
    if expires_us <= room.now_us then
        return nil
    end
    local packed = redis.call('HGET', PASSES, id)
    if not packed then
        -- Somebody has deleted a key. The pass of its visitor brings the session back.
        redis.call('ZREM', ACTIVE, id)
        return nil
    end
    local pass = cmsgpack.unpack(packed)
    return {bucket = pass[1], accepted_us = pass[2], expires_us = expires_us}
end

local function forget_end(id)
    if redis.call('ZREM', ENDED, id) == 1 then
        redis.call('HDEL', VOIDS, id)
    end
end

-- Proofs of this visitor that were made until `at_us` are void until `forget_us`; if it has left, its
-- passes as well. What prolonged the pass of a session that has lapsed may have been forgotten here.
local function remember_end(id, at_us, forget_us, how)
    if redis.call('ZCARD', ENDED) >= MAX_ENDED then
        redis.call('HDEL', VOIDS, redis.call('ZPOPMIN', ENDED)[1])
    end
    redis.call('ZADD', ENDED, digits(forget_us), id)
    redis.call('HSET', VOIDS, id, cmsgpack.pack({at_us, how}))
end

-- How the session ended that a proof belongs to which was made then, if it is over.
local function ended(id, made_us)
    local void = redis.call('HGET', VOIDS, id)
    if void then
        local at_us, how = unpack(cmsgpack.unpack(void))
        return made_us <= at_us and how
    end
end

local function hold(id, pass)
    redis.call('ZADD', ACTIVE, digits(pass.expires_us), id)
    redis.call('HSET', PASSES, id, cmsgpack.pack({pass.bucket, pass.accepted_us}))
    forget_end(id)
end

local function prolong(pass)
    if not room.fixed then
        pass.expires_us = math.max(pass.expires_us, room.now_us + room.lifetime_us)
    end
end

local function pass_reply(pass, reason)
    return {'admit', reason, pass.bucket, pass.accepted_us, pass.expires_us}
end

-- Who is active already goes on with the same session.
local function admit_again(id)
    local pass = session(id)
    if pass then
        prolong(pass)
        hold(id, pass)
        return pass_reply(pass, 'slot')
    end
end

-- The line --------------------------------------------------------------------------------------

local function remove_place(id)
    if redis.call('ZREM', PLACES, id) == 1 then
        redis.call('ZREM', PRESENT, id)
        redis.call('ZREM', DUE, id)
        redis.call('HDEL', KEPT, id)
    end
end

-- A visitor who is asked to come back in so many seconds is present for half as long again, and
-- keeps the place for longer.
local function keep_place(id, first_seen_us, interval)
    local kept_us = room.now_us + room.retention_us
    local present_us = math.min(room.now_us + interval * 1500000, kept_us)
    redis.call('ZADD', PLACES, digits(first_seen_us), id)
    redis.call('ZADD', DUE, digits(present_us), id)
    redis.call('HSET', KEPT, id, digits(kept_us))
end

local function clear_sessions()
    local now = digits(room.now_us)
    local forgotten = redis.call('ZRANGEBYSCORE', ENDED, '-inf', now, 'LIMIT', 0, CLEARED_AT_ONCE)
    for _, id in ipairs(forgotten) do
        forget_end(id)
    end
    local lapsed = redis.call('ZRANGEBYSCORE', ACTIVE, '-inf', now, 'WITHSCORES',
        'LIMIT', 0, CLEARED_AT_ONCE)
    for i = 1, #lapsed, 2 do
        local id, expires_us = lapsed[i], tonumber(lapsed[i + 1])
        local packed = redis.call('HGET', PASSES, id)
        redis.call('ZREM', ACTIVE, id)
        redis.call('HDEL', PASSES, id)
        -- The ticket that led to the session must not lead to another.
        local accepted_us = packed and cmsgpack.unpack(packed)[2] or 0
        local forget_us = accepted_us + room.retention_us
        if forget_us > room.now_us then
            remember_end(id, expires_us, forget_us, 'lapsed')
        end
    end
    return #forgotten + #lapsed / 2
end

local function clear_line()
    local due = redis.call('ZRANGEBYSCORE', DUE, '-inf', digits(room.now_us),
        'LIMIT', 0, CLEARED_AT_ONCE)
    for _, id in ipairs(due) do
        local kept_us = redis.call('HGET', KEPT, id)
        if tonumber(kept_us or 0) <= room.now_us then
            remove_place(id)
            redis.call('ZREM', DUE, id)
        else
            redis.call('ZREM', PRESENT, id)
            redis.call('ZADD', DUE, kept_us, id)
        end
    end
    return #due
end

-- Clears away what has lapsed, up to a bound. Returns whether there may be more.
local function clear()
    return math.max(clear_sessions(), clear_line()) >= CLEARED_AT_ONCE
end

-- The sliding minute ----------------------------------------------------------------------------

-- Whether one more may be let in, if so many go first: the one that many places back has left.
local function conforms(reserved)
    if not room.minute then
        return true
    end
    if room.minute <= reserved then
        return false
    end
    local at_us = redis.call('LINDEX', MINUTE, room.minute - reserved - 1)
    return not at_us or tonumber(at_us) + MINUTE_US <= room.now_us
end

local function record_admission()
    redis.call('LPUSH', MINUTE, digits(room.now_us))
    for _ = 1, 2 do
        if tonumber(redis.call('LINDEX', MINUTE, -1)) + MINUTE_US <= room.now_us then
            redis.call('RPOP', MINUTE)
        end
    end
end

-- How many were let in after a time.
local function count_since(at_us)
    local inside, outside = 0, redis.call('LLEN', MINUTE)
    while inside < outside do
        local middle = math.floor((inside + outside) / 2)
        if tonumber(redis.call('LINDEX', MINUTE, middle)) <= at_us then
            outside = middle
        else
            inside = middle + 1
        end
    end
    return inside
end

-- How many were let in within the minute; the others are dropped.
local function count_minute()
    local inside = count_since(room.now_us - MINUTE_US)
    if inside == 0 then
        redis.call('DEL', MINUTE)
    else
        redis.call('LTRIM', MINUTE, 0, inside - 1)
    end
    return inside
end

-- The pace of admissions ------------------------------------------------------------------------

-- Makes the slice of now the last one, and drops those that are older than three minutes.
local function roll()
    local pace, index = room.pace, math.floor(room.now_us / SLICE_US)
    if pace.began_us == 0 then
        pace.began_us, pace.current, pace.slices = room.now_us, index, {0}
    end
    for _ = 1, math.min(index - pace.current, SLICES + 1) do
        table.insert(pace.slices, 0)
        if #pace.slices > SLICES + 1 then
            table.remove(pace.slices, 1)
        end
    end
    pace.current = math.max(pace.current, index)
end

local function record_pace()
    roll()
    local slices = room.pace.slices
    slices[#slices] = slices[#slices] + 1
end

local function total(slices, count)
    local sum = 0
    for i = 1, count do
        sum = sum + slices[i]
    end
    return sum
end

-- Admissions per second over the last three minutes; as configured until that is known.
local function per_second()
    roll()
    local slices = room.pace.slices
    local kept_us = (#slices - 1) * SLICE_US + room.now_us % SLICE_US
    local elapsed_us = math.min(room.now_us - room.pace.began_us, kept_us)
    if elapsed_us < TRUSTED_AFTER_US then
        return room.rate
    end
    return total(slices, #slices) * 1000000 / elapsed_us
end

-- Variance over mean of the slices that are complete; 1 for independent arrivals.
local function dispersion()
    local slices, complete = room.pace.slices, #room.pace.slices - 1
    local sum = total(slices, math.max(complete, 0))
    if complete < 3 or sum == 0 then
        return 1
    end
    local mean, squares = sum / complete, 0
    for i = 1, complete do
        squares = squares + (slices[i] - mean) * (slices[i] - mean)
    end
    return math.max(squares / (complete - 1) / mean, 1)
end

-- Whether nobody is let in whatever becomes free, so that there is nothing to expect.
local function is_closed(reason)
    return reason == 'queue_all' or reason == 'recovery'
end

-- In how many seconds to ask again: an eighth of what the others take, within bounds, spread by so
-- many thousandths.
local function interval_s(ahead, reason, jitter)
    local base_us = room.refresh_us
    if not is_closed(reason) then
        local pace_us = (ahead + 1) * 1000000 / math.max(per_second(), room.rate)
        base_us = math.min(math.max(pace_us / 8, SHORTEST_INTERVAL_US), room.refresh_us)
    end
    return math.ceil((base_us + math.floor(base_us * jitter / 1000)) / 1000000)
end

-- Verdicts --------------------------------------------------------------------------------------

-- Whether a visitor with so many present ones ahead may enter: yes or no, and why.
local function may_enter(ahead)
    if room.switch == 'queue_all' then
        return false, 'queue_all'
    end
    if room.method == 'passthrough' and active() < MAX_USERS then
        return true, 'passthrough'
    end
    if room.now_us < room.hold_until_us then
        return false, 'recovery'
    end
    local free = room.slots - active()
    if free <= 0 then
        return false, 'active_limit'
    end
    if not conforms(0) then
        return false, 'rate'
    end
    if free <= ahead or not conforms(ahead) then
        return false, 'behind_others'
    end
    return true, 'slot'
end

local function is_cookie_tested()
    return room.cookie_test and active() * 100 >= room.cookie_test * room.slots
end

local function admit(id, first_seen_us, reason)
    local pass = {
        bucket = math.floor(first_seen_us / MINUTE_US),
        accepted_us = room.now_us,
        expires_us = room.now_us + room.lifetime_us,
    }
    remove_place(id)
    hold(id, pass)
    record_admission()
    record_pace()
    return pass_reply(pass, reason)
end

-- Sends a visitor away: for good, unless the room is closed and will be opened.
local function reject(reason)
    return {'refuse', 'reject', is_closed(reason) and room.refresh_us or -1}
end

-- A visitor who stands behind everybody present, and has shown nothing yet.
local function newcomer(id, jitter)
    if room.switch == 'drain' then
        return {'refuse', 'draining', room.refresh_us}
    end
    local present = redis.call('ZCARD', PRESENT)
    local enters, reason = may_enter(present)
    if enters and reason == 'slot' and is_cookie_tested() then
        return {'first', 'cookie_test', COOKIE_TEST_INTERVAL_S}
    end
    if enters then
        return admit(id, room.now_us, reason)
    end
    if room.method == 'reject' then
        return reject(reason)
    end
    return {'first', reason, interval_s(present, reason, jitter)}
end

-- The reply -------------------------------------------------------------------------------------

-- Writes what every verb may have changed, and says what every reply begins with.
local function close(replies)
    local rate, spread = per_second(), dispersion()
    redis.call('HSET', ROOM,
        'since_us', digits(room.since_us), 'hold_until_us', digits(room.hold_until_us),
        'last_us', digits(room.last_us), 'skew_us', digits(room.skew_us),
        'server', room.server, 'checked_us', digits(room.checked_us),
        'version', digits(room.version), 'pace', cmsgpack.pack(room.pace))
    local head = {
        room.now_us, room.since_us, room.version, redis.call('ZCARD', PRESENT),
        string.format('%.17g', rate), string.format('%.17g', spread),
    }
    return {head, replies}
end
