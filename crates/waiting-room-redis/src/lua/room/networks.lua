-- The shares of networks, and what the visitors of each network hold. The counterparts of this file in
-- the core are `room/networks.rs` and `Shares` in `room/options.rs`.
--
-- The narrow network of a visitor is in bytes 3 to 8 of its id, the middle one in bytes 3 to 6, and the
-- wide one in bytes 3 and 4, which are zero if the network is unknown. For each of the three, a field of
-- NETWORKS contains four numbers:
--
--   places, slots   the places in line, and the sessions
--   counted         the sessions that are within the share
--   next            the number of places, in UNITs, that have to enter the line before the network may
--                   have another place without using its burst
--
-- The field 'p' or 's' + a number of 4 bytes contains how many narrow networks hold that number of
-- places or slots, if it is not 1. The largest of these numbers are sizes of the room, as is
-- `generation`, see `restart`.
--
-- A script that needs a number reads those of all its visitors at once, and writes the changed ones
-- in `close`.

-- The number of units in which a place is divided, for shares that are no whole parts.
local UNIT = 1024
local networks = {}

-- Opens a block, because a function in Lua has at most 200 local variables.
do
    local PLACES, SLOTS, COUNTED, NEXT = 1, 2, 3, 4
    -- The maximum number of fields in one command.
    local AT_ONCE = 1000
    local NAMES = {'p', 's'}
    local MOST, KNOWN = {'most_places', 'most_slots'}, {'known_places', 'known_slots'}
    -- The usage of each network that this script has read, by its field, the fields as they are stored,
    -- and the changes in the number of networks that hold a number of places or slots.
    local usages, stored, resized = {}, {}, {{}, {}}

    -- Reads the usage of the networks of these visitors.
    function networks.read(ids)
        local missing = {}
        for _, id in ipairs(ids) do
            for last = string.sub(id, 3, 4) ~= '\0\0' and 8 or 0, 4, -2 do
                local field = string.sub(id, 3, last)
                if not usages[field] then
                    usages[field] = {0, 0, 0, 0}
                    missing[#missing + 1] = field
                end
            end
        end
        for first = 1, #missing, AT_ONCE do
            local fields = {unpack(missing, first, math.min(first + AT_ONCE - 1, #missing))}
            for i, entry in ipairs(redis.call('HMGET', NETWORKS, unpack(fields))) do
                if entry then
                    usages[fields[i]], stored[fields[i]] = cmsgpack.unpack(entry), entry
                end
            end
        end
    end

    -- Returns the usage of a visitor's network at each level, the narrow one first, or nil if the
    -- network is unknown.
    local function usages_of(id)
        if string.sub(id, 3, 4) == '\0\0' then
            return nil
        elseif not usages[string.sub(id, 3, 8)] then
            networks.read(room.visitors or {})
            networks.read({id})
        end
        return {usages[string.sub(id, 3, 8)], usages[string.sub(id, 3, 6)], usages[string.sub(id, 3, 4)]}
    end

    -- Changes a number of a visitor's network at each level.
    local function add(id, what, change)
        local used = usages_of(id)
        local before = used and used[1][what]
        for _, usage in ipairs(used or {}) do
            usage[what] = math.max(usage[what] + change, 0)
            if usage[PLACES] == 0 then
                usage[NEXT] = 0
            end
        end
        local after = used and used[1][what]
        if before ~= after and what ~= COUNTED then
            local sizes = resized[what]
            sizes[before], sizes[after] = (sizes[before] or 0) - 1, (sizes[after] or 0) + 1
            room[KNOWN[what]] = room[KNOWN[what]] + after - before
        end
    end

    function networks.add_place(id, change)
        add(id, PLACES, change)
    end

    function networks.add_slot(id, change)
        add(id, SLOTS, change)
    end

    function networks.count(id, change)
        add(id, COUNTED, change)
    end

    -- Returns three shares, the narrow one first. Each is twice the one before, or more.
    local function nested(narrow, middle, wide)
        middle = math.max(narrow * 2, math.floor(middle))
        return {narrow, middle, math.max(middle, math.floor(wide))}
    end

    -- Returns the share of the slots at each level, or nil if no share is enforced.
    local function shares_of_slots()
        local total, narrow = room.total_active_users, room.shares
        if not narrow or room.shares_in_shadow then
            return nil
        elseif narrow == 'auto' then
            narrow = math.max(math.floor(math.min(total / 4, math.max(total / 32, 64))), 1)
        end
        return nested(narrow, 0, total / 2)
    end

    -- Returns the narrowest level at which the network of a visitor has all of its share of the slots
    -- without this visitor's session, which `is_counted` or not, and the number of places of the
    -- network at that level.
    function networks.crowded(id, is_counted)
        local shares = shares_of_slots()
        for level, usage in ipairs(shares and usages_of(id) or {}) do
            if usage[COUNTED] - (is_counted and 1 or 0) >= shares[level] then
                return level, usage[PLACES]
            end
        end
    end

    -- Returns whether the network of a visitor already has its number of places, at any level.
    function networks.is_full(id)
        local narrow, capacity = room.shares, room.line_capacity
        if narrow == 'auto' then
            narrow = math.min(math.max(room.total_active_users * 2, 100), 1000)
        end
        local most = narrow and nested(narrow, capacity / 8, capacity / 2)
        for level, usage in ipairs(most and usages_of(id) or {}) do
            if usage[PLACES] >= most[level] then
                return true
            end
        end
        return false
    end

    -- Calls a function for each level with the usage of a visitor's network, its share, the time of its
    -- next place, and the time between two places. A network is not charged for more places than it
    -- has in line.
    local function for_each_level(id, act)
        local shares, entered = shares_of_slots(), room.entered * UNIT
        for level, usage in ipairs(shares and usages_of(id) or {}) do
            local step = math.floor(room.total_active_users * UNIT / shares[level])
            local longest = entered + (usage[PLACES] + 1) * step
            act(usage, shares[level], math.min(math.max(usage[NEXT], entered), longest), step)
        end
    end

    -- Returns the number of entered places, in UNITs, at which a new place of a visitor may enter, if
    -- that many have not entered yet.
    function networks.late_order(id)
        local order = 0
        for_each_level(id, function(_, share, next, step)
            order = math.max(order, next - (share - 1) * step)
        end)
        return order > room.entered * UNIT and order
    end

    -- Charges the network of a visitor for a new place.
    function networks.charge(id)
        for_each_level(id, function(usage, _, next, step)
            usage[NEXT] = next + step
        end)
    end

    -- Forgets what the networks hold. Sessions of an earlier `generation` of the counts are counted
    -- when they are renewed, and earlier places never. A network thus has too much for a while. If the
    -- counts were too high, its visitors might be refused forever.
    function networks.restart()
        redis.call('DEL', NETWORKS)
        room.generation = (room.generation + 1) % 2 ^ 16
        room.known_places, room.known_slots, room.most_places, room.most_slots = 0, 0, 0, 0
    end

    -- Returns the largest number of places or slots that one narrow network holds.
    local function most(what)
        return room[KNOWN[what]] > 0 and math.max(room[MOST[what]], 1) or 0
    end

    -- Updates the numbers of narrow networks that hold a number of places or slots, and the largest of
    -- these. The last of the largest networks has become smaller by no more than the number of this script's
    -- visitors, which bounds the search.
    local function write_sizes(what)
        local counts, largest = {}, room[MOST[what]]
        local function field(size)
            return struct.pack('>c1I4', NAMES[what], size)
        end
        for size, change in pairs(resized[what]) do
            if size > 1 and change ~= 0 then
                counts[size] = redis.call('HINCRBY', NETWORKS, field(size), change)
                if counts[size] < 1 then
                    redis.call('HDEL', NETWORKS, field(size))
                else
                    largest = math.max(largest, size)
                end
            end
        end
        while largest > 1 and counts[largest] and counts[largest] < 1 do
            largest = largest - 1
            counts[largest] = counts[largest]
                or tonumber(redis.call('HGET', NETWORKS, field(largest)) or 0)
        end
        room[MOST[what]], resized[what] = largest, {}
    end

    -- Writes the numbers that have changed, and returns the largest numbers of slots and of places of
    -- one narrow network.
    function networks.write()
        local set, gone = {}, {}
        for field, usage in pairs(usages) do
            local entry = usage[PLACES] + usage[SLOTS] > 0 and cmsgpack.pack(usage) or nil
            if entry and entry ~= stored[field] then
                set[#set + 1], set[#set + 2] = field, entry
            elseif stored[field] and not entry then
                gone[#gone + 1] = field
            end
            stored[field] = entry
        end
        for command, values in pairs({HSET = set, HDEL = gone}) do
            for first = 1, #values, AT_ONCE do
                redis.call(command, NETWORKS,
                    unpack(values, first, math.min(first + AT_ONCE - 1, #values)))
            end
        end
        write_sizes(PLACES)
        write_sizes(SLOTS)
        return most(SLOTS), most(PLACES)
    end
end
