-- The sessions of active visitors, and the visitors whose proofs are void because their sessions
-- have ended.

-- The changes in the number of sessions by the second in which they expire. Fields of VISITORS
-- store the numbers, so the sessions that expire within a span of time are counted without reading
-- them.
local tallies = {}

-- Returns the field of VISITORS with the number of sessions that expire in a second. Its name has 4
-- bytes, whereas the name of a page has 3.
local function tally_field(second)
    return struct.pack('>I4', second)
end

-- Counts a session that begins or ends, by `change`, 1 or -1.
local function tally(expires_us, change)
    local second = math.floor(expires_us / 1000000)
    tallies[second] = (tallies[second] or 0) + change
    room.active = room.active + change
    if room.lapsed and second < math.floor(room.now_us / 1000000) then
        room.lapsed = room.lapsed + change
    end
end

-- Returns the number of sessions that expire from second `first` to second `last`.
local function count_expiring(first, last)
    local fields, sum = {}, 0
    for second = first, last do
        table.insert(fields, tally_field(second))
        sum = sum + (tallies[second] or 0)
    end
    for _, count in ipairs(fields[1] and redis.call('HMGET', VISITORS, unpack(fields)) or {}) do
        sum = sum + (count or 0)
    end
    return sum
end

-- Returns the fields of VISITORS to set and to delete for the changed tallies.
local function changed_tallies()
    local fields, changes, set, gone = {}, {}, {}, {}
    for second, change in pairs(tallies) do
        if change ~= 0 then
            table.insert(fields, tally_field(second))
            table.insert(changes, change)
        end
    end
    local counts = fields[1] and redis.call('HMGET', VISITORS, unpack(fields)) or {}
    for i, field in ipairs(fields) do
        local count = (counts[i] or 0) + changes[i]
        if count > 0 then
            table.insert(set, field)
            table.insert(set, count)
        else
            table.insert(gone, field)
        end
    end
    return set, gone
end

-- Returns the number of active visitors. Lapsed sessions whose records this script has not removed
-- do not count, except those that have lapsed within the current second, or more than COUNTED_S
-- after the first of them.
local function active()
    if room.behind_us and not room.lapsed then
        local first, now = math.floor(room.behind_us / 1000000), math.floor(room.now_us / 1000000)
        room.lapsed = count_expiring(first, math.min(now - 1, first + COUNTED_S))
    end
    return room.active - (room.lapsed or 0)
end

-- Returns the number of slots that visitors may take. In a room that counts, these are the slots of
-- the minute that are left, however many visitors are active.
--
-- While visitors wait at other sites, only slots that were granted for visitors of this site may be
-- taken. A slot that becomes free here is given back, since it may be the turn of a visitor elsewhere.
local function free_slots()
    local site, counters = room.site, room.site and room.site.counters
    if counters then
        return math.max(counters.slots + counters.tickets - counters.taken, 0)
    end
    local free, account = room.total_active_users - active(), site and site.slots
    if account and account.has_account and room.now_us < account.recalled_until_us then
        return math.min(free, room.now_us < account.promised_until_us and account.promised or 0)
    end
    return free
end

-- Takes note that a visitor has taken what was promised in an account.
local function take_promised(account)
    if account and account.promised > 0 then
        account.promised, room.is_site_changed = account.promised - 1, true
    end
end

-- Takes note that a visitor has taken a slot.
local function take_slot()
    local site, counters = room.site, room.site and room.site.counters
    if counters then
        counters.taken, room.is_site_changed = counters.taken + 1, true
    elseif site then
        take_promised(site.slots)
        take_promised(site.minute)
    end
end

-- The entries of VOIDS that this script has read, by visitor, or false if there is none.
local voids = {}

-- Reads the entries of these visitors.
local function read_voids(ids)
    local entries = redis.call('HMGET', VOIDS, unpack(ids))
    for i, id in ipairs(ids) do
        voids[id] = entries[i]
    end
end

-- Forgets that a session of the visitor has ended.
local function forget_end(id)
    if redis.call('ZREM', ENDED, id) == 1 then
        redis.call('HDEL', VOIDS, id)
        voids[id] = false
    end
end

-- Makes all proofs of a visitor that were issued up to `at_us` void. The record is kept until
-- `forget_us`. If there are too many records, the earliest end is forgotten, and the watermark rises
-- to its time.
--
-- `how` is 'left' or 'lapsed'. If a session has lapsed, only its tickets become void: a renewal
-- that extended its pass may have been lost with the server, and a session with such a pass must
-- not be ended.
local function remember_end(id, at_us, forget_us, how)
    voids[id] = cmsgpack.pack({at_us, how, forget_us})
    redis.call('HSET', VOIDS, id, voids[id])
    room.next_forget_us = math.min(room.next_forget_us, forget_us)
    local is_new = redis.call('ZADD', ENDED, digits(at_us), id) == 1
    if is_new and redis.call('ZCARD', ENDED) > MAX_ENDED then
        local earliest, its_us = unpack(redis.call('ZPOPMIN', ENDED))
        redis.call('HDEL', VOIDS, earliest)
        voids[earliest] = false
        room.watermark_us = math.max(room.watermark_us, tonumber(its_us))
    end
end

