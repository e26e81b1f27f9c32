//! What is asked of limits, as the script reads it.

use std::{iter, time::Duration};

use waiting_room_core::{
    Algorithm, Alignment, Charge, KeyHasher, LimitAsk, LimitPolicy, Quota, Refusals,
};

use super::leases::Unspent;

/// The keys and the arguments of one request, for the script.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) keys: Vec<String>,
    pub(super) arguments: Vec<i64>,
}

impl Request {
    /// Asks all of these, and for blocks that are no larger than this; for none where nothing is
    /// said of them.
    pub(super) fn charge_all(group: &str, asks: &[LimitAsk], blocks: &[u64]) -> Self {
        let mut request = Self::default();
        request.arguments.extend([CHARGE, whole(asks.len() as u64)]);
        let blocks = blocks.iter().copied().chain(iter::repeat(0));
        for (ask, block) in asks.iter().zip(blocks) {
            // What is more than the limit is refused, however much more it is.
            let most = ask.quota().capacity().saturating_add(1);
            request.ask(group, ask, ask.cost.min(most), block);
        }
        request
    }

    /// Corrects a charge to this cost.
    pub(super) fn settle(group: &str, ask: &LimitAsk, charge: &Charge, cost: u64) -> Self {
        let mut request = Self::default();
        request.correct(group, ask, charge, cost);
        request
    }

    /// Gives back what was charged and not spent.
    pub(super) fn give_back(group: &str, unspent: &[Unspent]) -> Self {
        let mut request = Self::default();
        unspent.iter().for_each(|it| request.correct(group, &it.ask, &it.charge, 0));
        request
    }

    fn correct(&mut self, group: &str, ask: &LimitAsk, charge: &Charge, cost: u64) {
        self.arguments.push(SETTLE);
        self.ask(group, ask, cost, 0);
        let meter = Meter::of(&ask.policy, ask.tier);
        let (first, second) = meter.marks(charge.mark);
        self.arguments.extend([whole(charge.cost), first, second]);
    }

    fn ask(&mut self, group: &str, ask: &LimitAsk, cost: u64, block: u64) {
        let meter = Meter::of(&ask.policy, ask.tier);
        let (name, key) = (ask.policy.name(), ask.key);
        self.keys.push(format!("{group}:{name}:{}:{key:?}", meter.kind(&ask.policy, ask.tier)));
        self.arguments.extend([
            meter.code,
            whole(ask.quota().capacity()),
            whole(meter.period),
            whole(meter.per_us),
            whole(meter.highest),
            whole(meter.version),
            whole(cost),
            i64::from(ask.is_soft),
            whole(block),
        ]);
    }
}

/// The meter of a limit, in the numbers of the script.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    code: i64,
    /// Of a bucket the interval, else the window.
    period: u64,
    /// So many units of the period are a microsecond.
    per_us: u64,
    /// The most that a bucket of any tier holds.
    highest: u64,
    /// Stands for the quotas of all tiers.
    version: u64,
}

impl Meter {
    pub(super) fn of(policy: &LimitPolicy, tier: usize) -> Self {
        let (algorithm, quota) = (policy.algorithm(), policy.quota(tier));
        let code = code(algorithm);
        if !algorithm.is_bucket() {
            let period = nanos(quota.window()).div_ceil(NANOS);
            return Self { code, period, per_us: 1, highest: 0, version: 0 };
        }
        let spans = policy.quotas().iter().map(|quota| span(quota, NANOS));
        let per_us = if spans.max() < Some(MOST / 4) { NANOS } else { 1 };
        let highest = policy.quotas().iter().map(|quota| span(quota, per_us)).max();
        let quotas =
            policy.quotas().iter().map(|quota| (quota.capacity(), interval(quota, per_us)));
        let version = KeyHasher::shared([0, per_us]).hash(&quotas.collect::<Vec<_>>()).as_u64();
        let period = interval(&quota, per_us);
        Self { code, period, per_us, highest: highest.unwrap_or(0), version: version & MOST }
    }

    /// What the names of its keys have of it: what is counted in other numbers, or in each tier by
    /// itself, has other keys.
    fn kind(self, policy: &LimitPolicy, tier: usize) -> String {
        let kind = match policy.algorithm() {
            Algorithm::FixedWindow(Alignment::Epoch) => "w",
            Algorithm::FixedWindow(Alignment::FirstHit) => "h",
            Algorithm::LeakyQueue => "q",
            Algorithm::SlidingCounter => "c",
            Algorithm::SlidingLog(Refusals::Ignore) => "l",
            Algorithm::SlidingLog(Refusals::Count) => "p",
            _ => "b",
        };
        match (policy.algorithm().is_bucket(), self.per_us) {
            (true, NANOS) => kind.to_owned(),
            (true, _) => format!("{kind}u"),
            (false, _) => format!("{kind}{}", policy.tier(tier)),
        }
    }

    /// What a receipt is marked with: a time in nanoseconds, for a bucket with its level added.
    pub(super) fn mark(self, at_us: u64, level: u64) -> u64 {
        at_us.saturating_mul(NANOS).saturating_add(level.saturating_mul(NANOS / self.per_us))
    }

    /// The same as the script reads it.
    fn marks(self, mark: u64) -> (i64, i64) {
        (whole(mark / NANOS), whole(mark % NANOS / (NANOS / self.per_us)))
    }
}

/// The place of a meter among those of the script.
fn code(algorithm: Algorithm) -> i64 {
    match algorithm {
        Algorithm::LeakyQueue => 2,
        Algorithm::FixedWindow(Alignment::Epoch) => 3,
        Algorithm::FixedWindow(Alignment::FirstHit) => 4,
        Algorithm::SlidingCounter => 5,
        Algorithm::SlidingLog(Refusals::Ignore) => 6,
        Algorithm::SlidingLog(Refusals::Count) => 7,
        _ => 1,
    }
}

/// The time in which one comes back, in units of which a microsecond has so many; rounded up.
fn interval(quota: &Quota, per_us: u64) -> u64 {
    nanos(quota.interval()).div_ceil(NANOS / per_us)
}

fn span(quota: &Quota, per_us: u64) -> u64 {
    quota.capacity().saturating_mul(interval(quota, per_us))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A number as a script can hold it exactly.
fn whole(number: u64) -> i64 {
    i64::try_from(number.min(MOST)).expect("it is smaller than 2^53")
}

const CHARGE: i64 = 1;
const SETTLE: i64 = 2;
/// Nanoseconds of a microsecond.
const NANOS: u64 = 1_000;
/// The greatest number that a script counts to.
const MOST: u64 = (1 << 53) - 1;
