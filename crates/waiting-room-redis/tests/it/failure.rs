//! Servers that do not answer, and connections that break.

use std::time::Duration;

use tokio::time::Instant;
use waiting_room_core::{
    Reason, RoomRules, Store, VisitorId,
    error::StoreErrorKind,
    time::{Clock, SystemClock},
};
use waiting_room_redis::{RedisStore, RedisStoreOptions};

use crate::{
    link::Link,
    support::{
        admitted, assert_opened_at_once, connect, connect_to, eventually, is_overdue, manager,
        node, on_each, start,
    },
};

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_takes_too_long_is_an_error_and_spares_the_next_calls() {
    on_each(async |engine| {
        let server = start(engine);
        let options = RedisStoreOptions::new().deadline(Duration::from_millis(20));
        let store = connect(&server, RoomRules::new("shop", 100), options).await.unwrap();
        server.pause().unwrap();
        let first = store.enter(VisitorId::new(0)).await.unwrap_err();
        assert!(is_overdue(first.kind()), "{first:?}");
        eventually(async || {
            let error = store.enter(VisitorId::new(1)).await.unwrap_err();
            (error.kind() == StoreErrorKind::Unavailable).then_some(())
        })
        .await;
        server.resume().unwrap();
        eventually(async || store.enter(VisitorId::new(9)).await.ok()).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_returns_is_used_again() {
    on_each(async |engine| {
        let mut server = start(engine);
        let store = node(&server, RoomRules::new("shop", 100)).await;
        admitted(&store, 1).await;
        server.kill();
        eventually(async || store.enter(VisitorId::new(2)).await.err()).await;
        server.start_again().unwrap();
        eventually(async || store.enter(VisitorId::new(3)).await.ok()).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_starts_while_its_server_is_away_joins_the_room_when_it_is_there() {
    on_each(async |engine| {
        let mut server = start(engine);
        server.kill();
        let rules = RoomRules::new("shop", 3);
        let store = connect(&server, rules.clone(), RedisStoreOptions::new()).await.unwrap();
        let error = store.enter(VisitorId::new(1)).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unavailable);
        let now = store.now();
        let clock = SystemClock::new().now();
        assert!(now.since(clock) + clock.since(now) < Duration::from_secs(10), "{now:?} {clock:?}");
        server.start_again().unwrap();
        let told = eventually(async || store.enter(VisitorId::new(1)).await.ok()).await;
        assert_eq!(*told.reason(), Reason::AdmittedSlot, "{engine}");
        // A node that starts later joins the room that the first node has opened.
        let later = node(&server, rules).await;
        assert_eq!(later.snapshot().await.unwrap().active, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_there_and_refuses_a_node_is_an_error_at_its_start() {
    on_each(async |engine| {
        let server = start(engine);
        let url = format!("redis://someone:wrong@127.0.0.1:{}", server.port());
        let client = redis::Client::open(url).unwrap();
        let connect = move || crate::support::open(client.clone());
        let options = RedisStoreOptions::new();
        let refused = RedisStore::connect(connect, RoomRules::new("shop", 1), options).await;
        assert_eq!(refused.unwrap_err().kind(), StoreErrorKind::Unavailable, "{engine}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_whose_other_end_has_vanished_is_replaced() {
    on_each(async |engine| {
        let server = start(engine);
        let link = Link::to(server.port()).await;
        let options = RedisStoreOptions::new().deadline(Duration::from_millis(200));
        let rules = RoomRules::new("shop", 100);
        let store = connect_to(link.port, rules, options).await.unwrap();
        eventually(async || store.enter(VisitorId::new(1)).await.ok()).await;
        link.vanish();
        eventually(async || store.enter(VisitorId::new(2)).await.err()).await;
        eventually(async || store.enter(VisitorId::new(3)).await.ok()).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_drop_again_and_again_are_opened_again_at_once() {
    on_each(async |engine| {
        let server = start(engine);
        let link = Link::to(server.port()).await;
        let rules = RoomRules::new("shop", 100);
        let store = connect_to(link.port, rules, RedisStoreOptions::new()).await.unwrap();
        let mut times = Vec::new();
        for id in 0..10 {
            link.drop_connections();
            eventually(async || store.enter(VisitorId::new(id)).await.err()).await;
            let began = Instant::now();
            eventually(async || store.enter(VisitorId::new(id)).await.ok()).await;
            times.push(began.elapsed());
        }
        assert_opened_at_once(&times);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_that_a_server_has_dropped_are_loaded_again() {
    on_each(async |engine| {
        let server = start(engine);
        let store = node(&server, RoomRules::new("shop", 100)).await;
        admitted(&store, 1).await;
        let mut script = redis::cmd("SCRIPT");
        let () = script.arg("FLUSH").query_async(&mut manager(&server).await).await.unwrap();
        admitted(&store, 2).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_may_evict_keys_is_refused() {
    on_each(async |engine| {
        let options = ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"];
        let server = waiting_room_engines::EngineServer::start_with(engine, &options).unwrap();
        let error = connect(&server, RoomRules::new("shop", 1), RedisStoreOptions::new()).await;
        let error = error.unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(
            cause.starts_with("maxmemory-policy is allkeys-lru, expected noeviction"),
            "{cause}"
        );
    })
    .await;
}
