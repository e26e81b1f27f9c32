//! A bucket of water, a bucket of tokens, and a queue.

use super::*;

/// A bucket from which water leaks, measured so finely that the level is always an integer. A cost
/// of one adds as many units as the window has nanoseconds, and `limit` units leak out per
/// nanosecond.
pub(super) struct Bucket {
    quota: Quota,
    events: Events,
}

impl Bucket {
    pub(super) fn new(quota: &Quota) -> Self {
        Self { quota: *quota, events: Events::default() }
    }

    fn level(&self, now: u64) -> u128 {
        let mut level = 0;
        let mut last = 0;
        for &(at, cost) in self.events.0.iter().chain([&(now, 0)]) {
            let leaked = u128::from(at - last) * u128::from(self.quota.limit());
            level = u128::saturating_sub(level, leaked);
            level += u128::from(cost) * u128::from(self.quota.window_nanos());
            last = at;
        }
        level
    }
}

impl Oracle for Bucket {
    fn remaining(&self, now: u64) -> u64 {
        let unit = u128::from(self.quota.window_nanos());
        let free = u128::from(self.quota.capacity()) * unit - self.level(now);
        u64::try_from(free / unit).unwrap()
    }

    fn spend(&mut self, cost: u64, now: u64) {
        self.events.add(cost, now);
    }
}

/// A bucket to which whole tokens are added one by one, each token one interval after the previous
/// token.
pub(super) struct Tokens {
    quota: Quota,
    events: Events,
}

impl Tokens {
    pub(super) fn new(quota: &Quota) -> Self {
        Self { quota: *quota, events: Events::default() }
    }
}

impl Oracle for Tokens {
    fn remaining(&self, now: u64) -> u64 {
        let capacity = self.quota.capacity();
        let interval = self.quota.interval_nanos();
        let mut tokens = capacity;
        let mut last = 0;
        for &(at, cost) in self.events.0.iter().chain([&(now, 0)]) {
            while tokens < capacity && last + interval <= at {
                tokens += 1;
                last += interval;
            }
            if tokens == capacity {
                // While the bucket is full, no time counts towards the next token.
                last = at;
            }
            tokens -= cost;
        }
        tokens
    }

    fn spend(&mut self, cost: u64, now: u64) {
        self.events.add(cost, now);
    }
}

/// The times at which units of cost leave the queue.
pub(super) struct Departures {
    quota: Quota,
    times: Vec<u64>,
}

impl Departures {
    pub(super) fn new(quota: &Quota) -> Self {
        Self { quota: *quota, times: Vec::new() }
    }

    fn next(&self, now: u64) -> u64 {
        self.times.last().map_or(now, |last| now.max(last + self.quota.interval_nanos()))
    }
}

impl Oracle for Departures {
    /// The number of further units that would leave within `capacity - 1` intervals from now.
    fn remaining(&self, now: u64) -> u64 {
        let interval = self.quota.interval_nanos();
        let last = now + (self.quota.capacity() - 1) * interval;
        let departures = (0..).map(|turn| self.next(now) + turn * interval);
        departures.take_while(|&at| at <= last).count() as u64
    }

    fn spend(&mut self, cost: u64, now: u64) {
        for _ in 0..cost {
            self.times.push(self.next(now));
        }
    }

    fn delay(&self, now: u64) -> u64 {
        self.next(now) - now
    }
}
