-- Gives back slots that the site does not need, and returns what the site reports to the global
-- ledger afterwards. The order matters: the global ledger never counts fewer slots for the site than
-- the site holds.
--
-- KEYS  the keys of the room, see head.lua
-- ARGV for each report, numbers and words with spaces between them: the name of the node, the
--       incarnation that begins if the site has none (16 hexadecimal digits), the new visitors at
--       the node since its last report, the visitors that wait at its door, how long that number
--       holds in microseconds, a lower bound on the time of the room's clock, as far as the node
--       knows, in microseconds, how long the node speaks for the site in microseconds, how long a
--       place in the minute is held in microseconds, or 0 if the limit on new visitors is the
--       site's own
-- reply for each report: {1 if the node speaks for the site, the number of visitors who may enter,
--       the account of slots, that of the minute, or {}, and what a site that counts has counted, or {}}
--       account: {incarnation, term, term of the epoch, count of the epoch, 1 if there is an account,
--       granted, returned, used, wanted, demand, lease_end_us, 1 if unused slots are recalled, the oldest
--       visitors who want slots, see front.lua}
--       counted: {active, minute, admitted in the previous minute, its tickets from Anywhere's
--       counter, all tickets that it wants, Anywhere's slots, 1 if they come from a recent snapshot,
--       1 if none is left}
-- time  the clock of the room

-- Ends a lease that is over by the clock of a node. The server's clock may have been set back, or
-- may have stood still.
local function judge(account, judged_us)
    if account.lease_end_us > room.now_us and account.lease_end_us <= judged_us then
        account.lease_end_us = room.now_us
        use_allowances()
    end
end

-- Returns whether this node speaks for the site. It does no harm if two nodes do so for a moment.
local function is_agent(node, until_us)
    local site = room.site
    if site.agent == node or site.agent_until_us <= room.now_us then
        site.agent, site.agent_until_us = node, until_us
    end
    return site.agent == node
end

-- Begins or ends the account of the minute, as the options of the node that speaks for the site
-- require. While nodes with other options are being replaced, the account therefore does not change
-- back and forth.
local function share_minute(held_us)
    local site = room.site
    if held_us == 0 then
        -- The limit in the rules applies from the next script on.
        site.minute = nil
        return
    end
    site.minute = site.minute or new_account()
    site.minute.held_us = held_us
    use_allowances()
end

-- Returns the number of slots in use, the number of wanted slots, and the front of the line. Slots are
-- wanted for the visitors in the front and at the doors. The first visitors in line take the slots that the
-- site already has.
local function count(account, visitors, at_doors)
    give_back_surplus(account, visitors)
    local held, taken = account.granted - account.returned, used_slots(account)
    local used = math.min(taken + account.ghosts, math.max(held, taken)) + account.promised
    -- Known visitors from before a loss are among the ghosts, too. No slots are requested until it
    -- is known which visitors are left.
    if account.ghosts > 0 and taken + account.ghosts > held then
        account.wanted = 0
        return used, 0, {}
    end
    local needed, usable = who_need(account, visitors), usable_slots(account)
    local front, in_front = front_of_line(usable, needed - at_doors - 1)
    local wanted = math.max(needed - usable, 0)
    if front[1] then
        wanted = math.min(wanted, in_front + at_doors)
    end
    account.wanted = wanted + math.max(usable - account.promised, 0)
    return used, wanted, front
end

-- Returns the report on an account.
local function report_on(account, visitors, at_doors)
    local used, wanted, front, demand = 0, 0, {}, 0
    if account.has_account then
        used, wanted, front = count(account, visitors, at_doors)
        demand = demand_now(account)
    end
    return {
        account.incarnation, account.term, account.epoch_term, account.epoch_count,
        account.has_account and 1 or 0, account.granted, account.returned, used, wanted, demand,
        account.lease_end_us, is_recalled(account) and 1 or 0, front,
    }
end

-- Returns what a site that counts has counted, or nothing if the site holds slots. Tickets are
-- wanted for the visitors who are about to enter and for whom no slot is free.
local function counted(waiting)
    local counters = room.site.counters
    if not counters then
        return {}
    end
    local more = counters.is_dry and 0 or math.max(waiting - free_slots(), 0)
    return {
        active(), counters.minute, counters.last, counters.tickets,
        counters.tickets + math.min(more, counters.anywhere), counters.anywhere,
        counters.knows_world and 1 or 0, counters.is_dry and 1 or 0,
    }
end

local function report(argument)
    local node, incarnation, arrivals, door, door_us, judged_us, agent_us, held_us =
        string.match(argument, '^(%x+) (%x+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
    local site = site_of_room()
    local speaks = is_agent(node, room.now_us + tonumber(agent_us))
    if speaks then
        share_minute(tonumber(held_us))
    end
    site.doors[node] = {tonumber(door), room.now_us + tonumber(door_us)}
    for_each_account(function(account)
        if account.incarnation == '' then
            account.incarnation = incarnation
        end
        judge(account, tonumber(judged_us))
        account.arrivals = account.arrivals + tonumber(arrivals)
    end)
    local visitors, at_doors = advance_accounts()
    local minute = site.minute and report_on(site.minute, visitors, at_doors) or {}
    local slots = report_on(site.slots, visitors, at_doors)
    return {speaks and 1 or 0, free_for_visitors(), slots, minute, counted(visitors)}
end

if not open() then
    return {}
end
check_losses()
local replies = {}
for i = 2, #ARGV do
    replies[i - 1] = report(ARGV[i])
end
return close(replies)
