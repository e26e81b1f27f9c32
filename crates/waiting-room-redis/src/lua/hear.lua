-- Applies messages from the global ledger to the accounts of a site. Messages carry totals, and the
-- greatest total wins, so messages may be lost, repeated or late.
--
-- KEYS  the keys of the room, see head.lua
-- ARGV for each message, numbers and words with spaces between them: the account, `slots` or
--       `minute`, session_us, margin_us, heartbeat_us, the term, and one of
--       grant epoch heard_us lease_us granted reserve recall
--       welcome epoch incarnation heard_us lease_us inherited
--       stale over current
--       refused incarnation over is_fenced
--       report
--       plan ceiling, and for this minute and the next: minute slots anywhere knows_world
--       tickets incarnation minute total is_dry
--       where an epoch is its term and its count
-- reply for each message: {1 if the site has to report at once, the number of visitors who may enter}
-- time  the clock of the room

-- Returns the next number of a message.
local function number(words)
    return tonumber(words())
end

-- Compares an epoch with that of the account: returns 1 if it is newer, 0 if it is the same, and -1
-- if it is older.
local function compare(account, term, count)
    if term ~= account.epoch_term then
        return term > account.epoch_term and 1 or -1
    end
    return count == account.epoch_count and 0 or count > account.epoch_count and 1 or -1
end

-- The message handlers, by kind. Each returns whether the site has to report.
local handlers = {}

-- Applies a grant: more slots, a longer lease, or both.
function handlers.grant(words, account, times)
    local is_current = compare(account, number(words), number(words)) == 0
    local heard_us, lease_us, granted = number(words), number(words), number(words)
    local reserve, recall = number(words), number(words)
    if not account.has_account or not is_current then
        return false
    end
    account.granted = math.max(account.granted, granted)
    account.lease_end_us = math.max(account.lease_end_us, heard_us + lease_us)
    -- The visitors who wait here take what is free at this moment, even if others wait elsewhere. Slots
    -- whose promise has expired are not promised again, because their visitors did not show up.
    local free = math.max(unused_slots(account) - account.promised, 0)
    local taken = math.min(free, account.wanted)
    if account.promised_until_us <= room.now_us then
        account.promised = 0
    end
    if taken > 0 then
        account.promised, account.wanted = account.promised + taken, account.wanted - taken
        account.promised_until_us = room.now_us + PROMISE_US
    end
    if heard_us >= account.heard_us then
        account.heard_us, account.reserve = heard_us, reserve
        -- The recall lapses without another grant, so that a site that is cut off keeps its slots.
        account.recalled_until_us = recall == 1 and room.now_us + 2 * times.heartbeat_us or 0
    end
    return false
end

-- Opens a new account. The inherited slots may be in use by visitors that only the previous life of
-- the site knew.
function handlers.welcome(words, account, times)
    local term, count, incarnation = number(words), number(words), words()
    local heard_us, lease_us, inherited = number(words), number(words), number(words)
    if account.has_account or incarnation ~= account.incarnation
        or compare(account, term, count) ~= 1 then
        return false
    end
    account.has_account, account.epoch_term, account.epoch_count = true, term, count
    account.granted, account.returned = inherited, 0
    account.heard_us, account.lease_end_us = heard_us, heard_us + lease_us
    account.reserve, account.recalled_until_us, account.promised = 0, 0, 0
    account.ghosts = inherited
    account.ghosts_until_us = room.now_us + times.session_us + times.margin_us
    if account == room.site.slots then
        room.site.counters = nil
    end
    return true
end

-- Ends an account that is over, or that never belonged to this ledger.
function handlers.stale(words, account)
    if compare(account, number(words), number(words)) ~= 0 and account.has_account then
        return false
    end
    account.has_account = false
    local term, count = number(words), number(words)
    if compare(account, term, count) ~= 1 then
        return false
    end
    account.epoch_term, account.epoch_count = term, count
    return true
end

-- Applies a refusal: the site does not get an account, or has lost the one that it had. If this
-- life of the site was fenced, a new life begins.
function handlers.refused(words, account)
    local incarnation = words()
    local is_other = compare(account, number(words), number(words)) ~= 0
    if incarnation ~= account.incarnation or account.has_account and is_other then
        return false
    end
    account.has_account = false
    if number(words) == 1 then
        begin_life(account)
        room.site.counters = nil
    end
    return false
end

-- Takes over the slots of a site that counts, for this minute and the next. The slots of the current
-- minute change only if they were not computed from a recent snapshot. A site with a lease continues to
-- hold slots.
function handlers.plan(words, account)
    local site = room.site
    if has_lease(account) then
        return false
    end
    account.has_account = false
    site.counters = site.counters or {
        minute = math.floor(room.now_us / MINUTE_US), taken = 0, last = 0, slots = 0, anywhere = 0,
        knows_world = false, tickets = 0, is_dry = false,
    }
    local counters = site.counters
    counters.ceiling, counters.plans = number(words), {}
    for i = 1, 2 do
        local minute, slots, anywhere = number(words), number(words), number(words)
        counters.plans[i] = {minute, slots, anywhere, number(words) == 1}
    end
    if not counters.knows_world then
        use_plan()
    end
    return false
end

-- Takes over tickets from Anywhere's counter. Once none is left, the site reports this, and asks
-- for no more in this minute.
function handlers.tickets(words, account)
    local counters, incarnation, minute = room.site.counters, words(), number(words)
    local total, is_dry = number(words), number(words) == 1
    if not counters or incarnation ~= account.incarnation or minute ~= counters.minute then
        return false
    end
    counters.tickets = math.max(counters.tickets, total)
    is_dry, counters.is_dry = is_dry and not counters.is_dry, is_dry or counters.is_dry
    return is_dry
end

-- Requests a report, because the global ledger has begun a new term.
function handlers.report()
    return true
end

local function hear(argument)
    local words = string.gmatch(argument, '%S+')
    local account = site_of_room()[words()]
    local times = {session_us = number(words), margin_us = number(words), heartbeat_us = number(words)}
    local term, kind = number(words), words()
    advance_accounts()
    -- Slots from an earlier ledger may have been granted to other sites by a later ledger. There is
    -- no account of the minute before the first report, or if the limit on new visitors is the
    -- site's own.
    if not account or term < account.term then
        return {0, free_for_visitors()}
    end
    account.term = term
    local is_due = handlers[kind](words, account, times)
    use_allowances()
    return {is_due and 1 or 0, free_for_visitors()}
end

if not open() then
    return {}
end
check_losses()
local replies = {}
for i = 2, #ARGV do
    replies[i - 1] = hear(ARGV[i])
end
return close(replies)
