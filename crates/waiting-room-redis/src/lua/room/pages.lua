-- The records of a room's visitors: the sessions of active visitors, and the places in line.
--
-- A visitor has at most one record, of 38 bytes, with its numbers most significant byte first:
--
--   id 16 | kind 1 | deadline 7 | second number 7 | third number 7
--
--   kind     deadline        second number   third number
--   SESSION  expires_us      accepted_us     the minute of arrival and flags, see sessions.lua
--   PRESENT  the end of presence, in us      kept_us        arrival_us
--   AWAY     kept_us         kept_us         arrival_us; for a late place, plus LATE
--
-- About eight records share a page, because a field of a hash, or a member of a sorted set, would
-- cost more memory than a record. A page is a field of VISITORS, whose name is the number of the
-- page in 3 bytes. A page begins with its score in DEADLINES, in 7 bytes. This time is not later
-- than the first deadline in the page. Prolonging a record leaves the score as it is, so a page may
-- be looked at before one of its records is due, and then gets its first deadline as the new score.
--
-- The number of a page follows from the lowest 32 bits of the id. The pages are split one at a time
-- as the number of records grows (linear hashing).
--
-- A script reads each page once, and writes the changed pages in `write_pages`. Names and numbers
-- are packed because decimal digits take several times as long.

local SESSION, PRESENT_PLACE, AWAY_PLACE = 'S', 'P', 'A'
local HEADER, RECORD, ID = 7, 38, 16
-- The numbers that are written together with the pages. `entered` is the number of places that have
-- entered the line, without those that were given up. `late` is the number of late places,
-- `ending` that of sessions that give way to visitors in line. The last ones are those of networks.lua.
local SIZES = {'active', 'places', 'records', 'pages', 'entered', 'looked', 'late', 'ending',
    'generation', 'known_places', 'most_places', 'known_slots', 'most_slots'}
-- The mean number of records in a page, above which a page is split.
local PER_PAGE = 8

-- By the number of a page: the pages that this script has read, those that it has changed, and the
-- new scores of pages in DEADLINES. By the id of a visitor: the number of its page.
local pages, changed, scores, numbers = {}, {}, {}, {}

-- Returns the name of a page, its field of VISITORS and its member of DEADLINES.
local function name_of(number)
    return struct.pack('>I3', number)
end

-- Returns the number of the page with the record of a visitor. Pages below `pages - level` and from
-- `level` on are already split: they are told apart by one more bit than the others.
local function page_of(id)
    local number = struct.unpack('>I4', id, ID - 3) % (2 * room.level)
    return number < room.pages and number or number - room.level
end

-- Sets the number of pages, and the largest power of two up to this number.
local function set_pages(count)
    local _, exponent = math.frexp(count)
    room.pages, room.level = count, 2 ^ (exponent - 1)
end

