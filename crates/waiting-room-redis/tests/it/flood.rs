//! Floods: more requests at once than a node can pass on to its store, on a healthy server.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Body, http::Request, response::Response, routing::get};
use tokio::task::JoinSet;
use tower::ServiceExt;
use tower_waiting_room::{
    Key, KeyRing, Quota, RateLimit, StoreFailure, TokenKey, WaitingRoomConfig, WaitingRoomLayer,
    rate::RateStoreFailure, request::PeerAddr, respond::reason_of,
};
use waiting_room_engines::{Engine, EngineServer};
use waiting_room_redis::{RedisLimits, RedisStore, RedisStoreOptions};

use crate::support::{connect, manager, start};

/// More requests than the queue of a node holds.
const FLOOD: u32 = 6_000;

/// A deadline that a node can keep while it handles the flood.
fn options() -> RedisStoreOptions {
    RedisStoreOptions::new().deadline(Duration::from_millis(250))
}

/// The responses to a flood of requests that all arrive at once.
#[derive(Debug, Default)]
struct Answers {
    /// Requests that reached the application.
    inside: u32,
    /// Requests that the room or the limits have refused.
    decided: u32,
    /// Requests that are to come back, because the node had too many calls to make.
    busy: u32,
    /// The number of all other responses, by status and reason.
    other: BTreeMap<(u16, String), u32>,
}

impl Answers {
    fn add(&mut self, response: &Response) {
        let status = response.status().as_u16();
        let reason = reason_of(response).map(ToString::to_string).unwrap_or_default();
        let retry_after = response.headers().get("retry-after");
        let is_asked_back =
            retry_after.is_some_and(|retry_after| retry_after.to_str().unwrap() != "0");
        match (status, reason.as_str()) {
            (200, "" | "admitted:slot") => self.inside += 1,
            (503, "queued:store_busy" | "refused:limits_busy") if is_asked_back => self.busy += 1,
            (429 | 503, _) if is_asked_back && !reason.contains("unavailable") => self.decided += 1,
            _ => *self.other.entry((status, reason)).or_default() += 1,
        }
    }
}

/// Sends a flood of requests without tokens, each from an address of its own or all from one.
async fn flood(service: &Router, senders: u32, one_address: bool) -> Answers {
    let mut requests = JoinSet::new();
    for sender in 0..senders {
        let [_, high, middle, low] = if one_address { [0; 4] } else { sender.to_be_bytes() };
        let peer = PeerAddr(SocketAddr::from(([10, high, middle, low], 40_000)));
        let request = Request::get("/").header("accept", "text/html");
        let request = request.header("sec-fetch-mode", "navigate").extension(peer);
        requests.spawn(service.clone().oneshot(request.body(Body::empty()).unwrap()));
    }
    let mut answers = Answers::default();
    while let Some(response) = requests.join_next().await {
        answers.add(&response.unwrap().unwrap());
    }
    answers
}

/// Returns a service that counts the requests that reach it.
fn service<L>(ran: &Arc<AtomicU32>, layer: impl FnOnce(Router) -> L) -> L {
    let ran = Arc::clone(ran);
    layer(Router::new().route(
        "/",
        get(async move || {
            ran.fetch_add(1, Ordering::Relaxed);
            "inside"
        }),
    ))
}

fn config() -> WaitingRoomConfig {
    WaitingRoomConfig::builder("shop")
        .total_active_users(1_000)
        .keys(KeyRing::new(TokenKey::random()))
        .build()
        .unwrap()
}

async fn room(server: &EngineServer, ran: &Arc<AtomicU32>) -> Router {
    let config = config();
    let rules = config.room().unwrap().clone();
    room_on(connect(server, rules, options()).await.unwrap(), config, ran)
}

/// A node with the default deadline of the store and the default timeout of the client.
async fn room_on_defaults(server: &EngineServer, ran: &Arc<AtomicU32>) -> Router {
    let config = config();
    let client = redis::Client::open(server.url()).unwrap();
    let open = move || {
        let client = client.clone();
        async move { client.get_multiplexed_async_connection().await }
    };
    let rules = config.room().unwrap().clone();
    let store = RedisStore::connect(open, rules, RedisStoreOptions::new()).await.unwrap();
    room_on(store, config, ran)
}

