-- The removal of lapsed sessions and places, and the search for the record of a visitor.

-- Ends a session that has lapsed.
local function end_session(id, session)
    drop(id)
    release(id, session)
    -- Tickets that led to the session may still be valid, but must not lead to another session. See
    -- `tickets_void_after` in the core.
    local forget_us = session.accepted_us + 3 * room.place_retention_us
    if forget_us > room.now_us then
        remember_end(id, session.expires_us, forget_us, 'lapsed')
    end
end

-- Handles a record whose deadline has passed: a session ends, a visitor who has missed its check-in
-- goes away, and a visitor who has been away for too long loses its place.
local function lapse(id, kind, deadline_us, second, third)
    if kind == SESSION then
        end_session(id, session_of(deadline_us, second, third))
    elseif kind == PRESENT_PLACE and second > room.now_us then
        go_away(id, second, third)
    else
        drop(id)
        abandon_line(id, kind, third >= LATE)
    end
end

-- Returns what the room knows about a visitor, or nothing if the visitor has no record: the session or
-- nil, the kind of the record and, for a visitor in line, the arrival and whether the place is late. A
-- lapsed record of this visitor is handled first, even if many other records have lapsed.
local function visitor(id)
    local _, page, at = find(id)
    if not at then
        return nil
    end
    local kind, deadline_us, second, third = record_at(page, at)
    if deadline_us <= room.now_us then
        lapse(id, kind, deadline_us, second, third)
        return visitor(id)
    elseif kind == SESSION then
        return session_of(deadline_us, second, third), kind
    end
    return nil, kind, arrival_of(third)
end

-- Admits a visitor who is already active, and continues the session `pass`.
local function admit_again(id, pass)
    prolong(id, pass)
    return pass_reply(pass, 'active')
end

-- Removes those of the earliest records of ended sessions that are no longer needed. A later record
-- waits until the earlier ones are removed, but has no effect from then on. Returns whether more of
-- them may be left.
local function clear_ended()
    if room.next_forget_us > room.now_us then
        return false
    end
    local earliest = redis.call('ZRANGE', ENDED, 0, CLEARED_AT_ONCE - 1)
    local entries = earliest[1] and redis.call('HMGET', VOIDS, unpack(earliest)) or {}
    local next_us, is_any = 2 ^ 52, false
    for i, id in ipairs(earliest) do
        local forget_us = entries[i] and cmsgpack.unpack(entries[i])[3] or 0
        if forget_us <= room.now_us then
            forget_end(id)
            is_any = true
        else
            next_us = math.min(next_us, forget_us)
        end
    end
    room.next_forget_us = is_any and room.now_us or next_us
    return is_any
end

-- Handles the lapsed records of one page, and sets the page's score to its first deadline.
local function clear_page(number)
    local page = pages[number]
    local first_us = first_deadline_us(page)
    if first_us <= room.now_us then
        for at = HEADER + 1, #page, RECORD do
            local kind, deadline_us, second, third = record_at(page, at)
            if deadline_us <= room.now_us then
                lapse(string.sub(page, at, at + ID - 1), kind, deadline_us, second, third)
            end
        end
        page = pages[number]
        first_us = first_deadline_us(page)
    end
    -- A score may be left over without a page.
    set_page(number, page ~= '' and header(number, first_us) .. string.sub(page, HEADER + 1) or '')
end

-- Lets the rest of the script run even if the server has no free memory. Once a script has written
-- something, the server no longer refuses commands that may need memory. This write changes nothing,
-- since no page has an empty name.
local function write_without_free_memory()
    redis.call('ZREM', DEADLINES, '')
end

-- Follows the schedule, lets late places enter, and then handles lapsed sessions and places, in up to
-- PAGES_AT_ONCE pages. Returns whether more lapsed entries may be left.
local function clear()
    follow_schedule()
    let_in()
    local is_more = clear_ended()
    local due = redis.call('ZRANGEBYSCORE', DEADLINES, '-inf', digits(room.now_us), 'WITHSCORES',
        'LIMIT', 0, PAGES_AT_ONCE + 1)
    local wanted = {}
    for i = 1, math.min(#due, 2 * PAGES_AT_ONCE), 2 do
        table.insert(wanted, (struct.unpack('>I3', due[i])))
    end
    if wanted[1] then
        write_without_free_memory()
    end
    read_pages(wanted)
    local leaving = {}
    for _, number in ipairs(wanted) do
        local page = pages[number]
        for at = HEADER + 1, #page, RECORD do
            if struct.unpack('>I7', page, at + ID + 1) <= room.now_us then
                leaving[#leaving + 1] = string.sub(page, at, at + ID - 1)
            end
        end
    end
    networks.read(leaving)
    for _, number in ipairs(wanted) do
        clear_page(number)
    end
    room.behind_us = tonumber(due[2 * PAGES_AT_ONCE + 2])
    return is_more or room.behind_us ~= nil
end

-- Decides on each visitor in ARGV, and returns the replies. `format` describes the arguments after
-- the visitor's id; `decide` also gets the position of the bytes that follow them, and the whole
-- argument. `proofs_may_be_void` says whether `decide` looks for ended sessions.
local function for_each_visitor(format, decide, proofs_may_be_void)
    local ids, replies = {}, {}
    for i = 2, #ARGV do
        ids[i - 1] = string.sub(ARGV[i], 1, ID)
    end
    room.visitors = ids
    read_visitors(ids)
    if current_draw() and ids[1] then
        read_entrants(ids)
    end
    if proofs_may_be_void then
        read_voids(ids)
    end
    for i = 2, #ARGV do
        room.argument = ARGV[i]
        replies[i - 1] = decide(ids[i - 1], struct.unpack(format, ARGV[i], ID + 1))
    end
    return replies
end
