-- The front of the line, which a site reports to the global ledger, so that slots go to those who have
-- waited longest at any site. The counterpart of this file is `LineFront` in `waiting-room-sites`.

-- The width of a bucket, and the most buckets of a front. A site whose buckets are narrower than those
-- of the global ledger only fills fewer of them.
local BUCKET_US = 5 * 1000000
local MAX_BUCKETS = 16

-- Returns the arrival of the present visitor with `ahead` others ahead, as far as it determines the order
-- of the line, or nil if there is no such visitor. All entrants of a draw have arrived at the beginning
-- of its prequeue.
local function arrival_us(ahead)
    local at = redis.call('ZRANGE', PRESENT, ahead, ahead, 'WITHSCORES')[2]
    local rank_us, draw = tonumber(at or nil), current_draw()
    if rank_us and draw and rank_us <= 2 ^ 40 then
        return draw.begins_us, 2 ^ 40
    end
    return rank_us, rank_us and (math.floor(rank_us / BUCKET_US) + 1) * BUCKET_US - 1
end

-- Returns the visitors from place `first` to place `last` of the line, both counted from 0, as far as they
-- are in the first buckets: {arrival of the first visitor of a bucket, number of its visitors, ...}. It is
-- empty if the order of the line is not that of the arrivals.
--
-- Each bucket takes two commands, whatever the number of its visitors.
local function front_of_line(first, last)
    local front, ahead = {}, first
    if room.method == 'random' then
        return front
    end
    for _ = 1, MAX_BUCKETS do
        if ahead > last then
            break
        end
        local arrived_us, until_us = arrival_us(ahead)
        if not arrived_us then
            break
        end
        local behind = math.min(redis.call('ZCOUNT', PRESENT, '-inf', digits(until_us)), last + 1)
        table.insert(front, arrived_us)
        table.insert(front, behind - ahead)
        ahead = behind
    end
    return front
end
