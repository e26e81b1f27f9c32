//! Nodes that lease blocks, and spend them without the store.

use std::{sync::Arc, time::Duration};

use tokio::task::JoinSet;
use waiting_room_core::{
    Quota,
    rate::{Algorithm, Alignment, ChargeRequest, RatePolicy, RateStore, Refusals},
    time::ManualClock,
};
use waiting_room_engines::{Engine, EngineServer};
use waiting_room_redis::{Blocks, RedisLimits};

use super::support::{START, all, ask, charge, node_at, policy, scripts};
use crate::support::{eventually, start};

const LEASE: Duration = Duration::from_secs(1);

/// Returns the algorithms whose limits can be leased.
pub(crate) fn leased() -> impl Iterator<Item = Algorithm> {
    let counts_refusals = Algorithm::SlidingLog(Refusals::Count);
    all().into_iter().filter(move |&algorithm| {
        algorithm != Algorithm::LeakyQueue && algorithm != counts_refusals
    })
}

/// Starts a node that leases blocks of at most `largest` units.
pub(crate) async fn lessee(
    server: &EngineServer,
    clock: &ManualClock,
    largest: u64,
) -> RedisLimits {
    let blocks = Blocks::max(largest).lease(LEASE);
    node_at(server, clock).await.leasing(blocks).unwrap()
}

fn daily(name: &str, algorithm: Algorithm, limit: u64) -> Arc<RatePolicy> {
    Arc::new(RatePolicy::new(format!("{name}:{algorithm:?}"), algorithm, [Quota::per_day(limit)]))
}

/// Charges a limit. Returns what remains, or `None` if the charge is refused.
async fn spend(node: &RedisLimits, ask: &ChargeRequest) -> Option<u64> {
    let reply = charge(node, ask).await;
    reply.charge.map(|_| reply.decision.unwrap().remaining)
}

