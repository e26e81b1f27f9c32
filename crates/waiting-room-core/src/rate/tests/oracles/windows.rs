//! Fixed and sliding windows.

use super::*;

/// Windows that are counted from the epoch.
pub(super) struct Numbered {
    limit: u64,
    window: u64,
    events: Events,
}

impl Numbered {
    pub(super) fn new(quota: &Quota) -> Self {
        Self { limit: quota.limit(), window: quota.window_nanos(), events: Events::default() }
    }
}

impl Oracle for Numbered {
    fn remaining(&self, now: u64) -> u64 {
        self.limit - self.events.sum(|at| at / self.window == now / self.window)
    }

    fn spend(&mut self, cost: u64, now: u64) {
        self.events.add(cost, now);
    }
}

/// Windows that are opened by the first event after the previous window.
pub(super) struct Opened {
    limit: u64,
    window: u64,
    events: Events,
}

impl Opened {
    pub(super) fn new(quota: &Quota) -> Self {
        Self { limit: quota.limit(), window: quota.window_nanos(), events: Events::default() }
    }
}

impl Oracle for Opened {
    fn remaining(&self, now: u64) -> u64 {
        let mut openings: Vec<u64> = Vec::new();
        for &(at, _) in &self.events.0 {
            if openings.last().is_none_or(|opened| at - opened >= self.window) {
                openings.push(at);
            }
        }
        match openings.last() {
            Some(&opened) if now - opened < self.window => {
                self.limit - self.events.sum(|at| at >= opened)
            }
            _ => self.limit,
        }
    }

    fn spend(&mut self, cost: u64, now: u64) {
        // A cost of zero opens no window.
        if cost > 0 {
            self.events.add(cost, now);
        }
    }
}

/// The half-open window that ends at the time of the request.
pub(super) struct Window {
    limit: u64,
    window: u64,
    refusals: Refusals,
    events: Events,
}

impl Window {
    pub(super) fn new(quota: &Quota, refusals: Refusals) -> Self {
        let limit = quota.limit();
        let window = quota.window_nanos();
        Self { limit, window, refusals, events: Events::default() }
    }
}

impl Oracle for Window {
    fn remaining(&self, now: u64) -> u64 {
        self.limit.saturating_sub(self.events.sum(|at| now - at < self.window))
    }

    fn spend(&mut self, cost: u64, now: u64) {
        self.events.add(cost, now);
    }

    fn refused(&mut self, cost: u64, now: u64) {
        if self.refusals == Refusals::Count {
            self.events.add(cost, now);
        }
    }
}

/// The weighted counts of the current and the previous window.
pub(super) struct Weighted {
    limit: u64,
    window: u64,
    events: Events,
}

impl Weighted {
    pub(super) fn new(quota: &Quota) -> Self {
        Self { limit: quota.limit(), window: quota.window_nanos(), events: Events::default() }
    }
}

impl Oracle for Weighted {
    fn remaining(&self, now: u64) -> u64 {
        let number = now / self.window;
        let into = now % self.window;
        let previous = self.events.sum(|at| at / self.window + 1 == number);
        let current = self.events.sum(|at| at / self.window == number);
        // Finds the largest cost for which `estimate < limit - cost + 1`, without a division.
        let estimate = u128::from(previous) * u128::from(self.window - into)
            + u128::from(current) * u128::from(self.window);
        (0..=self.limit)
            .rev()
            .find(|cost| estimate < u128::from(self.limit - cost + 1) * u128::from(self.window))
            .unwrap_or(0)
    }

    fn spend(&mut self, cost: u64, now: u64) {
        self.events.add(cost, now);
    }
}
