//! The state on the server: the names of its keys, their expiry, and the clock.

use std::{sync::Arc, time::Duration};

use redis::aio::MultiplexedConnection;
use waiting_room_core::{
    Quota,
    error::StoreErrorKind,
    rate::{Algorithm, Alignment, ChargeRequest, RatePolicy, RateStore, Refusals},
    time::ManualClock,
};
use waiting_room_engines::{Engine, EngineServer, Persistence};
use waiting_room_redis::RedisLimits;

use super::support::{START, all, ask, charge, node, node_at, policy};
use crate::support::{connection, patient, start};

async fn keys(connection: &mut MultiplexedConnection) -> Vec<String> {
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query_async(connection).await.unwrap();
    keys.into_iter().filter(|key| key != "{wr:api}:limits").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_hashes_under_one_tag_and_end_when_they_are_replenished() {
    for engine in Engine::ALL {
        let server = start(engine);
        let node = node(&server).await;
        let mut connection = connection(&server).await;
        for algorithm in all() {
            let _: () = redis::cmd("FLUSHALL").query_async(&mut connection).await.unwrap();
            let half = ask(&policy(algorithm, Quota::per_hour(10)), "192.0.2.1", 5);
            charge(&node, &half).await;
            let names = keys(&mut connection).await;
            let [name] = names.as_slice() else { panic!("{names:?}") };
            let prefix = "{wr:api}:limits:per_ip:";
            assert!(name.starts_with(prefix) && !name.contains("192.0.2.1"), "{name}");
            assert!(name.len() <= prefix.len() + 2 + 1 + 16, "{name}");
            let left: u64 =
                redis::cmd("PTTL").arg(name).query_async(&mut connection).await.unwrap();
            let most = if algorithm == Algorithm::SlidingCounter {
                7_200_000
            } else if algorithm.is_bucket() {
                1_800_000
            } else {
                3_600_000
            };
            assert!(left <= most, "{algorithm:?}: {left} ms");
            // The other windows begin at fixed times.
            let begins_with_a_charge = algorithm.is_bucket()
                || matches!(
                    algorithm,
                    Algorithm::FixedWindow(Alignment::FirstHit) | Algorithm::SlidingLog(_)
                );
            assert!(!begins_with_a_charge || left > most - 10_000, "{algorithm:?}: {left} ms");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_is_never_longer_than_its_limit() {
    let server = start(Engine::Redis);
    let clock = ManualClock::new(START);
    let node = node_at(&server, &clock).await;
    let log = Algorithm::SlidingLog(Refusals::Count);
    let ask = ask(&policy(log, Quota::per_hour(20)), "ann", 1);
    let mut connection = connection(&server).await;
    for _ in 0..200 {
        clock.advance(Duration::from_micros(700));
        let said = charge(&node, &ask).await;
        if let Some(charge) = &said.charge {
            node.settle(&ask, charge, 3).unwrap();
        }
    }
    let names = keys(&mut connection).await;
    let runs: u64 = redis::cmd("LLEN").arg(&names[0]).query_async(&mut connection).await.unwrap();
    assert_eq!(runs, 1 + 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_refund_is_taken_from_the_oldest_events() {
    let server = start(Engine::Valkey);
    let clock = ManualClock::new(START);
    let node = node_at(&server, &clock).await;
    let log = Algorithm::SlidingLog(Refusals::Ignore);
    let policy = RatePolicy::new("log", log, [Quota::per_hour(1_503)]).adjustable();
    let policy = Arc::new(policy);
    let second = Duration::from_secs(1);
    let mut charges = Vec::new();
    for _ in 0..1_503 {
        charges.push(charge(&node, &ask(&policy, "ann", 1)).await.charge.unwrap());
        clock.advance(second);
    }
    let waits =
        async |cost| charge(&node, &ask(&policy, "ann", cost)).await.decision.unwrap().retry_after;
    let left = |seconds: u64| Some(Duration::from_secs(3_600 - 1_503 + seconds));
    assert_eq!(waits(1).await, left(0));
    // Among the last thousand runs, the event itself is removed.
    node.settle(&ask(&policy, "ann", 1), &charges[600], 0).unwrap();
    assert_eq!(waits(2).await, left(0));
    // In place of an older event, the oldest event is removed: as much is free now, but no more is
    // free later.
    node.settle(&ask(&policy, "ann", 1), &charges[100], 0).unwrap();
    assert_eq!(waits(3).await, left(1));
    assert_eq!(waits(2).await, Some(Duration::ZERO));
}

#[tokio::test(flavor = "multi_thread")]
async fn used_units_stay_used_when_quotas_change() {
    let server = start(Engine::Valkey);
    for algorithm in all() {
        let clock = ManualClock::new(START);
        let node = node_at(&server, &clock).await;
        let name = format!("{algorithm:?}");
        let with = |quota| {
            let policy = RatePolicy::new(name.clone(), algorithm, [quota]).adjustable();
            ask(&Arc::new(policy), "ann", 1)
        };
        let allowed = async |ask: &ChargeRequest| charge(&node, ask).await.charge.is_some();
        for _ in 0..4 {
            assert!(allowed(&with(Quota::per_hour(4))).await, "{algorithm:?}");
        }
        assert!(!allowed(&with(Quota::per_hour(4))).await, "{algorithm:?}");
        if !algorithm.is_bucket() {
            assert!(!allowed(&with(Quota::per_minute(4))).await, "{algorithm:?}");
            assert!(allowed(&with(Quota::per_minute(60))).await, "{algorithm:?}");
        }
        // A client waits no longer than the new quota can make it, even if it keeps sending
        // requests.
        assert!(!allowed(&with(Quota::per_minute(4))).await, "{algorithm:?}");
        let mut times = 0;
        for _ in 0..12 {
            clock.advance(Duration::from_secs(10));
            times += u32::from(allowed(&with(Quota::per_minute(4))).await);
        }
        let is_penal = algorithm == Algorithm::SlidingLog(Refusals::Count);
        assert_eq!(times > 0, !is_penal, "{algorithm:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_back_goes_on_from_where_it_was() {
    let server = start(Engine::Redis);
    for algorithm in all() {
        let late = node_at(&server, &ManualClock::new(START + Duration::from_secs(3_600))).await;
        let clock = ManualClock::new(START);
        let early = node_at(&server, &clock).await;
        let policy = RatePolicy::new(format!("{algorithm:?}"), algorithm, [Quota::per_minute(2)]);
        let ann = Arc::new(policy.adjustable());
        let bob = "bob";
        for _ in 0..2 {
            assert!(charge(&late, &ask(&ann, "ann", 1)).await.charge.is_some());
        }
        let refused = charge(&early, &ask(&ann, "ann", 1)).await.decision.unwrap();
        let wait = refused.retry_after.unwrap();
        assert!(!refused.allowed && wait <= Duration::from_secs(120), "{algorithm:?}: {wait:?}");
        assert!(charge(&early, &ask(&ann, bob, 1)).await.charge.is_some());
        clock.advance(wait);
        if algorithm != Algorithm::SlidingLog(Refusals::Count) {
            assert!(charge(&early, &ask(&ann, "ann", 1)).await.charge.is_some(), "{algorithm:?}");
        }
        let mut connection = connection(&server).await;
        let _: () = redis::cmd("FLUSHALL").query_async(&mut connection).await.unwrap();
        let _: () = redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut connection).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_emptied_server_gets_its_script_and_secret_again() {
    let server = start(Engine::Redis);
    let old = node(&server).await;
    let mut connection = connection(&server).await;
    let daily = policy(Algorithm::Gcra, Quota::per_day(3));
    for command in ["FLUSHALL", "SCRIPT"] {
        let mut command = redis::cmd(command);
        let _: () = command.arg("SYNC").query_async(&mut connection).await.unwrap_or_default();
    }
    let _: () = redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut connection).await.unwrap();
    assert!(charge(&old, &ask(&daily, "ann", 1)).await.charge.is_some());
    assert_eq!(old.hasher().hash("ann"), node(&server).await.hasher().hash("ann"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_with_another_secret_learns_the_shared_one() {
    let server = start(Engine::Redis);
    let old = node(&server).await;
    let mut connection = connection(&server).await;
    let _: () = redis::cmd("FLUSHALL").query_async(&mut connection).await.unwrap();
    let new = node(&server).await;
    assert_ne!(old.hasher().hash("ann"), new.hasher().hash("ann"));
    let asks = [ask(&policy(Algorithm::Gcra, Quota::per_day(3)), "ann", 1)];
    let error = old.charge_all(&asks).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    assert_eq!(old.hasher().hash("ann"), new.hasher().hash("ann"));
    assert!(old.charge_all(&asks).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_evicts_keys_and_a_name_with_a_brace_are_refused() {
    let evicting = ["--maxmemory", "100mb", "--maxmemory-policy", "volatile-ttl"];
    let server = EngineServer::start_with(Engine::Valkey, &evicting).unwrap();
    let error = RedisLimits::with_connection(connection(&server).await, "api", patient())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Rules);
    let server = EngineServer::start(Engine::Redis, Persistence::Never).unwrap();
    let error = RedisLimits::with_connection(connection(&server).await, "a}b", patient())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Rules);
}
