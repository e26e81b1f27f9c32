-- The state of a room, which is read from its hash, and the handling of lost data.

-- Reads the rules from the values of FIELDS, which all scripts begin with. The value of a limit that
-- does not apply is empty, and is read as nil.
local function read_rules(values)
    for i, name in ipairs(FIELDS) do
        local value = values[i]
        room[name] = tonumber(value) or value ~= '' and value or nil
    end
    if room.site and room.now_us then
        use_allowances()
    end
end

-- Sets the numbers of SIZES. Those without a value are zero.
local function read_sizes(sizes)
    for i, name in ipairs(SIZES) do
        room[name] = sizes[i] or 0
    end
    set_pages(room.pages)
end

-- Reads the room, and returns whether the room exists. A room with the layout of another release is
-- refused, because a script could misread its keys.
local function open()
    local state = redis.call('HMGET', ROOM, 'since_us', 'hold_until_us', 'last_us', 'skew_us',
        'server', 'checked_us', 'version', 'pace', 'counts', 'losses', 'sizes', 'layout',
        'course', 'site', 'ends', unpack(FIELDS))
    if not state[1] then
        return false
    elseif state[12] ~= LAYOUT then
        error('the room has layout ' .. tostring(state[12]) .. ' of another release')
    end
    room.since_us, room.hold_until_us = tonumber(state[1]), tonumber(state[2])
    room.last_us, room.skew_us = tonumber(state[3]), tonumber(state[4])
    room.server, room.checked_us = state[5], tonumber(state[6])
    room.version, room.pace = tonumber(state[7]), cmsgpack.unpack(state[8])
    room.counts, room.losses = cmsgpack.unpack(state[9]), tonumber(state[10])
    read_sizes(cmsgpack.unpack(state[11]))
    room.course = state[13] and cmsgpack.unpack(state[13])
    room.site = state[14] and cmsgpack.unpack(state[14])
    -- The watermark of the ends that had to be forgotten, see `ended`, and a time before which no end
    -- is due to be forgotten.
    room.ends = state[15]
    room.watermark_us, room.next_forget_us = unpack(cmsgpack.unpack(room.ends))
    read_rules({unpack(state, 16, 15 + #FIELDS)})
    room.now_us = read_clock()
    if room.site or room.total_active_users == 0 then
        open_site()
    end
    return true
end

-- Returns a version that has never been used, not even by writes that a server has lost. The
-- version is at least the current time.
local function next_version()
    return math.max(room.version + 1, room.now_us)
end

-- Restarts the room's memory after a loss. The remaining data is kept, and earlier passes count
-- again when they are presented.
local function begin_anew()
    room.since_us = room.now_us
    room.hold_until_us = room.now_us + room.hold_us
    if room.site then
        restart_site()
    end
end

-- Restarts the room's memory if the server has a new run id, because the server may have lost the
-- latest writes. INFO takes time, so it is called at most once every 50 ms. In the room of a site,
-- however, every script calls it, because a lost write could have given slots to another site.
local function check_server()
    if not room.site and room.now_us - room.checked_us < CHECK_SERVER_EVERY_US then
        return
    end
    room.checked_us = room.now_us
    local server = server_id()
    if server ~= room.server then
        room.server = server
        room.version = next_version()
        begin_anew()
    end
end

-- Handles the loss of a server or of keys of the room since the last script.
local function check_losses()
    check_server()
    if has_lost_keys() then
        room.losses = room.losses + 1
        begin_anew()
    end
end
