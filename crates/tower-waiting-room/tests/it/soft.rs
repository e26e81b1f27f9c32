//! Limits that refuse no request: soft limits, shadow limits, and a whole layer in shadow mode.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use http::{Request, Response};
use tower::{Layer, ServiceExt, service_fn};
use tower_waiting_room::{
    Key, Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer,
    config::{Enforcement, WaitingRoomConfigBuilder},
    rate::{Algorithm, ChargeHandle, OverLimit, OverSoftLimit, RateHeaders},
    request::{MissingKey, PeerAddr},
};

use crate::support::{House, Seen};

fn limits() -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("api")
}

fn request(request: http::request::Builder) -> Request<String> {
    let peer = SocketAddr::from(([192, 0, 2, 1], 40_000));
    request.extension(PeerAddr(peer)).body(String::new()).unwrap()
}

async fn get(house: &House) -> Seen {
    house.send(request(Request::get("/"))).await
}

#[tokio::test]
async fn a_soft_limit_without_its_key_refuses_no_request() {
    for over in [OverLimit::Shadow, OverLimit::Mark] {
        let limit = RateLimit::per_ip(Quota::per_minute(10)).over_limit(over);
        let house = House::new(limits().rate_limit(limit));
        let seen = house.send(Request::new(String::new())).await;
        assert!(seen.is_inside(), "{over:?}: {}", seen.reason);
        assert_eq!(house.handle().misconfigurations().len(), 1, "{over:?}");

        let limit = RateLimit::new("key", Quota::per_minute(10), Key::header("x-api-key"));
        let limit = limit.missing_key(MissingKey::Refuse).over_limit(over);
        let house = House::new(limits().rate_limit(limit));
        assert!(get(&house).await.is_inside(), "{over:?}");
    }
}

#[tokio::test]
async fn a_soft_limit_is_adjustable_too() {
    let limit = RateLimit::per_ip(Quota::per_minute(10)).cost(10).adjustable();
    let house = House::new(limits().rate_limit(limit.over_limit(OverLimit::Mark)));
    let settled = || request(Request::get("/").header("x-settle", "0"));
    house.send(settled()).await;
    assert_eq!(house.send(settled()).await.header("x-over"), None);
    assert_eq!(get(&house).await.header("x-over"), None);
    assert_eq!(get(&house).await.header("x-over"), Some("per_ip"));
}

#[tokio::test]
async fn an_inner_layer_keeps_the_charges_and_marks_of_the_outer_one() {
    let layer = |name: &'static str| {
        let hard = RateLimit::new(name, Quota::per_minute(10), Key::address()).adjustable();
        let soft = RateLimit::new(format!("{name}-soft"), Quota::per_minute(0), Key::address());
        let config = limits().rate_limit(hard).rate_limit(soft.over_limit(OverLimit::Mark));
        WaitingRoomLayer::new(config.build().unwrap())
    };
    let outer = layer("outer");
    let inner = layer("inner");
    let marks = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&marks);
    let app = service_fn(move |request: Request<String>| {
        let over = request.extensions().get::<OverSoftLimit>().unwrap();
        seen.lock().unwrap().extend(over.limits().map(str::to_owned));
        request.extensions().get::<ChargeHandle>().unwrap().settle(50);
        std::future::ready(Ok::<_, Infallible>(Response::new(String::new())))
    });
    let both = outer.layer(inner.layer(app.clone()));
    both.oneshot(request(Request::get("/"))).await.unwrap();
    assert_eq!(*marks.lock().unwrap(), ["outer-soft", "inner-soft"]);
    for layer in [outer, inner] {
        let refused = layer.layer(app.clone()).oneshot(request(Request::get("/"))).await.unwrap();
        assert_eq!(refused.status(), 429);
    }
}

#[tokio::test(start_paused = true)]
async fn a_layer_in_shadow_mode_reports_its_hypothetical_answer() {
    for enforcement in [Enforcement::Enforce, Enforcement::Shadow] {
        let queue = RateLimit::new("queue", Quota::per_second(1).burst(10), Key::global())
            .algorithm(Algorithm::LeakyQueue);
        let per_ip = RateLimit::per_ip(Quota::per_hour(3));
        let config = limits().rate_limit(per_ip).rate_limit(queue).enforcement(enforcement);
        let house = House::new(config.rate_headers(RateHeaders::Combined));
        for _ in 0..8 {
            get(&house).await;
        }
        let seen = get(&house).await;
        let told = seen.header("ratelimit").unwrap();
        assert!(told.contains(r#""per_ip";r=0"#), "{enforcement:?}: {told}");
        assert!(told.contains(r#""queue";r=7"#), "{enforcement:?}: {told}");
        assert_eq!(seen.is_inside(), enforcement == Enforcement::Shadow);
    }
}

#[tokio::test]
async fn a_room_in_shadow_mode_keeps_the_report_of_the_limits() {
    let house = House::new(
        crate::support::config()
            .rate_limit(RateLimit::per_ip(Quota::per_minute(10)))
            .enforcement(Enforcement::Shadow),
    );
    get(&house).await;
    let queued = get(&house).await;
    assert_eq!(queued.reason, "queued:active_limit");
    assert_eq!(queued.header("x-ratelimit-remaining"), Some("8"));
}
