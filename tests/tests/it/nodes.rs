//! Several nodes with one store, on Redis and on Valkey.

use std::{env, num::NonZeroU32, time::Duration};

use axum::{Router, body::Body, routing::get};
use http::{Request, Response, header};
use redis::aio::ConnectionManager;
use tower::ServiceExt;
use tower_waiting_room::{
    KeyRing, StoreFailure, TokenKey, WaitingRoomConfig, WaitingRoomLayer, room::RoomRules,
    token::CookieSettings,
};
use waiting_room_engines::{Engine, EngineServer, Persistence};
use waiting_room_redis::{RedisStore, RedisStoreOptions};

/// A node of the shop, with a store on this server.
async fn node(server: &EngineServer, on_failure: StoreFailure) -> Router {
    let rules = RoomRules::new("shop", 2).session_duration(Duration::from_secs(300));
    let options = RedisStoreOptions::new();
    let store = RedisStore::with_connection(manager(server).await, rules, options).await.unwrap();
    let config = WaitingRoomConfig::builder("shop")
        .room_store(store, on_failure)
        .cookie(CookieSettings::new())
        .keys(KeyRing::new(TokenKey::from_bytes([7; 32])))
        .leave_path("/leave");
    let layer = WaitingRoomLayer::new(config.build().unwrap());
    Router::new().route("/", get(|| async { "inside" })).layer(layer)
}

async fn manager(server: &EngineServer) -> ConnectionManager {
    let client = redis::Client::open(server.url()).unwrap();
    client.get_connection_manager().await.unwrap()
}

async fn get_with(app: &Router, cookie: Option<&str>) -> Response<Body> {
    let mut request = Request::get("/");
    if let Some(cookie) = cookie {
        request = request.header(header::COOKIE, cookie);
    }
    app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}

fn cookie(response: &Response<Body>) -> String {
    let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

/// The number of `EVALSHA` calls, as counted by the server.
async fn calls(connection: &mut ConnectionManager) -> u64 {
    let mut info = redis::cmd("INFO");
    let info: String = info.arg("commandstats").query_async(connection).await.unwrap();
    let line = info.lines().find(|line| line.starts_with("cmdstat_evalsha:")).unwrap();
    line.split(['=', ',']).nth(1).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_of_one_node_is_valid_at_all_without_a_store_call() {
    let requests: u32 = env::var("PASSES").map_or(20_000, |count| count.parse().unwrap());
    for engine in Engine::ALL {
        let server = EngineServer::start(engine, Persistence::Never).unwrap();
        let here = node(&server, StoreFailure::Wait).await;
        let there = node(&server, StoreFailure::Wait).await;
        let pass = cookie(&get_with(&here, None).await);
        let mut connection = manager(&server).await;
        let before = calls(&mut connection).await;
        let began = tokio::time::Instant::now();
        for index in 0..requests {
            let node = if index % 2 == 0 { &here } else { &there };
            assert_eq!(get_with(node, Some(&pass)).await.status(), 200);
        }
        // Each node queries the room once a second. Renewals are due after 37 s.
        let asked = calls(&mut connection).await - before;
        let background = 2 * (began.elapsed().as_secs() + 2) + began.elapsed().as_secs() / 37;
        println!("{engine}: {requests} requests with a pass, {asked} calls");
        assert!(asked <= background, "{engine}: {asked} calls for {requests} requests");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_waits_at_one_node_and_enters_at_another() {
    for engine in Engine::ALL {
        let server = EngineServer::start(engine, Persistence::Never).unwrap();
        let here = node(&server, StoreFailure::Wait).await;
        let there = node(&server, StoreFailure::Wait).await;
        let ann = cookie(&get_with(&here, None).await);
        assert_eq!(get_with(&there, None).await.status(), 200);
        let third = get_with(&there, None).await;
        assert_eq!(third.status(), 429, "a program that waits");
        assert!(third.headers().contains_key(header::RETRY_AFTER));
        assert_eq!(get_with(&there, Some(&ann)).await.status(), 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_is_given_up_at_one_node_is_free_at_another_at_once() {
    for engine in Engine::ALL {
        let server = EngineServer::start(engine, Persistence::Never).unwrap();
        let here = node(&server, StoreFailure::Wait).await;
        let there = node(&server, StoreFailure::Wait).await;
        let ann = cookie(&get_with(&here, None).await);
        assert_eq!(get_with(&there, None).await.status(), 200);
        let leaving = Request::post("/leave").header(header::COOKIE, &ann);
        let left = here.clone().oneshot(leaving.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(left.status(), 204);
        // The first node makes no other call, and the second one asks the store.
        assert_eq!(get_with(&there, None).await.status(), 200, "{engine}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_store_is_paused_passes_are_served_and_others_answered_in_time() {
    for engine in Engine::ALL {
        let server = EngineServer::start(engine, Persistence::Never).unwrap();
        let nodes = NonZeroU32::new(1).unwrap();
        let policies =
            [StoreFailure::Admit, StoreFailure::Wait, StoreFailure::LocalShare { nodes }];
        for policy in policies {
            let app = node(&server, policy).await;
            let mut connection = manager(&server).await;
            let () = redis::cmd("FLUSHALL").query_async(&mut connection).await.unwrap();
            let pass = cookie(&get_with(&app, None).await);
            server.pause().unwrap();
            assert_eq!(get_with(&app, Some(&pass)).await.status(), 200);
            let expected = if policy == StoreFailure::Admit { 200 } else { 429 };
            // On a busy machine the first request may be told to wait, because the node itself is
            // late.
            let mut told = Vec::new();
            while told.last() != Some(&expected) && told.len() < 20 {
                told.push(get_with(&app, None).await.status().as_u16());
            }
            assert_eq!(told.last(), Some(&expected), "{engine}, {policy:?}: {told:?}");
            server.resume().unwrap();
        }
    }
}
