-- The accounts of a site, whose room shares its limits with the rooms of other sites. In every other
-- room, `room.site` is nil. The counterpart of an account is `SiteLedger` in `waiting-room-ledger`.
--
-- The field `site` of the room contains:
--
--   slots              the account of the limit on active visitors
--   minute             the account of the limit on new visitors, whose slots are places in the minute;
--                      nil if that limit is the site's own, as in the rules
--   agent, agent_until_us   the node that talks to the global ledger, and until when
--   doors              for each node: {visitors who wait for a slot at its door, until when}
--   counters           in place of the accounts, if the sites count instead of holding slots:
--       minute, taken, last   the calendar minute, the visitors whom the room has admitted in it, and
--                             those of the minute before
--       slots, anywhere, knows_world   the slots of the site and Anywhere's in this minute, and
--                             whether they were computed from a recent snapshot
--       tickets, is_dry       the slots that were drawn from Anywhere's, and whether none is left
--       plans                 {minute, slots, anywhere, knows_world} for this minute and the next
--       ceiling               the slots that the site could use if no other site took any
--
-- An account contains:
--
--   incarnation        16 hexadecimal digits, or '' until a node has proposed one
--   term               the highest term of the global ledger that the site knows
--   epoch_term, epoch_count   the epoch of the account or, without one, the newest known epoch
--   has_account        whether there is an account
--   granted, returned  the totals of slots in this epoch; the difference is the allowance
--   lease_end_us       the end of the lease
--   heard_us           the send time of the message that the newest grant replies to
--   reserve            the number of unused slots that the site may keep
--   recalled_until_us  the time until which unused slots are given back at once
--   ghosts             slots that visitors from before a loss may have, until ghosts_until_us
--   promised           slots that were granted for visitors who are about to take them, until
--                      promised_until_us
--   wanted             the number of slots that may be promised with the next grant, since the last report
--   demand, arrivals, demand_since_us   the moving average of new visitors per 1000 seconds
--   held_us            in `minute` only: the time for which a place is held

-- Returns an account that was never opened.
local function new_account()
    return {
        incarnation = '', term = 0, epoch_term = 0, epoch_count = 0, has_account = false,
        granted = 0, returned = 0, lease_end_us = 0, heard_us = 0, reserve = 0,
        recalled_until_us = 0, ghosts = 0, ghosts_until_us = 0, promised = 0,
        promised_until_us = 0, wanted = 0, demand = 0, arrivals = 0, demand_since_us = room.now_us,
    }
end

-- Takes the slots of the current minute from the plan for it, if there is one.
local function use_plan()
    local counters = room.site.counters
    for _, plan in ipairs(counters.plans) do
        if plan[1] == counters.minute then
            counters.slots, counters.anywhere, counters.knows_world = plan[2], plan[3], plan[4]
        end
    end
end

-- If a calendar minute has begun, begins to count again, with the slots that are planned for it. These
-- slots do not change during the minute, because visitors who are admitted in that minute are not in
-- the snapshot.
local function turn_minute()
    local counters, minute = room.site.counters, math.floor(room.now_us / MINUTE_US)
    if minute == counters.minute then
        return
    end
    counters.last = minute == counters.minute + 1 and counters.taken or 0
    counters.minute, counters.taken, counters.tickets, counters.is_dry = minute, 0, 0, false
    counters.slots, counters.anywhere, counters.knows_world = 0, 0, false
    use_plan()
    room.is_site_changed = true
end

-- Returns whether the slots of an account may be used.
local function has_lease(account)
    return account.has_account and room.now_us < account.lease_end_us
end

-- Returns whether the site may extend sessions. Counting needs no lease.
local function is_leased()
    return room.site.counters or has_lease(room.site.slots)
end

-- Returns the slots of an account that the site may use. Without a lease, there are none.
local function allowance(account)
    if account.ghosts > 0 and account.ghosts_until_us <= room.now_us then
        account.ghosts = 0
    end
    return has_lease(account) and account.granted - account.returned - account.ghosts or 0
end

-- Sets the limits of the room to what the site may use.
local function use_allowances()
    local site = room.site
    if site.counters then
        turn_minute()
        -- The limit on new visitors applies to all sites together, and is part of the plan.
        room.total_active_users, room.new_users_per_minute = site.counters.ceiling, nil
        return
    end
    room.total_active_users = allowance(site.slots)
    if site.minute then
        room.new_users_per_minute, room.held_us = allowance(site.minute), site.minute.held_us
    end
end

-- Begins to use the accounts. Only the rules of a site's room have no slots. If such a room has no
-- accounts, it was lost, or has just been opened.
local function open_site()
    room.site = room.site or {slots = new_account(), agent = '', agent_until_us = 0, doors = {}}
    use_allowances()
end

-- After a loss, begins a new life of the site in an account, because other sites may have received
-- the site's slots in the meantime. A node proposes another incarnation with its next report.
local function begin_life(account)
    local term, epoch_term, epoch_count = account.term, account.epoch_term, account.epoch_count
    for field, value in pairs(new_account()) do
        account[field] = value
    end
    account.term, account.epoch_term, account.epoch_count = term, epoch_term, epoch_count
end

-- Begins a new life of the site in all accounts.
local function restart_site()
    local site = room.site
    begin_life(site.slots)
    if site.minute then
        begin_life(site.minute)
    end
    site.counters, site.agent, site.agent_until_us, site.doors = nil, '', 0, {}
    room.is_site_changed = true
    use_allowances()
end