-- Reads the pages with these numbers that have not been read yet.
local function read_pages(wanted)
    local missing, names = {}, {}
    for _, number in ipairs(wanted) do
        if not pages[number] then
            pages[number] = ''
            missing[#missing + 1], names[#names + 1] = number, name_of(number)
        end
    end
    if missing[1] then
        for i, page in ipairs(redis.call('HMGET', VISITORS, unpack(names))) do
            pages[missing[i]] = page or ''
        end
    end
end

-- Reads the pages of these visitors.
local function read_visitors(ids)
    local wanted = {}
    for i, id in ipairs(ids) do
        numbers[id] = page_of(id)
        wanted[i] = numbers[id]
    end
    read_pages(wanted)
end

-- Returns the number of a visitor's page, the page, and the position of the visitor's record in it,
-- or nil if the visitor has no record.
local function find(id)
    local number = numbers[id] or page_of(id)
    local page = pages[number]
    if page == '' then
        return number, page, nil
    end
    local at = string.find(page, id, HEADER + 1, true)
    -- The bytes of an id may also occur at the border of two records.
    while at and (at - HEADER - 1) % RECORD ~= 0 do
        at = string.find(page, id, at + 1, true)
    end
    return number, page, at
end

-- Returns the kind, the deadline, and the other two numbers of the record at this position.
local function record_at(page, at)
    return struct.unpack('>c1I7I7I7', page, at + ID)
end

-- Replaces a page.
local function set_page(number, page)
    pages[number], changed[number] = page, true
end

-- Sets the score of a page, and returns its first bytes.
local function header(number, deadline_us)
    scores[number] = deadline_us
    return struct.pack('>I7', deadline_us)
end

-- Adds a visitor's record or replaces it, and returns the kind, the deadline and the third number of
-- the replaced record.
local function put(id, kind, deadline_us, second, third)
    local number, page, at = find(id)
    local record = struct.pack('>c16c1I7I7I7', id, kind, deadline_us, second, third)
    local old_kind, old_us, old_third, _
    if at then
        old_kind, old_us, _, old_third = record_at(page, at)
        page = string.sub(page, 1, at - 1) .. record .. string.sub(page, at + RECORD)
    else
        room.records = room.records + 1
        page = (page == '' and header(number, deadline_us) or page) .. record
    end
    -- A page whose record is prolonged keeps its score.
    if deadline_us < (old_us or math.huge) and deadline_us < struct.unpack('>I7', page) then
        page = header(number, deadline_us) .. string.sub(page, HEADER + 1)
    end
    pages[number], changed[number] = page, true
    return old_kind, old_us, old_third
end

-- Removes a visitor's record.
local function drop(id)
    local number, page, at = find(id)
    page = string.sub(page, 1, at - 1) .. string.sub(page, at + RECORD)
    set_page(number, #page > HEADER and page or '')
    room.records = room.records - 1
end

-- Returns the first deadline of the records in a page.
local function first_deadline_us(page)
    local first_us = math.huge
    for at = HEADER + 1 + ID + 1, #page, RECORD do
        local deadline_us = struct.unpack('>I7', page, at)
        if deadline_us < first_us then
            first_us = deadline_us
        end
    end
    return first_us
end

-- Adds a page, and moves to it the records that now belong to it, all from one other page. Both
-- pages keep the score.
local function split_page()
    local new = room.pages
    local old = new - room.level
    read_pages({old})
    local page = pages[old]
    set_pages(new + 1)
    local parts = {[old] = {}, [new] = {}}
    for at = HEADER + 1, #page, RECORD do
        local record = string.sub(page, at, at + RECORD - 1)
        table.insert(parts[page_of(record)], record)
    end
    local head = string.sub(page, 1, HEADER)
    for number, records in pairs(parts) do
        set_page(number, records[1] and head .. table.concat(records) or '')
    end
    if parts[new][1] then
        scores[new] = scores[old] or struct.unpack('>I7', head)
    end
end

-- Writes the changed pages. `fields` and `gone` are further fields of VISITORS to set and to
-- delete.
--
-- The sizes are written together with the pages: if the first of these commands does not fail, none
-- of the others can. A script that stops elsewhere therefore leaves sizes that agree with the
-- pages.
local function write_pages(fields, gone)
    while room.records > room.pages * PER_PAGE do
        split_page()
    end
    local empty, due = {}, {}
    for number in pairs(changed) do
        if pages[number] == '' then
            empty[#empty + 1] = name_of(number)
            gone[#gone + 1] = empty[#empty]
        else
            local name = name_of(number)
            table.insert(fields, name)
            table.insert(fields, pages[number])
            if scores[number] then
                table.insert(due, digits(scores[number]))
                table.insert(due, name)
            end
        end
    end
    -- A room without visitors begins with one page again.
    if room.records == 0 then
        set_pages(1)
    end
    local sizes = {}
    for i, name in ipairs(SIZES) do
        sizes[i] = room[name]
    end
    redis.call('HSET', ROOM, 'sizes', cmsgpack.pack(sizes))
    if fields[1] then
        redis.call('HSET', VISITORS, unpack(fields))
    end
    if gone[1] then
        redis.call('HDEL', VISITORS, unpack(gone))
    end
    if empty[1] then
        redis.call('ZREM', DEADLINES, unpack(empty))
    end
    if due[1] then
        redis.call('ZADD', DEADLINES, unpack(due))
    end
end
