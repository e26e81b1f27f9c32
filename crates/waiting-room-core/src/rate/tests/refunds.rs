//! After a refund, a meter allows no more than if the charge had never been made. After an
//! immediate refund, the state is as if the charge had never been made.

use super::*;

proptest! {
    #[test]
    fn an_immediate_refund_leaves_no_trace(
        (quota, steps) in traffic(quotas()),
        start in starts(),
        extra in 1u64..=4,
    ) {
        holds_for_all!(leaves_no_trace, &quota, &steps, start, extra);
    }

    #[test]
    fn a_refund_never_allows_more_than_no_charge_at_all(
        (quota, steps) in traffic(quotas()),
        start in starts(),
        charged in any::<prop::sample::Index>(),
        later in any::<prop::sample::Index>(),
        costs in (1u64..=12, 0u64..=15),
    ) {
        let charged = charged.index(steps.len());
        let refunded = charged + later.index(steps.len() - charged);
        let story = Story { steps: &steps, start, charged, refunded, costs };
        never_gains(&Gcra::new(&quota), &story)?;
        never_gains(&TokenBucket::new(&quota), &story)?;
        never_gains(&LeakyQueue::new(&quota), &story)?;
        never_gains(&FixedWindow::new(&quota, Alignment::Epoch), &story)?;
        never_gains(&SlidingLog::new(&quota, Refusals::Ignore), &story)?;
        never_gains(&SlidingLog::new(&quota, Refusals::Count), &story)?;
        never_gains(&SlidingCounter::new(&quota), &story)?;
        // Windows that begin with the first hit are left out, because the charge opens the window
        // and a refund does not close it.
    }
}

#[test]
fn a_window_from_the_first_hit_is_refunded_as_far_as_it_was_used() {
    let meter = FixedWindow::new(&Quota::per_minute(5), Alignment::FirstHit);
    let mut state = FixedWindowState::default();
    let start = Timestamp::from_secs(100);
    let at = |secs| start + Duration::from_secs(secs);
    let first = meter.spend(&mut state, 2, start);
    meter.spend(&mut state, 2, at(10));
    meter.refund(&mut state, &first, 2, at(20));
    // The window that the first charge opened is still open.
    assert_eq!(meter.remaining(&state, at(20)), 3);
    assert_eq!(meter.wait(&state, 4, at(20)), Some(Duration::from_secs(40)));

    // Once the usage of the window is zero again, the next charge opens a new window.
    let mut state = FixedWindowState::default();
    let first = meter.spend(&mut state, 2, start);
    meter.refund(&mut state, &first, 2, at(20));
    meter.spend(&mut state, 5, at(30));
    assert_eq!(meter.wait(&state, 1, at(30)), Some(Duration::from_secs(60)));

    // A charge in a past window is not refunded in the current window.
    meter.spend(&mut state, 5, at(90));
    meter.refund(&mut state, &first, 2, at(90));
    assert_eq!(meter.remaining(&state, at(90)), 0);
}

#[test]
fn only_the_last_departure_of_a_queue_is_refunded() {
    let queue = LeakyQueue::new(&Quota::per_minute(60).burst(4));
    let mut state = 0;
    let now = Timestamp::from_secs(100);
    let first = queue.spend(&mut state, 1, now);
    let second = queue.spend(&mut state, 2, now);
    queue.refund(&mut state, &first, 1, now);
    assert_eq!(queue.delay(&state, now), Duration::from_secs(3));
    queue.refund(&mut state, &second, 1, now);
    assert_eq!(queue.delay(&state, now), Duration::from_secs(2));
}

/// Requests, a charge of `costs.0` before the request at index `charged`, and a refund of `costs.1`
/// before the request at index `refunded`.
struct Story<'a> {
    steps: &'a [Step],
    start: Timestamp,
    charged: usize,
    refunded: usize,
    costs: (u64, u64),
}

fn leaves_no_trace<M: Meter>(
    meter: &M,
    steps: &[Step],
    start: Timestamp,
    extra: u64,
) -> TestCaseResult {
    let mut state = M::State::default();
    let mut now = start;
    let mut without = M::State::default();
    for step in steps {
        now = now + step.gap;
        if let Ok((_, charge)) = meter.check(&mut state, extra, now) {
            meter.refund(&mut state, &charge, extra, now);
        } else {
            // The refusal may be counted, so the state without the charge has to record it as well.
            let _ = meter.check(&mut without, extra, now);
        }
        let said = meter.check(&mut state, step.cost, now).map(|(decision, _)| decision);
        let expected = meter.check(&mut without, step.cost, now).map(|(decision, _)| decision);
        prop_assert_eq!(said, expected, "{:?}", meter);
    }
    Ok(())
}

/// Runs the requests twice, without the charge and with it. Each cost that is allowed with the
/// charge is spent in both runs. If the cost were refused without the charge, the refund would have
/// returned too much.
fn never_gains<M: Meter>(meter: &M, story: &Story<'_>) -> TestCaseResult {
    let mut without = M::State::default();
    let mut with = M::State::default();
    let mut now = story.start;
    let mut charge = None;
    for (index, step) in story.steps.iter().enumerate() {
        now = now + step.gap;
        if index == story.charged {
            charge = Some(meter.spend(&mut with, story.costs.0, now));
        }
        if index == story.refunded
            && let Some(charge) = charge.take()
        {
            meter.refund(&mut with, &charge, story.costs.1, now);
        }
        let remaining = meter.remaining(&without, now);
        prop_assert!(meter.remaining(&with, now) <= remaining, "{meter:?} at {now:?}");
        if meter.check(&mut with, step.cost, now).is_ok() {
            prop_assert!(meter.check(&mut without, step.cost, now).is_ok(), "{meter:?}");
        }
    }
    Ok(())
}
