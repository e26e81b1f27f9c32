-- The account part of a site's ledger: what it gives back, what it asks for, and what it hears. The
-- counterpart of this file is `escrow/site` in `waiting-room-sites`, which it is compared with.
--
-- Only counters are read, so a script takes the same time in a room of a million visitors.

-- The number of visitors in line for whom slots are asked, unless more than that are admitted within
-- SOON_S seconds, if there is no order across sites: that of a random line, and that of sites that count.
-- Each site then gets a few slots in turn.
local FEW = 8
local SOON_S = 3
-- How long a granted slot is kept for a visitor in line. At the front of the line, visitors check in every
-- two seconds with jitter, which is rounded up to three.
local PROMISE_US = 4 * 1000000
-- The time constant of the demand, and the shortest time between two updates, in milliseconds.
local MEMORY_MS = 10000
local SHORTEST_MS = 100

-- Returns the account, which begins with the first report.
local function account()
    if not room.site then
        open_site()
    end
    room.is_site_changed = true
    return room.site
end

-- Lets `active` count without removing lapsed sessions.
local function look_at_lapses()
    local first = redis.call('ZRANGE', DEADLINES, 0, 0, 'WITHSCORES')[2]
    if first and tonumber(first) <= room.now_us then
        room.behind_us = tonumber(first)
    end
end

-- Returns the number of slots that are neither in use nor kept for visitors of before a loss.
local function unused_slots()
    local site = room.site
    if site.counters then
        return free_slots()
    end
    return math.max(site.granted - site.returned - active() - site.ghosts, 0)
end

-- Returns the number of visitors in line who would enter if there were enough slots.
local function who_would_enter()
    local line = redis.call('ZCARD', PRESENT)
    if line > 0 and (room.method == 'random' or room.site.counters) then
        line = math.min(line, math.max(FEW, math.ceil(per_second() * SOON_S)))
    end
    if line > 0 and room.minute then
        line = math.max(math.min(line, room.minute - count_since(room.now_us - MINUTE_US)), 0)
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
    if is_shut or not conforms(0) then
        return 0, 0
    end
    return count + who_would_enter(), count
end

-- Returns whether unused slots have to be given back at once, since a visitor waits elsewhere.
local function is_recalled()
    return room.site.has_account and room.now_us < room.site.recalled_until_us
end

-- Returns the number of slots to give back: those beyond the reserve and beyond the visitors who
-- are about to enter. While a visitor waits elsewhere, only slots that were granted for visitors of
-- this site are kept for them.
local function surplus(waiting)
    local site = room.site
    local is_over = site.promised_until_us <= room.now_us or not is_leased()
    site.promised = is_over and 0 or math.min(site.promised, unused_slots(), waiting)
    local others = is_recalled() and 0 or waiting - site.promised
    return math.max(unused_slots() - site.promised - math.max(site.reserve, others), 0)
end

-- Gives back `slots`. From now on they are not used here, so that they may be reported.
local function give_back(slots)
    room.site.returned = room.site.returned + slots
    use_allowance()
end

-- Gives back what has been recalled, and returns the same as `about_to_enter`.
local function advance_account()
    look_at_lapses()
    local waiting, at_doors = about_to_enter()
    if is_recalled() then
        give_back(surplus(waiting))
    end
    return waiting, at_doors
end

-- Updates the demand if enough time has passed, and returns it.
local function demand_now()
    local site = room.site
    local elapsed = math.floor((room.now_us - site.demand_since_us) / 1000)
    if elapsed >= SHORTEST_MS then
        local sum = site.demand * MEMORY_MS + site.arrivals * 1000000
        site.demand = math.floor(sum / (MEMORY_MS + elapsed))
        site.arrivals, site.demand_since_us = 0, room.now_us
    end
    return site.demand
end
