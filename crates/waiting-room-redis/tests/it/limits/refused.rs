//! Remembered refusals: repeated without the store, and never for longer than the store would
//! refuse.

use std::{sync::Arc, time::Duration};

use waiting_room_core::{
    Quota,
    rate::{Algorithm, RatePolicy, RateStore, Refusals},
    time::ManualClock,
};
use waiting_room_engines::Engine;

use super::support::{START, all, ask, charge, node_at, policy, scripts};
use crate::support::{connection, start};

#[tokio::test(flavor = "multi_thread")]
async fn an_offender_is_refused_without_a_call_and_its_retry_time_counts_down() {
    for engine in Engine::ALL {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let node = node_at(&server, &clock).await;
        let once = ask(&policy(Algorithm::Gcra, Quota::per_minute(20).burst(1)), "ann", 1);
        assert!(charge(&node, &once).await.charge.is_some());
        let before = scripts(&server).await;
        for second in [0, 0, 1, 2] {
            clock.advance_to(START + Duration::from_secs(second));
            let refused = charge(&node, &once).await.decision.unwrap();
            let left = Duration::from_secs(3 - second);
            assert_eq!(refused.retry_after, Some(left));
            assert_eq!((refused.reset, refused.remaining, refused.limit), (left, 0, 1));
        }
        assert_eq!(scripts(&server).await, before + 1);
        clock.advance_to(START + Duration::from_secs(3));
        assert!(charge(&node, &once).await.charge.is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn remembering_refusals_agrees_with_asking_each_time() {
    let server = start(Engine::Redis);
    for (number, algorithm) in all().into_iter().enumerate() {
        let clock = ManualClock::new(START);
        let node = node_at(&server, &clock).await;
        let quota = [Quota::new(3, Duration::from_micros(30_011_000))];
        let policy = |name: &str| RatePolicy::new(format!("{name}{number}"), algorithm, quota);
        let remembered = ask(&Arc::new(policy("remembered")), "ann", 1);
        let asked = ask(&Arc::new(policy("asked").adjustable()), "ann", 1);
        for step in 0..200 {
            clock.advance(Duration::from_micros(step * 7_919));
            let said = charge(&node, &remembered).await.decision;
            assert_eq!(said, charge(&node, &asked).await.decision, "{algorithm:?} at {step}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_may_end_early_is_asked_each_time() {
    let server = start(Engine::Redis);
    let clock = ManualClock::new(START);
    let node = node_at(&server, &clock).await;
    let quota = Quota::per_hour(2);
    let adjustable = RatePolicy::new("adjustable", Algorithm::Gcra, [quota]).adjustable();
    let ask_one = ask(&Arc::new(adjustable), "ann", 1);
    let first = charge(&node, &ask_one).await.charge.unwrap();
    charge(&node, &ask_one).await;
    assert!(charge(&node, &ask_one).await.charge.is_none());
    node.settle(&ask_one, &first, 0).unwrap();
    assert!(charge(&node, &ask_one).await.charge.is_some());

    let log = Algorithm::SlidingLog(Refusals::Count);
    let penal = ask(&Arc::new(RatePolicy::new("penal", log, [quota])), "ann", 1);
    for _ in 0..3 {
        charge(&node, &penal).await;
    }
    clock.advance(Duration::from_secs(10));
    charge(&node, &penal).await;
    let told = charge(&node, &penal).await.decision.unwrap().retry_after;
    assert_eq!(told, Some(Duration::from_secs(3_600)), "each refusal counts");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_remembered_briefly_for_one_key_cost_and_tier() {
    let server = start(Engine::Redis);
    let clock = ManualClock::new(START);
    let node = node_at(&server, &clock).await;
    let other = node_at(&server, &clock).await;
    let tiers = [Quota::per_hour(2), Quota::per_hour(5)];
    let policy = Arc::new(RatePolicy::new("tiers", Algorithm::SlidingCounter, tiers));
    charge(&node, &ask(&policy, "ann", 1)).await;
    assert!(charge(&node, &ask(&policy, "ann", 2)).await.charge.is_none());
    assert!(charge(&node, &ask(&policy, "bob", 2)).await.charge.is_some());
    let mut paid = ask(&policy, "ann", 2);
    paid.tier = 1;
    assert!(charge(&node, &paid).await.charge.is_some());
    assert!(charge(&node, &ask(&policy, "ann", 1)).await.charge.is_some());

    // An operator forgives a client by deleting keys. The deletion takes effect on all nodes within
    // 10 s.
    assert!(charge(&node, &ask(&policy, "ann", 1)).await.charge.is_none());
    let mut connection = connection(&server).await;
    let _: () = redis::cmd("FLUSHALL").query_async(&mut connection).await.unwrap();
    assert!(charge(&node, &ask(&policy, "ann", 1)).await.charge.is_none());
    assert!(charge(&other, &ask(&policy, "eve", 1)).await.charge.is_some());
    clock.advance(Duration::from_secs(10));
    assert!(charge(&node, &ask(&policy, "ann", 1)).await.charge.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_that_remembers_does_not_hide_an_attempt_from_one_that_counts() {
    let server = start(Engine::Redis);
    let clock = ManualClock::new(START);
    let node = node_at(&server, &clock).await;
    let other = node_at(&server, &clock).await;
    let burst = policy(Algorithm::Gcra, Quota::per_minute(1));
    let log = Algorithm::SlidingLog(Refusals::Count);
    let penal = Arc::new(RatePolicy::new("penal", log, [Quota::per_hour(1)]));
    let asks = [ask(&burst, "ann", 1), ask(&penal, "ann", 1)];
    for _ in 0..2 {
        node.charge_all(&asks).await.unwrap();
    }
    clock.advance(Duration::from_secs(8));
    node.charge_all(&asks).await.unwrap();
    clock.advance(Duration::from_secs(3_600 - 8));
    let told = charge(&other, &asks[1]).await.decision.unwrap();
    assert!(!told.allowed, "the attempt at 8 s counts for an hour: {told:?}");
}