fn room_on(store: RedisStore, config: WaitingRoomConfig, ran: &Arc<AtomicU32>) -> Router {
    let config = config.into_builder().room_store(store, StoreFailure::Admit);
    let layer = WaitingRoomLayer::new(config.build().unwrap());
    service(ran, |router| router.layer(layer))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_newcomers_does_not_open_a_room_whose_store_answers() {
    let server = start(Engine::Redis);
    let ran = Arc::default();
    let room = room(&server, &ran).await;
    let mut inside = 0;
    for wave in 0..2 {
        let answers = flood(&room, FLOOD, false).await;
        inside += answers.inside;
        let moves = wave > 0 || answers.inside >= 20;
        assert!(moves, "visitors are admitted during the flood: {answers:?}");
        assert!(answers.other.is_empty(), "{answers:?}");
    }
    assert!(inside <= 1_000, "{inside} of 1000 slots");
    assert_eq!(ran.load(Ordering::Relaxed), inside);
}

/// The attack as it was reported, with the settings of the programs in the docs.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_does_not_open_a_room_with_the_default_deadline_and_timeout() {
    let server = start(Engine::Redis);
    let ran = Arc::default();
    let room = room_on_defaults(&server, &ran).await;
    let answers = flood(&room, 20_000, false).await;
    assert!(answers.inside >= 20, "visitors are admitted during the flood: {answers:?}");
    assert!(answers.inside <= 1_000 && answers.other.is_empty(), "{answers:?}");
    assert_eq!(ran.load(Ordering::Relaxed), answers.inside);
}

/// The key is a header of the request, so a client can have as many keys as it likes.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_made_up_keys_stores_no_more_than_the_limit_remembers() {
    let server = start(Engine::Redis);
    let ran = Arc::default();
    let limits =
        RedisLimits::with_connection(manager(&server).await, "api", options()).await.unwrap();
    let by_header = RateLimit::new("by-header", Quota::per_day(5), Key::header("x-key"));
    let config = WaitingRoomConfig::builder("api")
        .rate_limit(by_header.max_keys(400))
        .rate_store(limits, RateStoreFailure::Refuse)
        .build()
        .unwrap();
    let api = service(&ran, |router| router.layer(WaitingRoomLayer::new(config)));
    let mut keys = manager(&server).await;
    let before: usize = redis::cmd("DBSIZE").query_async(&mut keys).await.unwrap();
    let mut inside = 0;
    for sender in 0..4_000 {
        let request = Request::get("/").header("x-key", format!("made up {sender}"));
        let response = api.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        inside += u32::from(response.status() == 200);
    }
    let after: usize = redis::cmd("DBSIZE").query_async(&mut keys).await.unwrap();
    // 400 keys with one request each; the others share 50 networks, with 5 requests each.
    assert_eq!(inside, 400 + 50 * 5);
    assert_eq!(ran.load(Ordering::Relaxed), inside);
    assert!((450..=460).contains(&(after - before)), "{before}, then {after}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_from_one_address_does_not_lift_its_limit_while_the_store_answers() {
    let server = start(Engine::Redis);
    let ran = Arc::default();
    let limits =
        RedisLimits::with_connection(manager(&server).await, "api", options()).await.unwrap();
    let config = WaitingRoomConfig::builder("api")
        .rate_limit(RateLimit::per_ip(Quota::per_hour(100)))
        .rate_store(limits, RateStoreFailure::Admit)
        .build()
        .unwrap();
    let api = service(&ran, |router| router.layer(WaitingRoomLayer::new(config)));
    let answers = flood(&api, FLOOD, true).await;
    assert!(answers.other.is_empty(), "{answers:?}");
    // The store may have charged requests that have given up by then, so fewer may get in.
    assert!((20..=100).contains(&answers.inside), "{answers:?}");
    assert_eq!(ran.load(Ordering::Relaxed), answers.inside);
}
