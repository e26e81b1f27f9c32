//! Exactness: many nodes together allow the limit, no more and no less.

use std::{sync::Arc, time::Duration};

use tokio::task::JoinSet;
use waiting_room_core::{
    Quota,
    rate::{Algorithm, Alignment, RatePolicy, RateStore, Refusals},
    time::ManualClock,
};
use waiting_room_engines::Engine;
use waiting_room_redis::RedisLimits;

use super::support::{START, all, ask, charge, key, node, node_at, policy};
use crate::support::start;

const LIMIT: u64 = 500;

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_at_once_allow_exactly_one_limit() {
    for engine in Engine::ALL {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let nodes = [node_at(&server, &clock).await, node_at(&server, &clock).await];
        for algorithm in all() {
            let narrow = Arc::new(RatePolicy::new(
                format!("{algorithm:?}"),
                algorithm,
                [Quota::per_hour(LIMIT)],
            ));
            let wide = policy(Algorithm::Gcra, Quota::per_hour(1_000_000));
            let asks = [ask(&wide, &format!("{algorithm:?}"), 1), ask(&narrow, "all", 1)];
            let mut tries = JoinSet::new();
            for number in 0..2 * LIMIT {
                let node: RedisLimits = nodes[usize::from(number % 2 == 0)].clone();
                let asks = asks.clone();
                tries.spawn(
                    async move { node.charge_all(&asks).await.unwrap()[1].charge.is_some() },
                );
            }
            let allowed = tries.join_all().await.into_iter().filter(|&allowed| allowed).count();
            assert_eq!(allowed as u64, LIMIT, "{algorithm:?} on {engine}");
            // A request that one limit refuses has spent nothing of the other.
            let looked = ask(&wide, &format!("{algorithm:?}"), 0);
            let left = charge(&nodes[0], &looked).await.decision.unwrap().remaining;
            assert_eq!(left, 1_000_000 - LIMIT, "{algorithm:?} on {engine}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_the_stated_time_suffices_and_a_microsecond_less_does_not() {
    let micro = Duration::from_micros(1);
    for engine in Engine::ALL {
        let server = start(engine);
        for (number, algorithm) in all().into_iter().enumerate() {
            // If refusals count, each attempt makes the wait longer.
            if algorithm == Algorithm::SlidingLog(Refusals::Count) {
                continue;
            }
            for (cost, window_us) in [(1, 997_003), (3, 61_000_001), (5, 1_000)] {
                let clock = ManualClock::new(START);
                let node = node_at(&server, &clock).await;
                let quota = Quota::new(7, Duration::from_micros(window_us));
                let name = format!("{number}:{cost}");
                let policy = RatePolicy::new(name, algorithm, [quota]).adjustable();
                let ask = ask(&Arc::new(policy), "ann", cost);
                for _ in 0..10 {
                    let decision = charge(&node, &ask).await.decision.unwrap();
                    let wait = decision.retry_after.unwrap();
                    if !decision.allowed {
                        clock.advance(wait - micro);
                        assert!(!charge(&node, &ask).await.decision.unwrap().allowed, "{ask:?}");
                        clock.advance(micro);
                        assert!(charge(&node, &ask).await.decision.unwrap().allowed, "{ask:?}");
                    }
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_hash_alike_and_count_together_by_the_time_of_the_server() {
    let server = start(Engine::Redis);
    let here = node(&server).await;
    let there = node(&server).await;
    assert_eq!(here.hasher().hash("ann"), there.hasher().hash("ann"));
    let daily = policy(Algorithm::FixedWindow(Alignment::FirstHit), Quota::per_day(3));
    for node in [&here, &there, &here] {
        assert!(charge(node, &ask(&daily, "ann", 1)).await.charge.is_some());
    }
    let refused = charge(&there, &ask(&daily, "ann", 1)).await.decision.unwrap();
    let wait = refused.retry_after.unwrap();
    assert!(!refused.allowed && wait > Duration::from_secs(86_000), "{wait:?}");
    assert_eq!(refused.reset, wait);
    assert_eq!(ask(&daily, "ann", 1).key, key("ann"));
}