/// Returns what the store has left, through a node that leases no blocks.
async fn left(node: &RedisLimits, ask: &ChargeRequest) -> u64 {
    let mut look = ask.clone();
    look.cost = 0;
    charge(node, &look).await.decision.unwrap().remaining
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_within_a_block_need_no_call_and_report_the_remaining_units() {
    for engine in Engine::ALL {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let node = lessee(&server, &clock, 50).await;
        let other = node_at(&server, &clock).await;
        for algorithm in leased() {
            let one = ask(&daily("one", algorithm, 1_000), "ann", 1);
            // The first request of a key leases no block. After a second one, more are likely.
            assert_eq!(spend(&node, &one).await, Some(999));
            assert_eq!(left(&other, &one).await, 999);
            assert_eq!(spend(&node, &one).await, Some(998));
            assert_eq!(left(&other, &one).await, 948, "{algorithm:?}");
            let before = scripts(&server).await;
            for spent in 3..=52 {
                assert_eq!(spend(&node, &one).await, Some(1_000 - spent), "{algorithm:?}");
            }
            assert_eq!(scripts(&server).await, before, "{algorithm:?} on {engine}");
            assert_eq!(spend(&node, &one).await, Some(947));
            assert_eq!(scripts(&server).await, before + 1);
            assert_eq!(left(&other, &one).await, 897);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unspent_units_return_when_the_lease_ends() {
    for engine in Engine::ALL {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let node = lessee(&server, &clock, 50).await;
        let other = node_at(&server, &clock).await;
        for algorithm in leased() {
            let one = ask(&daily("unspent", algorithm, 100), "ann", 1);
            for spent in 1..=5 {
                assert_eq!(spend(&node, &one).await, Some(100 - spent));
            }
            assert_eq!(left(&other, &one).await, 100 - 2 - 12);
            clock.advance(LEASE);
            eventually(async || (left(&other, &one).await == 95).then_some(())).await;
            for spent in 6..=100 {
                assert_eq!(spend(&other, &one).await, Some(100 - spent), "{algorithm:?}");
            }
            assert_eq!(spend(&other, &one).await, None, "{algorithm:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn near_the_limit_every_request_asks_and_every_unit_is_spent() {
    let server = start(Engine::Redis);
    let clock = ManualClock::new(START);
    let nodes = [lessee(&server, &clock, 50).await, lessee(&server, &clock, 50).await];
    for algorithm in leased() {
        let one = ask(&daily("near", algorithm, 200), "ann", 1);
        let mut spent = 0_u64;
        let mut last_asked = 0;
        for turn in 0..1_000 {
            let before = scripts(&server).await;
            spent += u64::from(spend(&nodes[turn % 2], &one).await.is_some());
            if scripts(&server).await == before && spent < 200 {
                last_asked = spent;
            }
        }
        assert_eq!(spent, 200, "{algorithm:?}");
        assert!((150..200).contains(&last_asked), "{algorithm:?}: {last_asked}");
        let few = ask(&daily("few", algorithm, 8), "ann", 1);
        for turn in 0..8 {
            let before = scripts(&server).await;
            assert!(spend(&nodes[turn % 2], &few).await.is_some());
            assert_eq!(scripts(&server).await, before + 1, "{algorithm:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_that_cannot_be_lent_are_asked_each_time() {
    let server = start(Engine::Redis);
    let clock = ManualClock::new(START);
    let node = lessee(&server, &clock, 50).await;
    let other = node_at(&server, &clock).await;
    for algorithm in [Algorithm::LeakyQueue, Algorithm::SlidingLog(Refusals::Count)] {
        let alone = ask(&daily("alone", algorithm, 1_000), "ann", 1);
        let twin = ask(&daily("twin", algorithm, 1_000), "ann", 1);
        let both = [alone.clone(), ask(&daily("with", algorithm, 1_000), "ann", 1)];
        let wide = ask(&daily("wide", Algorithm::Gcra, 1_000), "ann", 1);
        // From now on the server knows the script.
        left(&other, &alone).await;
        let before = scripts(&server).await;
        for _ in 0..5 {
            assert_eq!(charge(&node, &alone).await.decision, charge(&other, &twin).await.decision);
            node.charge_all(&[both[1].clone(), wide.clone()]).await.unwrap();
        }
        assert_eq!(scripts(&server).await, before + 15);
        // No block of the other limit is leased, since no request could spend it without the store.
        let expected = if algorithm == Algorithm::LeakyQueue { 995 } else { 990 };
        assert_eq!(left(&other, &wide).await, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_by_one_limit_spends_nothing_from_the_block_of_another() {
    let server = start(Engine::Redis);
    let clock = ManualClock::new(START);
    let node = lessee(&server, &clock, 50).await;
    let other = node_at(&server, &clock).await;
    let wide = ask(&daily("wide", Algorithm::Gcra, 1_000), "all", 1);
    let narrow = |cost| ask(&daily("narrow", Algorithm::Gcra, 40), "ann", cost);
    for _ in 0..3 {
        node.charge_all(&[wide.clone(), narrow(1)]).await.unwrap();
    }
    for cost in [38, 41, 1_000] {
        for asks in [[wide.clone(), narrow(cost)], [narrow(cost), wide.clone()]] {
            let replies = node.charge_all(&asks).await.unwrap();
            assert!(replies.iter().all(|reply| reply.charge.is_none()), "{cost}: {replies:?}");
        }
    }
    clock.advance(LEASE);
    eventually(async || (left(&other, &wide).await == 997).then_some(())).await;
    eventually(async || (left(&other, &narrow(0)).await == 37).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_requests_never_spend_a_unit_twice() {
    for engine in Engine::ALL {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let nodes = [lessee(&server, &clock, 20).await, lessee(&server, &clock, 20).await];
        for algorithm in leased() {
            let one = ask(&daily("many", algorithm, 500), "ann", 1);
            let mut tries = JoinSet::new();
            for number in 0..1_500 {
                let node = nodes[number % 2].clone();
                let one = one.clone();
                tries.spawn(async move { spend(&node, &one).await.is_some() });
            }
            let allowed = tries.join_all().await.into_iter().filter(|&allowed| allowed).count();
            assert!((480..=500).contains(&allowed), "{allowed}: {algorithm:?} on {engine}");
            // Requests that were refused because of blocks of the other node are allowed when the
            // leases have ended. The clock of the test is no faster than that of the machine, or the limit
            // would be replenished while the other node gives its blocks back.
            clock.advance(2 * LEASE);
            let mut spent = allowed;
            let mut looks = tokio::time::interval(Duration::from_millis(1));
            eventually(async || {
                looks.tick().await;
                spent += usize::from(spend(&nodes[0], &one).await.is_some());
                clock.advance(Duration::from_millis(1));
                (spent >= 500).then_some(())
            })
            .await;
            clock.advance(2 * LEASE);
            assert_eq!(spend(&nodes[1], &one).await, None, "{algorithm:?} on {engine}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_is_refused_for_units_that_its_node_holds() {
    let server = start(Engine::Redis);
    let clock = ManualClock::new(START);
    let node = lessee(&server, &clock, 50).await;
    let other = node_at(&server, &clock).await;
    for algorithm in leased() {
        let all = ask(&daily("all", algorithm, 100), "all", 1);
        for _ in 0..2 {
            assert!(spend(&node, &all).await.is_some());
        }
        assert_eq!(spend(&other, &ask(&all.policy, "all", 86)).await, Some(0));
        // The other limit has no block, so the store decides on both limits.
        let asks = [ask(&daily("each", algorithm, 100), "ann", 1), all.clone()];
        let replies = node.charge_all(&asks).await.unwrap();
        assert!(replies.iter().all(|reply| reply.charge.is_some()), "{replies:?}");
        assert_eq!(replies[1].decision.unwrap().remaining, 11, "{algorithm:?}");
        assert_eq!(left(&other, &all).await, 11, "{algorithm:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_refused_for_a_block_of_another_node_may_return_after_a_lease() {
    let server = start(Engine::Redis);
    let clock = ManualClock::new(START);
    let nodes = [lessee(&server, &clock, 50).await, lessee(&server, &clock, 50).await];
    let log = Algorithm::SlidingLog(Refusals::Ignore);
    let one = ask(&daily("early", log, 100), "ann", 1);
    for _ in 0..2 {
        assert!(spend(&nodes[0], &one).await.is_some());
    }
    let most = ask(&one.policy, "ann", 90);
    assert_eq!(spend(&nodes[1], &most).await, None, "12 are held");
    clock.advance(LEASE);
    let other = node_at(&server, &clock).await;
    eventually(async || (left(&other, &one).await == 98).then_some(())).await;
    assert_eq!(spend(&nodes[1], &most).await, Some(8));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_belongs_to_one_tier_and_quota_and_causes_no_refusal() {
    let server = start(Engine::Redis);
    let clock = ManualClock::new(START);
    let node = lessee(&server, &clock, 50).await;
    let other = node_at(&server, &clock).await;
    let tiers = [Quota::per_hour(100), Quota::per_hour(200)];
    let window = Algorithm::FixedWindow(Alignment::Epoch);
    let policy = Arc::new(RatePolicy::new("tiers", window, tiers));
    let free = ask(&policy, "ann", 1);
    let mut paid = free.clone();
    paid.tier = 1;
    for spent in 1..=2 {
        assert_eq!(spend(&node, &free).await, Some(100 - spent));
    }
    assert_eq!(spend(&node, &paid).await, Some(199));
    assert_eq!(spend(&node, &ask(&policy, "bob", 1)).await, Some(99));

    // The store has 86 units left and the node holds 12, which is enough if it gives them back.
    let most = ask(&policy, "ann", 98);
    assert_eq!(spend(&node, &most).await, Some(0));
    assert_eq!(left(&other, &free).await, 0);
    assert_eq!(left(&other, &paid).await, 199);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_is_spent_while_the_server_is_away_and_no_longer_than_its_lease() {
    let mut server = start(Engine::Redis);
    let clock = ManualClock::new(START);
    let node = lessee(&server, &clock, 10).await;
    let one = ask(&policy(Algorithm::Gcra, Quota::per_hour(1_000)), "ann", 1);
    for _ in 0..3 {
        assert!(spend(&node, &one).await.is_some());
    }
    server.kill();
    for _ in 0..5 {
        assert!(spend(&node, &one).await.is_some());
    }
    clock.advance(LEASE);
    assert!(node.charge_all(std::slice::from_ref(&one)).await.is_err());
}
