//! Tests of the order of the stages. A probe around each stage counts the requests that reach it.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use http::{HeaderMap, Request, Response, StatusCode, header};
use tower::{Service, ServiceExt, service_fn};
use waiting_room_core::{Quota, Timestamp, rate::Algorithm, time::ManualClock};
use waiting_room_doubles::RateStoreDouble;

use super::{Pipeline, journey::Stage};
use crate::{
    config::{Enforcement, WaitingRoomConfig, WaitingRoomConfigBuilder},
    gate::Concurrency,
    rate::{RateLimit, RateStoreFailure},
    request::{Bypass, Key},
    room::Visitor,
    service::WaitingRoom,
    token::{CookieSettings, KeyRing, TokenKey},
};

/// The numbers of requests that have passed each probe. The probes are before the first stage,
/// between two stages, and after the last stage. The order of a pipeline is a plain function
/// pointer, so the counters are static and this module has only one test.
static PASSED: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];

fn order(visitor: &Visitor) -> &'static [Stage] {
    let probes = PASSED.each_ref().map(Stage::Probe);
    let stages = Stage::order(visitor);
    let mut order: Vec<Stage> =
        probes.into_iter().zip(stages).flat_map(|(probe, stage)| [probe, *stage]).collect();
    order.push(probes[stages.len()]);
    // The order has to be `'static`, and a test may leak its memory.
    order.leak()
}

/// A pipeline with probes around its stages, and its clock.
struct House {
    pipeline: Arc<Pipeline>,
    clock: ManualClock,
}

impl House {
    fn new(config: WaitingRoomConfigBuilder) -> Self {
        let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
        let mut pipeline = Pipeline::new(config.build().unwrap(), clock.clone());
        pipeline.order = order;
        // A layer that has only limits does not use the order of the stages.
        pipeline.has_only_limits = false;
        Self { pipeline: Arc::new(pipeline), clock }
    }

    /// Sends a request with this cookie. Returns the status and the cookie that the response sets.
    /// The application takes 1 s to respond.
    async fn send(&self, path: &str, cookie: Option<&str>) -> (StatusCode, Option<String>) {
        let mut request = Request::get(path).body(()).unwrap();
        if let Some(cookie) = cookie {
            request.headers_mut().insert(header::COOKIE, cookie.parse().unwrap());
        }
        self.send_request(request).await
    }

    async fn send_request(&self, request: Request<()>) -> (StatusCode, Option<String>) {
        let work = service_fn(async |_: Request<()>| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok::<_, Infallible>(Response::new(http_body_util::Empty::<bytes::Bytes>::new()))
        });
        let mut service = WaitingRoom::new(work, Arc::clone(&self.pipeline));
        let response = service.ready().await.unwrap().call(request).await.unwrap();
        (response.status(), token(response.headers()))
    }
}

/// The cookie that a response sets, in the form in which the next request sends it.
fn token(headers: &HeaderMap) -> Option<String> {
    let cookie = headers.get(header::SET_COOKIE)?.to_str().unwrap();
    Some(cookie.split_once(';').unwrap().0.to_owned())
}

#[track_caller]
fn assert_passed(expected: [u32; 4], by: &str) {
    let passed = PASSED.each_ref().map(|passed| passed.swap(0, Ordering::Relaxed));
    assert_eq!(passed, expected, "{by}");
}

fn room() -> WaitingRoomConfigBuilder {
    let keys = KeyRing::new(TokenKey::from_bytes([1; 32]));
    let config = WaitingRoomConfig::builder("shop").total_active_users(1).keys(keys);
    config.cookie(CookieSettings::new())
}

fn limit(quota: Quota) -> RateLimit {
    RateLimit::new("all", quota, Key::global())
}

#[tokio::test(start_paused = true)]
async fn an_added_stage_runs_once_on_every_path() {
    let all = || {
        room()
            .rate_limit(limit(Quota::per_minute(100)))
            .concurrency(Concurrency::limit(1))
            .bypass(Bypass::path("health", "/healthz"))
    };
    let house = House::new(all());
    let (status, pass) = house.send("/", None).await;
    assert_eq!(status, 200);
    assert_passed([1; 4], "a newcomer, after the verdict of the store");

    assert_eq!(house.send("/", pass.as_deref()).await.0, 200);
    assert_passed([1; 4], "a pass");

    let together = [house.send("/", pass.as_deref()), house.send("/", pass.as_deref())];
    let [first, second] = together.map(Box::pin);
    assert_eq!(tokio::join!(first, second).1.0, 200);
    assert_passed([2; 4], "two requests with a pass, one of which waits for a permit");

    assert_eq!(house.send("/healthz", None).await.0, 200);
    assert_passed([0; 4], "a request that is bypassed");

    let preflight = Request::options("/").header(header::ORIGIN, "https://a.example");
    let preflight = preflight.header(header::ACCESS_CONTROL_REQUEST_METHOD, "PUT");
    assert_eq!(house.send_request(preflight.body(()).unwrap()).await.0, 200);
    assert_passed([1, 1, 1, 0], "a preflight, which skips the room");

    let (status, ticket) = house.send("/", None).await;
    assert_eq!(status, 429);
    assert_passed([1, 1, 0, 0], "a newcomer whom the limits allow and the room refuses");

    assert_eq!(house.send("/", ticket.as_deref()).await.0, 429);
    assert_passed([1, 0, 0, 0], "an early ticket, which the room answers first");

    house.clock.advance(Duration::from_secs(60));
    assert_eq!(house.send("/", ticket.as_deref()).await.0, 429);
    assert_passed([1, 0, 0, 0], "a ticket that is due, which the room answers first");

    let house = House::new(all().enforcement(Enforcement::Shadow));
    house.send("/", None).await;
    assert_passed([1; 4], "a newcomer in shadow mode");
    let (status, ticket) = house.send("/", None).await;
    assert_eq!(status, 200);
    assert_passed([1; 4], "a newcomer whom the room would refuse");
    assert_eq!(house.send("/", ticket.as_deref()).await.0, 200);
    assert_passed([1; 4], "an early ticket in shadow mode");

    let closed = room().concurrency(Concurrency::limit(0).queue(0));
    let refusing = closed.rate_limit(limit(Quota::per_minute(0)));
    let house = House::new(refusing.enforcement(Enforcement::Shadow));
    assert_eq!(house.send("/", None).await.0, 200);
    assert_passed([1; 4], "a request that a limit and a gate would refuse");

    let house = House::new(room().rate_limit(limit(Quota::per_minute(0))));
    assert_eq!(house.send("/", None).await.0, 429);
    assert_passed([1, 0, 0, 0], "a request that a limit refuses");

    let queue = limit(Quota::per_second(1).burst(10)).algorithm(Algorithm::LeakyQueue);
    let house = House::new(WaitingRoomConfig::builder("api").rate_limit(queue));
    let together = [house.send("/", None), house.send("/", None)].map(Box::pin);
    let [first, second] = together;
    assert_eq!(tokio::join!(first, second).1.0, 200);
    assert_passed([2; 4], "two requests, one of which waits for its turn in a leaky queue");

    let shared =
        all().rate_store(RateStoreDouble::new(&ManualClock::default()), RateStoreFailure::Refuse);
    assert_eq!(House::new(shared).send("/", None).await.0, 200);
    assert_passed([1; 4], "a newcomer, after the reply of the store of the limits");
}
