//! Each algorithm beside its definition: an oracle that keeps every event and walks through all of
//! them.

use super::*;

/// An algorithm by its definition, with all that ever happened at hand.
trait Oracle {
    /// How much is allowed at `now`.
    fn remaining(&self, now: u64) -> u64;

    /// Remembers an allowed request.
    fn spend(&mut self, cost: u64, now: u64);

    /// Remembers a refused one.
    fn refused(&mut self, _cost: u64, _now: u64) {}

    /// How long an allowed request is held.
    fn delay(&self, _now: u64) -> u64 {
        0
    }
}

proptest! {
    #[test]
    fn gcra_is_a_bucket_that_leaks((quota, steps) in traffic(whole_quotas()), start in starts()) {
        agrees(&Gcra::new(&quota), Bucket::new(&quota), &steps, start)?;
    }

    #[test]
    fn a_token_bucket_is_filled_and_emptied(
        (quota, steps) in traffic(whole_quotas()),
        start in starts(),
    ) {
        agrees(&TokenBucket::new(&quota), Tokens::new(&quota), &steps, start)?;
    }

    #[test]
    fn a_leaky_queue_is_a_row_of_departures(
        (quota, steps) in traffic(whole_quotas()),
        start in starts(),
    ) {
        agrees(&LeakyQueue::new(&quota), Departures::new(&quota), &steps, start)?;
    }

    #[test]
    fn a_fixed_window_counts_what_has_the_same_number(
        (quota, steps) in traffic(quotas()),
        start in starts(),
    ) {
        let meter = FixedWindow::new(&quota, Alignment::Epoch);
        agrees(&meter, Numbered::new(&quota), &steps, start)?;
    }

    #[test]
    fn a_window_from_the_first_hit_opens_after_the_last_one(
        (quota, steps) in traffic(quotas()),
        start in starts(),
    ) {
        let meter = FixedWindow::new(&quota, Alignment::FirstHit);
        agrees(&meter, Opened::new(&quota), &steps, start)?;
    }

    #[test]
    fn a_sliding_log_counts_the_window_that_ends_now(
        (quota, steps) in traffic(whole_quotas()),
        start in starts(),
    ) {
        let meter = SlidingLog::new(&quota, Refusals::Ignore);
        agrees(&meter, Window::new(&quota, Refusals::Ignore), &steps, start)?;
    }

    #[test]
    fn a_sliding_log_with_penalty_counts_the_attempts(
        (quota, steps) in traffic(whole_quotas()),
        start in starts(),
    ) {
        let meter = SlidingLog::new(&quota, Refusals::Count);
        agrees(&meter, Window::new(&quota, Refusals::Count), &steps, start)?;
    }

    #[test]
    fn a_sliding_counter_weighs_the_window_before(
        (quota, steps) in traffic(quotas()),
        start in starts(),
    ) {
        agrees(&SlidingCounter::new(&quota), Weighted::new(&quota), &steps, start)?;
    }
}

fn agrees<M: Meter>(
    meter: &M,
    mut oracle: impl Oracle,
    steps: &[Step],
    start: Timestamp,
) -> TestCaseResult {
    let (mut state, mut now) = (M::State::default(), start);
    for step in steps {
        now = now + step.gap;
        let nanos = now.as_nanos();
        let allowed = step.cost <= oracle.remaining(nanos);
        let delay = Duration::from_nanos(oracle.delay(nanos));
        prop_assert_eq!(meter.remaining(&state, now), oracle.remaining(nanos));
        match meter.check(&mut state, step.cost, now) {
            Ok((decision, charge)) => {
                prop_assert!(allowed, "{step:?} at {now:?}");
                prop_assert_eq!(decision.delay, delay);
                prop_assert_eq!((charge.cost, charge.at), (step.cost, now));
                oracle.spend(step.cost, nanos);
            }
            Err(_) => {
                prop_assert!(!allowed, "{step:?} at {now:?}");
                oracle.refused(step.cost, nanos);
            }
        }
        prop_assert_eq!(meter.remaining(&state, now), oracle.remaining(nanos));
    }
    Ok(())
}

/// What was spent, and when.
#[derive(Default)]
struct Events(Vec<(u64, u64)>);

impl Events {
    fn add(&mut self, cost: u64, now: u64) {
        self.0.push((now, cost));
    }

    /// The sum of the costs of those whose time is as wished.
    fn sum(&self, wished: impl Fn(u64) -> bool) -> u64 {
        self.0.iter().filter(|(at, _)| wished(*at)).map(|(_, cost)| cost).sum()
    }
}

/// Water that leaks out, measured in units of which the window has as many as nanoseconds.
struct Bucket {
    quota: Quota,
    events: Events,
}

impl Bucket {
    fn new(quota: &Quota) -> Self {
        Self { quota: *quota, events: Events::default() }
    }

    fn level(&self, now: u64) -> u128 {
        let (mut level, mut last) = (0, 0);
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

/// Whole tokens, dropped in one by one, and the time since the last one.
struct Tokens {
    quota: Quota,
    events: Events,
}

impl Tokens {
    fn new(quota: &Quota) -> Self {
        Self { quota: *quota, events: Events::default() }
    }
}

impl Oracle for Tokens {
    fn remaining(&self, now: u64) -> u64 {
        let (capacity, interval) = (self.quota.capacity(), self.quota.interval_nanos());
        let (mut tokens, mut last) = (capacity, 0);
        for &(at, cost) in self.events.0.iter().chain([&(now, 0)]) {
            while tokens < capacity && last + interval <= at {
                tokens += 1;
                last += interval;
            }
            if tokens == capacity {
                // A full bucket does not save time either.
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
struct Departures {
    quota: Quota,
    times: Vec<u64>,
}

impl Departures {
    fn new(quota: &Quota) -> Self {
        Self { quota: *quota, times: Vec::new() }
    }

    fn next(&self, now: u64) -> u64 {
        self.times.last().map_or(now, |last| now.max(last + self.quota.interval_nanos()))
    }
}

impl Oracle for Departures {
    /// As many as leave before the capacity has passed.
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

/// Windows that are numbered from the epoch.
struct Numbered {
    limit: u64,
    window: u64,
    events: Events,
}

impl Numbered {
    fn new(quota: &Quota) -> Self {
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

/// Windows that are opened by the first event after the last window.
struct Opened {
    limit: u64,
    window: u64,
    events: Events,
}

impl Opened {
    fn new(quota: &Quota) -> Self {
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
        // Nothing opens no window.
        if cost > 0 {
            self.events.add(cost, now);
        }
    }
}

/// The half-open window that ends now.
struct Window {
    limit: u64,
    window: u64,
    refusals: Refusals,
    events: Events,
}

impl Window {
    fn new(quota: &Quota, refusals: Refusals) -> Self {
        let (limit, window) = (quota.limit(), quota.window_nanos());
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

/// The counts of all windows.
struct Weighted {
    limit: u64,
    window: u64,
    events: Events,
}

impl Weighted {
    fn new(quota: &Quota) -> Self {
        Self { limit: quota.limit(), window: quota.window_nanos(), events: Events::default() }
    }
}

impl Oracle for Weighted {
    fn remaining(&self, now: u64) -> u64 {
        let (number, into) = (now / self.window, now % self.window);
        let previous = self.events.sum(|at| at / self.window + 1 == number);
        let current = self.events.sum(|at| at / self.window == number);
        // The largest cost for which `estimate < limit - cost + 1`, without a division.
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
