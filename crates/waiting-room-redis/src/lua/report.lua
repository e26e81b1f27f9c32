-- Gives back slots that the site does not need, and returns what the site reports to the global
-- ledger afterwards. The order matters: the global ledger never counts fewer slots for the site than
-- it holds.
--
-- KEYS  the keys of the room, see head.lua
-- ARGV for each report, numbers and words with spaces between them: the name of the node, the
--       incarnation that begins if the site has none (16 hexadecimal digits), the new visitors at
--       the node since its last report, the visitors that wait at its door, how long that number
--       holds in microseconds, the time that has passed on the room's clock at least as the node
--       knows it in microseconds, how long the node speaks for the site in microseconds
-- reply for each report: {1 if the node speaks for the site, incarnation, term, term of the epoch,
--       count of the epoch, 1 if there is an account, granted, returned, used, wanted, demand,
--       lease_end_us, unused, 1 if unused slots are recalled, and what a site that counts has
--       counted, or {}: {active, minute, admitted in the minute before, its tickets of Anywhere's,
--       those that it wants in all, Anywhere's slots, 1 if they come from a recent snapshot, 1 if none is
--       left}, the oldest visitors who want slots, see front.lua}
-- time  the clock of the room

-- Ends the lease if, by the clock of a node, it is over. The server's clock may have been set back, or
-- have stood still.
local function judge(judged_us)
    local site = room.site
    if site.lease_end_us > room.now_us and site.lease_end_us <= judged_us then
        site.lease_end_us = room.now_us
        use_allowance()
    end
end

-- Returns whether this node speaks for the site. Two nodes that do so for a moment do no harm.
local function is_agent(node, until_us)
    local site = room.site
    if site.agent == node or site.agent_until_us <= room.now_us then
        site.agent, site.agent_until_us = node, until_us
    end
    return site.agent == node
end

-- Returns the report in numbers, and the front of the line. Slots are asked for those who are in it, and
-- for the visitors at the doors; the first visitors in line take those that are promised.
local function count(waiting, at_doors)
    local site = room.site
    give_back(surplus(waiting))
    local held, active = site.granted - site.returned, active()
    local used = math.min(active + site.ghosts, math.max(held, active)) + site.promised
    -- Visitors who are known and have survived a loss are among the ghosts as well. No slots are
    -- asked for until it is known who is left.
    if site.ghosts > 0 and active + site.ghosts > held then
        site.wanted = 0
        return used, 0, {}
    end
    local in_line = waiting - at_doors
    local front, visitors = front_of_line(site.promised, in_line - 1)
    site.wanted = waiting - site.promised
    if front[1] then
        site.wanted = math.min(site.wanted, visitors + at_doors)
    end
    return used, site.wanted, front
end

-- Returns what a site that counts has counted, or nothing at a site that holds slots. Tickets are
-- wanted for the visitors who are about to enter and find no slot.
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
    local node, incarnation, arrivals, door, door_us, judged_us, agent_us =
        string.match(argument, '^(%x+) (%x+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
    local site = account()
    if site.incarnation == '' then
        site.incarnation = incarnation
    end
    judge(tonumber(judged_us))
    local speaks = is_agent(node, room.now_us + tonumber(agent_us))
    site.doors[node] = {tonumber(door), room.now_us + tonumber(door_us)}
    site.arrivals = site.arrivals + tonumber(arrivals)
    local waiting, at_doors = advance_account()
    local used, wanted, front, demand = 0, 0, {}, 0
    if site.has_account then
        used, wanted, front = count(waiting, at_doors)
        demand = demand_now()
    end
    return {
        speaks and 1 or 0, site.incarnation, site.term, site.epoch_term, site.epoch_count,
        site.has_account and 1 or 0, site.granted, site.returned, used, wanted, demand,
        site.lease_end_us, unused_slots(), is_recalled() and 1 or 0, counted(waiting), front,
    }
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