-- Returns 'left' or 'lapsed' if the session of a proof that was issued at `made_us` has ended, and
-- false if the proof is not void. Returns 'forgotten' if the record of its end may have been
-- forgotten: the proof then counts only if the room holds the session or the place of its visitor.
local function ended(id, made_us)
    local void = voids[id]
    if void == nil then
        void = redis.call('HGET', VOIDS, id)
    end
    if void then
        local at_us, how, forget_us = unpack(cmsgpack.unpack(void))
        if forget_us > room.now_us then
            return made_us <= at_us and how
        end
    end
    return made_us <= room.watermark_us and 'forgotten'
end

-- Returns the session of a record. The third number of the record contains the minute of arrival and,
-- from bit 32 on, whether the session is within the shares of its networks, whether it gives way to
-- visitors in line, and the generation of the counts of NETWORKS that include it.
local function session_of(expires_us, accepted_us, third)
    local flags = math.floor(third / 2 ^ 32)
    local has_slot = math.floor(flags / 4) == room.generation
    return {
        bucket = third % 2 ^ 32, accepted_us = accepted_us, expires_us = expires_us,
        has_slot = has_slot, is_counted = has_slot and flags % 2 == 1, is_ending = flags % 4 > 1,
    }
end

-- Takes note that a session has ended.
local function release(id, session)
    tally(session.expires_us, -1)
    room.ending = room.ending - (session.is_ending and 1 or 0)
    if session.has_slot then
        networks.add_slot(id, -1)
    end
    if session.is_counted then
        networks.count(id, -1)
    end
end

-- Stores the session `pass` of a visitor, in place of the visitor's earlier session or place. From now
-- on, the session is within the shares of its networks if it `is_counted`, and gives way to visitors
-- in line if it `is_ending`.
local function hold(id, pass, is_counted, is_ending)
    local flags = (is_counted and 1 or 0) + (is_ending and 2 or 0) + 4 * room.generation
    local kind, deadline_us, third =
        put(id, SESSION, pass.expires_us, pass.accepted_us, pass.bucket + flags * 2 ^ 32)
    if kind == SESSION then
        tally(deadline_us, -1)
    else
        forget_end(id)
        if kind then
            leave_line(id, kind, third >= LATE)
        end
    end
    tally(pass.expires_us, 1)
    room.ending = room.ending + (is_ending and 1 or 0) - (pass.is_ending and 1 or 0)
    if not pass.has_slot then
        networks.add_slot(id, 1)
    end
    if is_counted ~= (pass.is_counted or false) then
        networks.count(id, is_counted and 1 or -1)
    end
end

-- Returns whether the room of a site may extend sessions: it has a lease, and a slot for each of its
-- visitors. Slots from before a loss count, too, because they belong to visitors who may be among
-- these. Counters apply to new visitors only.
local function may_prolong()
    if room.site.counters then
        return true
    end
    return is_leased() and active() <= room.total_active_users + room.site.slots.ghosts
end

-- Continues a session. It is extended to a full lifetime from now, unless the rules give sessions a fixed
-- length, or it gives way to visitors in line: because it would last longer than the longest visit, or
-- because it is above the share of its network and a visitor of another network waits. No more
-- sessions give way than visitors wait.
local function prolong(id, pass)
    local until_us, is_ending = pass.expires_us, false
    if room.session_renewal ~= 'fixed' and (not room.site or may_prolong()) then
        until_us = math.max(until_us, room.now_us + room.lifetime_us)
    end
    local crowded, places = networks.crowded(id, pass.is_counted)
    local is_wanted = crowded and room.places > places
    local is_long = room.longest_visit_us and until_us > pass.accepted_us + room.longest_visit_us
    -- The end of a session frees no slot at a site that counts new visitors.
    if (is_wanted or is_long) and until_us > pass.expires_us
        and not (room.site and room.site.counters) then
        room.present = room.present or redis.call('ZCARD', PRESENT)
        local free = math.max(room.total_active_users - active(), 0)
        is_ending = room.ending - (pass.is_ending and 1 or 0) + free < room.present
    end
    pass.expires_us = is_ending and pass.expires_us or until_us
    hold(id, pass, not crowded, is_ending)
end

-- Returns whether the session of a pass is resumed if the room does not know about the pass.
--
-- A room that pauses after a loss restricts passes from before the loss. During the pause, an
-- earlier pass shows how long other passes may be valid, and the pause is extended accordingly.
-- After the pause, an earlier pass needs a free slot.
local function can_take_up(pass, last_check_in_us)
    local site = room.site
    if site and site.counters then
        return true
    elseif site and site.slots.ghosts > 0 then
        -- The slot of the visitor is one of those that have been kept since the loss.
        site.slots.ghosts, room.total_active_users = site.slots.ghosts - 1, room.total_active_users + 1
        room.is_site_changed = true
        return true
    elseif site then
        return active() < room.total_active_users
    elseif room.hold_us == 0 or last_check_in_us >= room.since_us then
        return true
    elseif room.now_us < room.hold_until_us then
        local until_us = room.since_us + pass.expires_us - last_check_in_us
        room.hold_until_us = math.max(room.hold_until_us, until_us)
        return true
    end
    return room.queueing_method == 'passthrough' or active() < room.total_active_users
end

-- Returns the reply that admits a visitor with the session `pass`.
local function pass_reply(pass, reason)
    return {'admit', reason, pass.bucket, pass.accepted_us, pass.expires_us}
end
