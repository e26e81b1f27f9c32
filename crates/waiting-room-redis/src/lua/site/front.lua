-- The front of the line, which a site reports to the global ledger, so that slots go to those who have
-- waited longest at any site. The counterpart of this file is `LineFront` in `waiting-room-ledger`.

-- The width of a bucket, and the maximum number of buckets in a front. If a site's buckets are
-- narrower than those of the global ledger, the only effect is that the site fills fewer of them.
local BUCKET_US = 5 * 1000000
local MAX_BUCKETS = 16
-- All places of a draw are lower than this number, and all arrivals are higher.
local LAST_PLACE = 2 ^ 40

-- Returns the arrival of the present visitor with `ahead` others ahead, and the rank of the last visitor who
-- may be in the same bucket. All entrants of a draw count as if they had come at the beginning of its
-- prequeue, because their places are not times, and each site's draw has its own places. Late places
-- count as if they came now.
local function arrival_us(ahead)
    local rank = tonumber(redis.call('ZRANGE', PRESENT, ahead, ahead, 'WITHSCORES')[2])
    local draw = rank <= LAST_PLACE and current_draw()
    if draw then
        return draw.begins_us, LAST_PLACE
    elseif rank >= LATE then
        return room.now_us, 2 * LATE
    end
    return rank, (math.floor(rank / BUCKET_US) + 1) * BUCKET_US - 1
end

-- Returns the first buckets of the visitors from place `first` to place `last` of the line, both counted
-- from 0: {arrival of the first visitor of a bucket, number of its visitors, ...}, and the number of
-- visitors in them. There are no buckets if the order of the line is random.
--
-- Each bucket takes two commands, no matter how many visitors are in it.
local function front_of_line(first, last)
    local front, ahead = {}, first
    while room.queueing_method ~= 'random' and ahead <= last and #front < 2 * MAX_BUCKETS do
        local arrived_us, until_us = arrival_us(ahead)
        local behind = math.min(redis.call('ZCOUNT', PRESENT, '-inf', digits(until_us)), last + 1)
        table.insert(front, arrived_us)
        table.insert(front, behind - ahead)
        ahead = behind
    end
    return front, ahead - first
end
