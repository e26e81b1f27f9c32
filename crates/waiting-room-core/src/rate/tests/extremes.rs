//! The arithmetic does not overflow for any quota, time or cost.

use super::*;

/// A method of a meter.
#[derive(Clone, Copy, Debug)]
enum Verb {
    Check,
    Look,
    Refund,
    Refuse,
    ChargeHandle,
}

#[derive(Clone, Copy, Debug)]
struct Deed {
    verb: Verb,
    cost: u64,
    now: Timestamp,
}

/// Times at both ends of the range, near its end, in the present, and anywhere.
fn times() -> impl Strategy<Value = Timestamp> {
    let ends = prop_oneof![Just(0), Just(1), Just(u64::MAX - 1), Just(u64::MAX)];
    let near_the_end = (0..u64::MAX / 4).prop_map(|before| u64::MAX - before);
    let usual = 1_800_000_000_000_000_000u64..1_800_000_100_000_000_000;
    prop_oneof![2 => ends, 1 => near_the_end, 3 => usual, 1 => any::<u64>()]
        .prop_map(Timestamp::from_nanos)
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let verbs = prop_oneof![
        Just(Verb::Check),
        Just(Verb::Look),
        Just(Verb::Refund),
        Just(Verb::Refuse),
        Just(Verb::ChargeHandle),
    ];
    let costs = prop_oneof![
        Just(0),
        Just(1),
        0..20u64,
        Just(Quota::MAX_LIMIT),
        Just(u64::MAX - 1),
        Just(u64::MAX),
        any::<u64>(),
    ];
    let deeds = (verbs, costs, times()).prop_map(|(verb, cost, now)| Deed { verb, cost, now });
    prop::collection::vec(deeds, 1..40)
}

fn windows() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::from_millis(1)),
        Just(Duration::from_secs(60)),
        Just(Quota::MAX_WINDOW),
    ]
}

proptest! {
    #[test]
    fn nothing_overflows_with_small_limits(
        limit in 0u64..=3,
        burst in bursts(),
        window in windows(),
        deeds in deeds(),
    ) {
        holds_for_all!(stays_in_range, &with_burst(Quota::new(limit, window), burst), &deeds);
    }

    #[test]
    fn nothing_overflows_with_the_largest_limits(window in windows(), deeds in deeds()) {
        let most = Quota::new(Quota::MAX_LIMIT, window);
        stays_in_range(&FixedWindow::new(&most, Alignment::Epoch), &deeds)?;
        stays_in_range(&FixedWindow::new(&most, Alignment::FirstHit), &deeds)?;
        stays_in_range(&SlidingCounter::new(&most), &deeds)?;

        // The fastest bucket is replenished by one unit per nanosecond; the slowest is replenished
        // in 100 years.
        let fastest = Quota::new(most.limit().min(most.window_nanos()), window);
        let years = Quota::new(1, window).burst(100 * Quota::MAX_WINDOW.as_secs() / 60);
        for quota in [fastest, years] {
            if quota.validate(Algorithm::Gcra).is_ok() {
                stays_in_range(&Gcra::new(&quota), &deeds)?;
                stays_in_range(&TokenBucket::new(&quota), &deeds)?;
                stays_in_range(&LeakyQueue::new(&quota), &deeds)?;
            }
        }
    }

    #[test]
    fn a_log_at_an_end_of_time_stays_in_range(
        limit in prop_oneof![Just(1_000u64), Just(5)],
        window in windows(),
        deeds in deeds(),
    ) {
        let quota = Quota::new(limit, window);
        stays_in_range(&SlidingLog::new(&quota, Refusals::Ignore), &deeds)?;
        stays_in_range(&SlidingLog::new(&quota, Refusals::Count), &deeds)?;
    }

    #[test]
    fn a_limit_of_zero_refuses_every_request_forever(
        window in windows(),
        cost in 1..=u64::MAX,
        now in times(),
    ) {
        holds_for_all!(allows_nothing, &Quota::new(0, window), cost, now);
        holds_for_all!(allows_nothing, &Quota::new(0, window).burst(5), cost, now);
    }
}

fn stays_in_range<M: Meter>(meter: &M, deeds: &[Deed]) -> TestCaseResult {
    let mut state = M::State::default();
    let mut charge = None;
    for &Deed { verb, cost, now } in deeds {
        match verb {
            Verb::Check => match meter.check(&mut state, cost, now) {
                Ok((_, made)) => charge = Some(made),
                Err(decision) => prop_assert!(decision.retry_after != Some(Duration::ZERO)),
            },
            Verb::Look => {
                meter.look(&state, cost, now);
            }
            Verb::Refund => {
                if let Some(charge) = charge.take() {
                    meter.refund(&mut state, &charge, cost, now);
                }
            }
            Verb::Refuse => meter.refused(&mut state, cost, now),
            Verb::ChargeHandle => charge = Some(meter.spend(&mut state, cost, now)),
        }
        prop_assert!(meter.remaining(&state, now) <= meter.limit(), "{meter:?}");
        prop_assert_eq!(
            meter.remaining(&state, now) == 0,
            meter.wait(&state, 1, now) != Some(Duration::ZERO),
            "{:?}",
            meter
        );
        meter.used(&state, now);
        meter.delay(&state, now);
        meter.take_over(&mut state, &meter.clone(), now);
    }
    Ok(())
}

fn allows_nothing<M: Meter>(meter: &M, cost: u64, now: Timestamp) -> TestCaseResult {
    let mut state = M::State::default();
    for _ in 0..2 {
        let refused = meter.check(&mut state, cost, now).expect_err("nothing is allowed");
        prop_assert_eq!((refused.limit, refused.remaining), (0, 0), "{:?}", meter);
        prop_assert_eq!((refused.retry_after, refused.reset), (None, Duration::ZERO));
        prop_assert!(meter.check(&mut state, 0, now).is_ok());
        // A debt does not change these numbers.
        meter.spend(&mut state, cost, now);
    }
    Ok(())
}
