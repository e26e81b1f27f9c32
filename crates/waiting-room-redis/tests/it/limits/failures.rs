//! A server that is killed or paused, and comes back.

use std::time::Duration;

use tokio::time::Instant;
use waiting_room_core::{
    Quota,
    error::StoreErrorKind,
    rate::{Algorithm, ChargeRequest, RateStore},
};
use waiting_room_engines::{Engine, EngineServer};
use waiting_room_redis::{RedisLimits, RedisStoreOptions};

use crate::link::Link;

use super::support::{ask, manager, policy, scripts};
use crate::support::{assert_opened_at_once, open, start};

/// The longest time that a decision may take.
const DEADLINE: Duration = Duration::from_millis(200);

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_server_is_given_its_deadline_and_then_spared_until_it_answers() {
    for engine in Engine::ALL {
        let server = start(engine);
        let node = node(&server).await;
        let asks = [ask(&policy(Algorithm::Gcra, Quota::per_hour(1_000)), "ann", 1)];
        recovers(&node, &asks).await;
        server.pause().unwrap();
        let mut kinds = Vec::new();
        for _ in 0..8 {
            kinds.push(node.charge_all(&asks).await.unwrap_err().kind());
        }
        // The first call may have to wait behind a call of the node's own that was in flight when the
        // server was paused. Such a call has not been sent, and fails as busy.
        let sent = kinds.iter().find(|kind| **kind != StoreErrorKind::Busy);
        assert_eq!(sent, Some(&StoreErrorKind::Timeout), "{kinds:?}");
        assert_eq!(kinds[7], StoreErrorKind::Unavailable, "no more calls are sent");
        server.resume().unwrap();
        recovers(&node, &asks).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_is_missed_at_once_and_found_again() {
    let mut server = start(Engine::Redis);
    let node = node(&server).await;
    let asks = [ask(&policy(Algorithm::Gcra, Quota::per_hour(1_000)), "ann", 1)];
    recovers(&node, &asks).await;
    server.kill();
    for _ in 0..8 {
        assert!(node.charge_all(&asks).await.is_err());
    }
    server.start_again().unwrap();
    recovers(&node, &asks).await;
    // Whatever the server has lost, its nodes agree on the hashes of keys.
    let other = self::node(&server).await;
    assert_eq!(node.hasher().hash("ann"), other.hasher().hash("ann"));
}

#[tokio::test(flavor = "multi_thread")]
async fn all_requests_during_an_outage_are_answered_in_time() {
    let server = start(Engine::Valkey);
    let node = node(&server).await;
    let ask = ask(&policy(Algorithm::SlidingCounter, Quota::per_hour(1_000)), "ann", 1);
    recovers(&node, std::slice::from_ref(&ask)).await;
    server.pause().unwrap();
    let asked = Instant::now();
    let mut tries = tokio::task::JoinSet::new();
    for _ in 0..20_000 {
        let node = node.clone();
        let asks = [ask.clone()];
        tries.spawn(async move { node.charge_all(&asks).await.is_err() });
    }
    assert!(tries.join_all().await.into_iter().all(|is_err| is_err));
    // If each batch waited for the server, all batches together would take a minute.
    assert!(asked.elapsed() < Duration::from_secs(25), "{:?}", asked.elapsed());
    server.resume().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_whose_other_end_has_vanished_is_replaced() {
    for engine in Engine::ALL {
        let server = start(engine);
        let link = Link::to(server.port()).await;
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", link.port)).unwrap();
        let options = RedisStoreOptions::new().deadline(DEADLINE);
        let node =
            RedisLimits::connect(move || open(client.clone()), "api", options).await.unwrap();
        let asks = [ask(&policy(Algorithm::Gcra, Quota::per_hour(1_000)), "ann", 1)];
        recovers(&node, &asks).await;
        link.vanish();
        assert!(node.charge_all(&asks).await.is_err());
        recovers(&node, &asks).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_drop_again_and_again_are_opened_again_at_once() {
    for engine in Engine::ALL {
        let server = start(engine);
        let link = Link::to(server.port()).await;
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", link.port)).unwrap();
        let node =
            RedisLimits::connect(move || open(client.clone()), "api", RedisStoreOptions::new());
        let node = node.await.unwrap();
        let asks = [ask(&policy(Algorithm::Gcra, Quota::per_hour(1_000)), "ann", 1)];
        recovers(&node, &asks).await;
        let mut times = Vec::new();
        for _ in 0..10 {
            link.drop_connections();
            assert!(node.charge_all(&asks).await.is_err(), "{engine}: the connection is whole");
            let began = Instant::now();
            recovers(&node, &asks).await;
            times.push(began.elapsed());
        }
        assert_opened_at_once(&times);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_answers_and_refuses_writes_is_asked_seldom() {
    for engine in Engine::ALL {
        let server = start(engine);
        let node = node(&server).await;
        let asks = [ask(&policy(Algorithm::Gcra, Quota::per_hour(1_000)), "ann", 1)];
        recovers(&node, &asks).await;
        bound_memory(&server, 1).await;
        let before = scripts(&server).await;
        let began = Instant::now();
        let mut looks = tokio::time::interval(Duration::from_millis(2));
        while began.elapsed() < Duration::from_secs(2) {
            looks.tick().await;
            assert!(node.charge_all(&asks).await.is_err(), "{engine}: the server is not full");
        }
        let ran = scripts(&server).await - before;
        assert!((5..=80).contains(&ran), "{engine}: {ran} scripts in two seconds");
        bound_memory(&server, 0).await;
        recovers(&node, &asks).await;
    }
}

async fn bound_memory(server: &EngineServer, bytes: u64) {
    let mut command = redis::cmd("CONFIG");
    command.arg("SET").arg("maxmemory").arg(bytes);
    let () = command.query_async(&mut manager(server).await).await.unwrap();
}

async fn node(server: &EngineServer) -> RedisLimits {
    let options = RedisStoreOptions::new().deadline(DEADLINE);
    RedisLimits::with_connection(manager(server).await, "api", options).await.unwrap()
}

/// Charges until it succeeds, which takes little more than the second between two probes.
async fn recovers(node: &RedisLimits, asks: &[ChargeRequest]) {
    let mut looks = tokio::time::interval(Duration::from_millis(20));
    let since = Instant::now();
    while node.charge_all(asks).await.is_err() {
        looks.tick().await;
        assert!(since.elapsed() < Duration::from_secs(60), "the node does not recover");
    }
}
