-- The end of every operation, which writes the state of the room and builds the reply.

-- Writes the fields of the room that any operation may have changed. Returns the whole reply, which
-- consists of the head and the `replies` for the visitors.
local function close(replies)
    local rate, spread = per_second(), dispersion()
    local set, gone = changed_tallies()
    add_changed_entrants(set, gone)
    networks.write()
    write_pages(set, gone)
    write_admissions()
    local counts = count_keys()
    keep_new(counts)
    redis.call('HSET', ROOM,
        'counts', cmsgpack.pack(counts), 'losses', digits(room.losses),
        'since_us', digits(room.since_us), 'hold_until_us', digits(room.hold_until_us),
        'last_us', digits(room.last_us), 'skew_us', digits(room.skew_us),
        'server', room.server, 'checked_us', digits(room.checked_us),
        'version', digits(room.version), 'pace', cmsgpack.pack(room.pace))
    local ends = cmsgpack.pack({room.watermark_us, room.next_forget_us})
    if ends ~= room.ends then
        redis.call('HSET', ROOM, 'ends', ends)
    end
    if room.course then
        redis.call('HSET', ROOM, 'course', cmsgpack.pack(room.course))
    end
    if room.is_site_changed then
        redis.call('HSET', ROOM, 'site', cmsgpack.pack(room.site))
    end
    local head = {
        room.now_us, room.since_us, room.version, redis.call('ZCARD', PRESENT),
        string.format('%.17g', rate), string.format('%.17g', spread), room.losses,
    }
    return {head, replies}
end
