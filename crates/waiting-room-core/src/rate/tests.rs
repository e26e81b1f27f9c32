//! Properties that all six algorithms share, and a comparison of each algorithm with its
//! definition.

mod bursts;
mod described;
mod extremes;
mod honesty;
mod joined;
mod oracles;
mod refunds;
mod take_over;
mod worked_examples;

use std::{ops::Range, time::Duration};

use proptest::{prelude::*, test_runner::TestCaseResult};

use super::{
    meters::{FixedWindowState, SlidingCounterState},
    *,
};
use crate::Timestamp;

/// Calls `law(&meter, …)` for each variant of each of the six algorithms. The first failure is
/// returned from the calling function.
macro_rules! holds_for_all {
    ($law:ident, $quota:expr $(, $argument:expr)*) => {{
        let quota: &Quota = $quota;
        $law(&Gcra::new(quota) $(, $argument)*)?;
        $law(&TokenBucket::new(quota) $(, $argument)*)?;
        $law(&LeakyQueue::new(quota) $(, $argument)*)?;
        $law(&FixedWindow::new(quota, Alignment::Epoch) $(, $argument)*)?;
        $law(&FixedWindow::new(quota, Alignment::FirstHit) $(, $argument)*)?;
        $law(&SlidingLog::new(quota, Refusals::Ignore) $(, $argument)*)?;
        $law(&SlidingLog::new(quota, Refusals::Count) $(, $argument)*)?;
        $law(&SlidingCounter::new(quota) $(, $argument)*)?;
    }};
}
use holds_for_all;

/// A request: the time since the previous request, and the cost.
#[derive(Clone, Copy, Debug)]
struct Step {
    gap: Duration,
    cost: u64,
}

/// Quotas whose interval is a whole number of nanoseconds, so that the exact definitions agree with
/// the arithmetic in nanoseconds.
fn whole_quotas() -> impl Strategy<Value = Quota> {
    (1u64..=8, 1u64..400_000, bursts()).prop_map(|(limit, interval, burst)| {
        with_burst(Quota::new(limit, Duration::from_nanos(limit * interval)), burst)
    })
}

/// Small quotas, with windows that need not be multiples of the limit. A limit may be 0.
fn quotas() -> impl Strategy<Value = Quota> {
    let windows = prop_oneof![
        1_000_000u64..1_000_100,
        1_000_000u64..2_000_000_000,
        3_000_000_000u64..9_000_000_000_000,
    ];
    (0u64..=9, windows, bursts()).prop_map(|(limit, nanos, burst)| {
        with_burst(Quota::new(limit, Duration::from_nanos(nanos)), burst)
    })
}

fn bursts() -> impl Strategy<Value = Option<u64>> {
    prop::option::of(1u64..=12)
}

fn with_burst(quota: Quota, burst: Option<u64>) -> Quota {
    burst.map_or(quota, |burst| quota.burst(burst))
}

/// Requests that arrive at once, within an interval, after some intervals, about a window later, or
/// up to three windows later.
fn steps(quota: Quota, lengths: Range<usize>) -> impl Strategy<Value = Vec<Step>> {
    let window = quota.window_nanos();
    let interval = quota.interval_nanos();
    let gaps = prop_oneof![
        4 => Just(0),
        4 => 0..=interval,
        2 => (1..=quota.limit().max(1)).prop_map(move |times| times * interval),
        2 => (0..=2u64).prop_map(move |off| window + off - 1),
        1 => 0..=3 * window,
    ];
    let costs = prop_oneof![6 => Just(1), 2 => 0..=3u64, 1 => 0..=quota.limit() + 1];
    let steps = (gaps, costs).prop_map(|(gap, cost)| Step { gap: Duration::from_nanos(gap), cost });
    prop::collection::vec(steps, lengths)
}

/// A quota, and requests with suitable gaps and costs.
fn traffic(quotas: impl Strategy<Value = Quota>) -> impl Strategy<Value = (Quota, Vec<Step>)> {
    quotas.prop_flat_map(|quota| (Just(quota), steps(quota, 1..80)))
}

/// Start times: the epoch, where an earlier time would underflow, and later times.
fn starts() -> impl Strategy<Value = Timestamp> {
    prop_oneof![Just(0), 0..10_000_000_000u64, Just(1_800_000_000_000_000_000)]
        .prop_map(Timestamp::from_nanos)
}

const NANO: Duration = Duration::from_nanos(1);
