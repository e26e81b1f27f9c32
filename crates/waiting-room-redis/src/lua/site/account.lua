-- The accounts of a site: what it gives back, what it asks for, and what it hears. The counterpart of
-- this file is `model/site` in `waiting-room-ledger`. The two are compared with each other.
--
-- A new visitor needs a slot and, if the sites share the limit on new visitors, a place in the minute.
-- The site always asks for them in the same order: for a slot only once there is a place for it. Two
-- sites therefore never each hold what the other one waits for.
--
-- Only counters are read, so a script takes no longer in a room with a million visitors.

-- If there is no order across sites, because the line is random or the sites count, slots are requested
-- for only this many visitors in line, or for as many as are admitted within SOON_S seconds if that is
-- more. Each site then gets a few slots in turn.
local FEW = 8
local SOON_S = 3
-- How long a granted slot is kept for a visitor in line. At the front of the line, visitors check in every
-- two seconds plus jitter, rounded up to three.
local PROMISE_US = 4 * 1000000
-- The time constant of the demand, and the shortest time between two updates, in milliseconds.
local MEMORY_MS = 10000
local SHORTEST_MS = 100

-- Returns the site, whose accounts begin with the first report.
local function site_of_room()
    if not room.site then
        open_site()
    end
    room.is_site_changed = true
    return room.site
end

-- Calls a function with each account: first that of the minute, see the head of this file.
local function for_each_account(act)
    if room.site.minute then
        act(room.site.minute)
    end
    act(room.site.slots)
end

-- Lets `active` count without removing lapsed sessions.
local function look_at_lapses()
    local first = redis.call('ZRANGE', DEADLINES, 0, 0, 'WITHSCORES')[2]
    if first and tonumber(first) <= room.now_us then
        room.behind_us = tonumber(first)
    end
end

-- Returns the number of slots of an account that are in use. Neither `hear` nor `report` admits a
-- visitor, so the admissions that count are searched for once.
local new_visitors
local function used_slots(account)
    if account == room.site.slots then
        return active()
    end
    new_visitors = new_visitors or count_since(room.now_us - account.held_us)
    return new_visitors
end

-- Returns the number of slots that are neither in use nor kept for visitors from before a loss.
local function unused_slots(account)
    return math.max(account.granted - account.returned - used_slots(account) - account.ghosts, 0)
end

-- Returns the number of unused slots of an account that may be used.
local function free_in(account)
    return has_lease(account) and unused_slots(account) or 0
end

-- Returns the number of visitors who may enter now.
local function free_for_visitors()
    local site = room.site
    if site.counters then
        return free_slots()
    elseif site.minute then
        return math.min(free_in(site.slots), free_in(site.minute))
    end
    return free_in(site.slots)
end

-- Returns the number of visitors in line who would enter if there were enough slots.
local function who_would_enter()
    local line, is_random = redis.call('ZCARD', PRESENT), room.queueing_method == 'random'
    if line > 0 and (is_random or room.site.counters) then
        -- Once the slots of a minute are taken, a site that counts admits few visitors, but when the next
        -- minute begins, all of its slots are free.
        local rate = is_random and per_second() or math.max(per_second(), room.rate)
        line = math.min(line, math.max(FEW, math.ceil(rate * SOON_S)))
    end
    if line > 0 and room.new_users_per_minute and not room.site.minute then
        line = math.max(math.min(line, room.new_users_per_minute - count_since(room.now_us - MINUTE_US)), 0)
    end
    return line
end

-- Returns the number of visitors who are about to take a slot, and how many of them are at the doors of
-- the nodes. The others are in line.
local function about_to_enter()
    local count, doors = 0, {}
    for node, door in pairs(room.site.doors) do
        if door[2] > room.now_us then
            doors[node] = door
            count = count + door[1]
        end
    end
    room.site.doors = doors
    local is_shut = room.mode == 'queue_all' or room.now_us < room.hold_until_us
    if is_shut or not room.site.minute and not conforms(0) then
        return 0, 0
    end
    return count + who_would_enter(), count
end

-- Returns how many of the visitors who are about to enter need slots of an account. They need places
-- in the minute only while there is a lease on slots, and slots only if there are places for them.
local function who_need(account, visitors)
    local site = room.site
    if account == site.minute then
        return has_lease(site.slots) and visitors or 0
    end
    return site.minute and math.min(visitors, free_in(site.minute)) or visitors
end

-- Returns whether unused slots have to be given back at once, because a visitor waits elsewhere.
local function is_recalled(account)
    return account.has_account and room.now_us < account.recalled_until_us
end

-- Returns the number of slots that visitors may take. While visitors wait at other sites, these are only the
-- slots that were granted for visitors of this site. Any place in the minute may be taken, because it also
-- needs such a slot.
local function usable_slots(account)
    if account == room.site.slots and is_recalled(account) then
        return account.promised
    end
    return free_in(account)
end

-- Returns the number of slots to give back: those beyond the reserve and beyond the visitors who
-- need them. While a visitor waits elsewhere, only slots that were granted for visitors of this site
-- are kept for them.
local function surplus(account, visitors)
    local needed, unused = who_need(account, visitors), unused_slots(account)
    local is_over = account.promised_until_us <= room.now_us or not has_lease(account)
    account.promised = is_over and 0 or math.min(account.promised, unused, needed)
    local others = is_recalled(account) and 0 or needed - account.promised
    return math.max(unused - account.promised - math.max(account.reserve, others), 0)
end

-- Gives back the slots that are not needed. From now on, these slots are not used here, so they may
-- be reported as returned.
local function give_back_surplus(account, visitors)
    account.returned = account.returned + surplus(account, visitors)
    use_allowances()
end

-- Gives back what has been recalled, and returns the same as `about_to_enter`.
local function advance_accounts()
    look_at_lapses()
    local visitors, at_doors = about_to_enter()
    for_each_account(function(account)
        if is_recalled(account) then
            give_back_surplus(account, visitors)
        end
    end)
    return visitors, at_doors
end

-- Updates the demand if enough time has passed, and returns it.
local function demand_now(account)
    local elapsed = math.floor((room.now_us - account.demand_since_us) / 1000)
    if elapsed >= SHORTEST_MS then
        local sum = account.demand * MEMORY_MS + account.arrivals * 1000000
        account.demand = math.floor(sum / (MEMORY_MS + elapsed))
        account.arrivals, account.demand_since_us = 0, room.now_us
    end
    return account.demand
end
