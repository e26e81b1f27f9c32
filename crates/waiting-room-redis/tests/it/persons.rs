//! Persons whom the application identifies have one session and one place on two nodes.

use std::time::Duration;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
    routing::get,
};
use tower::ServiceExt;
use tower_waiting_room::{KeyRing, StoreFailure, TokenKey, WaitingRoomConfig, WaitingRoomLayer};
use waiting_room_core::{RoomRules, Store, Timestamp, time::ManualClock};
use waiting_room_engines::EngineServer;
use waiting_room_redis::{RedisStore, RedisStoreOptions};

use crate::support::{connect_to, on_each, start};

/// Starts a node of a room for two visitors, which knows persons by a header.
async fn node(server: &EngineServer, clock: &ManualClock) -> (Router, RedisStore) {
    let options = RedisStoreOptions::new().deadline(Duration::from_secs(5)).clock(clock.clone());
    let rules = RoomRules::new("shop", 2);
    let store = connect_to(server.port(), rules, options).await.unwrap();
    let config = WaitingRoomConfig::builder("shop")
        .room_store(store.clone(), StoreFailure::Wait)
        .keys(KeyRing::new(TokenKey::from_bytes([7; 32])))
        .identity(|head| Some(head.headers().get("x-login")?.to_str().ok()?.to_owned()));
    let layer = WaitingRoomLayer::new(config.build().unwrap());
    (Router::new().route("/", get(|| async { "inside" })).layer(layer), store)
}

/// Sends a request with the cookie, and replaces it with the cookie of the response. Returns the
/// body.
async fn send(node: &Router, login: &str, cookie: &mut Option<String>) -> String {
    let mut request = Request::get("/").header("accept", "application/json");
    request = request.header("x-login", login);
    if let Some(cookie) = cookie {
        request = request.header("cookie", &*cookie);
    }
    let response = node.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    if let Some(set) = response.headers().get("set-cookie") {
        *cookie = set.to_str().unwrap().split(';').next().map(str::to_owned);
    }
    let body = to_bytes(response.into_body(), 10_000).await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

/// A client without a cookie gets a ticket at one node, and a place with it. Returns the answer.
async fn queued(node: &Router, login: &str, clock: &ManualClock) -> String {
    let mut cookie = None;
    send(node, login, &mut cookie).await;
    clock.advance(Duration::from_secs(2));
    send(node, login, &mut cookie).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_has_one_session_and_one_place_at_all_nodes() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
        let (here, store) = node(&server, &clock).await;
        let (there, _) = node(&server, &clock).await;
        let mut phone = None;
        let mut laptop = None;
        assert_eq!(send(&here, "ann", &mut phone).await, "inside");
        assert_eq!(send(&there, "ann", &mut laptop).await, "inside");
        assert_eq!(store.snapshot().await.unwrap().active, 1);
        assert_eq!(send(&there, "ben", &mut None).await, "inside");
        // The room is full, and Zoe waits with two devices, one of which arrives after Eve.
        for (node, login, position) in
            [(&here, "zoe", 1), (&there, "eve", 2), (&there, "zoe", 1), (&here, "eve", 2)]
        {
            let answer = queued(node, login, &clock).await;
            assert!(answer.contains(&format!("\"position\":{position},")), "{login}: {answer}");
        }
        let snapshot = store.snapshot().await.unwrap();
        assert_eq!((snapshot.active, snapshot.waiting), (2, 2));
        // A copy of another person's pass is no pass.
        assert_ne!(send(&here, "eve", &mut phone.clone()).await, "inside");
        assert_eq!(send(&there, "ann", &mut phone).await, "inside");
    })
    .await;
}
