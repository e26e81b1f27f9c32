//! The numbers in a decision are exact: neither too large nor too small.

use super::*;

proptest! {
    #[test]
    fn waiting_the_stated_time_suffices_and_a_nanosecond_less_does_not(
        (quota, steps) in traffic(quotas()),
        start in starts(),
    ) {
        holds_for_all!(is_honest, &quota, &steps, start);
    }

    #[test]
    fn the_numbers_hold_even_when_the_clock_jumps_back(
        (quota, steps) in traffic(quotas()),
        back in 0u64..20_000_000_000,
    ) {
        holds_for_all!(is_honest_after_a_jump, &quota, &steps, back);
    }

    #[test]
    fn a_fresh_key_equals_one_that_was_idle_for_long(
        (quota, steps) in traffic(quotas()),
        start in starts(),
    ) {
        holds_for_all!(forgets_what_is_long_ago, &quota, &steps, start);
    }

    #[test]
    fn a_cost_of_zero_is_allowed_and_changes_nothing(
        (quota, steps) in traffic(quotas()),
        start in starts(),
    ) {
        holds_for_all!(looks_for_nothing, &quota, &steps, start);
    }
}

fn is_honest<M: Meter>(meter: &M, steps: &[Step], start: Timestamp) -> TestCaseResult {
    let mut state = M::State::default();
    let mut now = start;
    for step in steps {
        now = now + step.gap;
        let promised = meter.look(&state, step.cost, now);
        let decision = match meter.check(&mut state, step.cost, now) {
            Ok((decision, _)) => decision,
            Err(decision) => decision,
        };
        prop_assert_eq!(promised.allowed, decision.allowed, "{:?}", meter);
        prop_assert_eq!(promised.delay, decision.delay, "{:?}", meter);
        keeps_its_word(meter, &state, &decision, step.cost, now)?;
    }
    Ok(())
}

fn is_honest_after_a_jump<M: Meter>(meter: &M, steps: &[Step], back: u64) -> TestCaseResult {
    let mut state = M::State::default();
    let mut now = Timestamp::from_secs(100_000);
    for step in steps {
        now = now + step.gap;
        let _ = meter.check(&mut state, step.cost, now);
    }
    let then = now.before(Duration::from_nanos(back));
    prop_assert!(meter.remaining(&state, then) <= meter.remaining(&state, now), "{:?}", meter);
    for cost in 1..=meter.limit() {
        let decision = meter.look(&state, cost, then);
        if !decision.allowed {
            keeps_its_word(meter, &state, &decision, cost, then)?;
        }
    }
    Ok(())
}

/// Compares the numbers in a decision with the decisions at the times that these numbers name, and
/// one nanosecond before those times.
fn keeps_its_word<M: Meter>(
    meter: &M,
    state: &M::State,
    decision: &Decision,
    cost: u64,
    now: Timestamp,
) -> TestCaseResult {
    let allowed = |cost, now| meter.look(state, cost, now).allowed;
    match decision.retry_after {
        Some(Duration::ZERO) => prop_assert!(decision.allowed, "{meter:?}"),
        Some(wait) => {
            prop_assert!(allowed(cost, now + wait), "{meter:?} {wait:?}");
            prop_assert!(!allowed(cost, now + (wait - NANO)), "{meter:?} {wait:?}");
        }
        None => prop_assert!(cost > meter.limit(), "{meter:?}"),
    }

    let remaining = decision.remaining;
    prop_assert_eq!(decision.limit, meter.limit());
    prop_assert!(allowed(remaining, now) && !allowed(remaining + 1, now), "{meter:?}");
    match decision.reset {
        Duration::ZERO => prop_assert_eq!(remaining, meter.limit(), "{:?}", meter),
        reset => {
            prop_assert!(meter.remaining(state, now + reset) > remaining, "{meter:?} {reset:?}");
            let before = meter.remaining(state, now + (reset - NANO));
            prop_assert_eq!(before, remaining, "{:?} {:?}", meter, reset);
        }
    }
    Ok(())
}

fn forgets_what_is_long_ago<M: Meter>(
    meter: &M,
    steps: &[Step],
    start: Timestamp,
) -> TestCaseResult {
    let mut state = M::State::default();
    let mut now = start;
    for step in steps {
        now = now + step.gap;
        let _ = meter.check(&mut state, step.cost, now);
    }
    now = now + meter.wait(&state, meter.limit(), now).unwrap_or_default();
    prop_assert_eq!(meter.used(&state, now), 0, "{:?}", meter);

    let mut fresh = M::State::default();
    for step in steps {
        now = now + step.gap;
        let said = meter.check(&mut state, step.cost, now).map(|(decision, _)| decision);
        let to_fresh = meter.check(&mut fresh, step.cost, now).map(|(decision, _)| decision);
        prop_assert_eq!(said, to_fresh, "{:?}", meter);
    }
    Ok(())
}

fn looks_for_nothing<M: Meter>(meter: &M, steps: &[Step], start: Timestamp) -> TestCaseResult {
    let mut state = M::State::default();
    let mut now = start;
    let mut looked_at = M::State::default();
    for step in steps {
        now = now + step.gap;
        prop_assert!(meter.check(&mut looked_at, 0, now).is_ok());
        let said = meter.check(&mut state, step.cost, now).map(|(decision, _)| decision);
        let too = meter.check(&mut looked_at, step.cost, now).map(|(decision, _)| decision);
        prop_assert_eq!(said, too, "{:?}", meter);
    }
    Ok(())
}
