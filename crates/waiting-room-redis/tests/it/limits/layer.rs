//! The whole path of a request: axum, the layer, the store, the script, and back.

use std::{net::SocketAddr, num::NonZeroU32, time::Duration};

use axum::{Router, body::Body, http::Request, response::Response, routing::get};
use tokio::time::Instant;
use tower::ServiceExt;
use tower_waiting_room::{
    Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer,
    rate::{RateHeaders, RateStoreFailure},
    request::PeerAddr,
    respond::reason_of,
};
use waiting_room_engines::{Engine, EngineServer};
use waiting_room_redis::{RedisLimits, RedisStoreOptions};

use super::support::manager;
use crate::support::{patient, start};

/// The longest time that a decision may take while the server is unavailable.
const DEADLINE: Duration = Duration::from_millis(200);

/// Starts a node of a service with ten requests an hour per address, and a hundred in total.
async fn node(
    server: &EngineServer,
    on_failure: RateStoreFailure,
    options: RedisStoreOptions,
) -> Router {
    let connection = manager(server).await;
    let limits = RedisLimits::with_connection(connection, "api", options).await.unwrap();
    let config = WaitingRoomConfig::builder("api")
        .rate_limit(RateLimit::global(Quota::per_hour(100)))
        .rate_limit(RateLimit::per_ip(Quota::per_hour(10)))
        .rate_store(limits, on_failure)
        .rate_headers(RateHeaders::Combined)
        .build()
        .unwrap();
    Router::new().route("/", get(|| async { "inside" })).layer(WaitingRoomLayer::new(config))
}

async fn ask(node: &Router, peer: u8) -> Response {
    let peer = PeerAddr(SocketAddr::from(([192, 0, 2, peer], 40_000)));
    let request = Request::get("/").extension(peer).body(Body::empty()).unwrap();
    node.clone().oneshot(request).await.unwrap()
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_of_a_service_share_their_limits_and_report_the_same_numbers() {
    for engine in Engine::ALL {
        let server = start(engine);
        let refuse = RateStoreFailure::Refuse;
        let nodes =
            [node(&server, refuse, patient()).await, node(&server, refuse, patient()).await];
        for turn in 0..10_usize {
            let allowed = ask(&nodes[turn % 2], 1).await;
            assert_eq!(allowed.status(), 200, "{engine}: {turn}");
            let left = (9 - turn).to_string();
            assert_eq!(header(&allowed, "x-ratelimit-remaining"), left, "{engine}");
            let list = header(&allowed, "ratelimit");
            assert!(list.contains(&format!("\"service\";r={}", 99 - turn)), "{engine}: {list}");
        }
        for node in &nodes {
            let refused = ask(node, 1).await;
            assert_eq!(refused.status(), 429);
            assert_eq!(reason_of(&refused).unwrap().to_string(), "refused:rate:per_ip");
            assert_eq!(header(&refused, "x-ratelimit-remaining"), "0");
            let wait: u32 = header(&refused, "retry-after").parse().unwrap();
            assert!((350..=360).contains(&wait), "{wait}");
        }
        // The refused requests have spent nothing of the limit for all.
        let other = ask(&nodes[0], 2).await;
        assert!(header(&other, "ratelimit").contains("\"service\";r=89"), "{:?}", other.headers());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_store_each_mode_acts_as_named_within_the_deadline() {
    let nodes = NonZeroU32::new(5).unwrap();
    let mut waits = Vec::new();
    for (on_failure, allowed, reason) in [
        (RateStoreFailure::Admit, 12, "admitted:unlimited"),
        (RateStoreFailure::LocalShare { nodes }, 2, "admitted:local_share"),
        (RateStoreFailure::Refuse, 0, "refused:limits_unavailable"),
    ] {
        for is_killed in [false, true] {
            let mut server = start(Engine::Redis);
            let options = RedisStoreOptions::new().deadline(DEADLINE);
            let node = node(&server, on_failure, options).await;
            is_shared(&node).await;
            if is_killed {
                server.kill();
            } else {
                server.pause().unwrap();
            }
            let mut inside = 0;
            for turn in 0..12 {
                let (response, took) = ask_in_time(&node, 1).await;
                assert!(took < Duration::from_secs(20), "{on_failure:?}: {took:?}");
                waits.extend((!is_killed && turn < 4).then_some(took));
                inside += u32::from(response.status() == 200);
                if turn == 0 {
                    assert_eq!(reason_of(&response).unwrap().to_string(), reason);
                }
            }
            assert_eq!(inside, allowed, "{on_failure:?}");
            if is_killed {
                server.start_again().unwrap();
            } else {
                server.resume().unwrap();
            }
            is_shared(&node).await;
        }
    }
    // The first four calls to each paused server wait for it. On a busy machine some are late, but not all.
    let shortest = waits.iter().min().unwrap();
    assert!(*shortest < 2 * DEADLINE, "{waits:?}");
}

/// Asks until the node is not itself late. A late node says so, and knows nothing about its store.
async fn ask_in_time(node: &Router, peer: u8) -> (Response, Duration) {
    loop {
        let asked = Instant::now();
        let response = ask(node, peer).await;
        let reason = reason_of(&response).map(ToString::to_string);
        if reason.as_deref() != Some("refused:limits_busy") {
            return (response, asked.elapsed());
        }
    }
}

/// Sends requests from one address after the other, until the store decides.
async fn is_shared(node: &Router) {
    let mut looks = tokio::time::interval(Duration::from_millis(50));
    for peer in 10..=250 {
        looks.tick().await;
        if header(&ask(node, peer).await, "x-ratelimit-remaining") == "9" {
            return;
        }
    }
    panic!("the store does not decide");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_starts_without_its_store_follows_the_policy_until_it_is_up() {
    let mut server = start(Engine::Redis);
    server.kill();
    let client = redis::Client::open(server.url()).unwrap();
    let open = move || crate::support::open(client.clone());
    let limits = RedisLimits::connect(open, "api", RedisStoreOptions::new()).await.unwrap();
    let config = WaitingRoomConfig::builder("api")
        .rate_limit(RateLimit::per_ip(Quota::per_hour(10)))
        .rate_store(limits, RateStoreFailure::Admit)
        .build()
        .unwrap();
    let layer = WaitingRoomLayer::new(config);
    let node = Router::new().route("/", get(|| async { "inside" })).layer(layer);
    let early = ask(&node, 1).await;
    assert_eq!(reason_of(&early).unwrap().to_string(), "admitted:unlimited");
    server.start_again().unwrap();
    is_shared(&node).await;
}
