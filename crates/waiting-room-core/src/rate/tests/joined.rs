//! A joined state allows no more than either of the states that were joined.

use super::*;

proptest! {
    #[test]
    fn a_joined_state_never_allows_more_than_either(
        (quota, steps) in traffic(quotas()),
        others in prop::collection::vec(0u64..=3, 80),
        start in starts(),
    ) {
        holds_for_all!(allows_no_more_than_either, &quota, &steps, &others, start);
    }
}

/// Charges two keys at the same times, with different costs, and joins their states halfway
/// through.
fn allows_no_more_than_either<M: Meter>(
    meter: &M,
    steps: &[Step],
    others: &[u64],
    start: Timestamp,
) -> TestCaseResult {
    let mut one = M::State::default();
    let mut other = M::State::default();
    let (before, after) = steps.split_at(steps.len() / 2);
    let mut now = start;
    for (step, &cost) in before.iter().zip(others) {
        now = now + step.gap;
        let _ = (meter.check(&mut one, step.cost, now), meter.check(&mut other, cost, now));
    }
    let mut joined = one.clone();
    meter.join(&mut joined, &other, now);
    for step in after {
        let least = meter.remaining(&one, now).min(meter.remaining(&other, now));
        prop_assert!(meter.remaining(&joined, now) <= least, "{meter:?} at {now:?}");
        now = now + step.gap;
    }
    Ok(())
}
