//! The leaky queue: which requests are held, for how long, and the charges of those that
//! disconnect.

use std::{future::Future, net::SocketAddr, pin::Pin, task::Poll};

use http::Request;
use tower_waiting_room::{
    Key, Quota, RateLimit, WaitingRoomConfig,
    config::WaitingRoomConfigBuilder,
    rate::{Algorithm, OverLimit, RateHeaders},
    request::PeerAddr,
};

use crate::support::{House, Seen};

fn limits() -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("api")
}

fn queue(quota: Quota) -> RateLimit {
    RateLimit::new("queue", quota, Key::global()).algorithm(Algorithm::LeakyQueue)
}

async fn get(house: &House, peer: u8) -> Seen {
    let peer = SocketAddr::from(([192, 0, 2, peer], 40_000));
    let request = Request::get("/").extension(PeerAddr(peer)).body(String::new()).unwrap();
    house.send(request).await
}

/// Polls a request once, and returns whether it is held.
async fn is_held(mut request: Pin<&mut impl Future>) -> bool {
    std::future::poll_fn(|cx| Poll::Ready(request.as_mut().poll(cx).is_pending())).await
}

#[tokio::test(start_paused = true)]
async fn a_request_that_leaves_the_queue_is_still_charged() {
    let house = House::new(
        limits()
            .rate_limit(RateLimit::per_ip(Quota::per_hour(3)))
            .rate_limit(queue(Quota::per_second(1).burst(10))),
    );
    assert!(get(&house, 1).await.is_inside());
    for _ in 0..2 {
        let mut held = Box::pin(get(&house, 1));
        assert!(is_held(held.as_mut()).await);
    }
    assert_eq!(get(&house, 1).await.reason, "refused:rate:per_ip");
    // The places of the disconnected requests are free again: the next one is right behind the
    // first.
    let start = tokio::time::Instant::now();
    assert!(get(&house, 2).await.is_inside());
    assert_eq!(start.elapsed().as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_held_is_not_charged() {
    let per_ip = RateLimit::per_ip(Quota::per_minute(10));
    let soft = RateLimit::new("soft", Quota::per_minute(1), Key::address());
    let house = House::new(
        limits()
            .rate_limit(per_ip)
            .rate_limit(soft.over_limit(OverLimit::Mark))
            .rate_limit(queue(Quota::per_second(1).burst(10)))
            .max_held_requests(1)
            .rate_headers(RateHeaders::Combined),
    );
    assert!(get(&house, 1).await.is_inside());
    let mut held = Box::pin(get(&house, 1));
    assert!(is_held(held.as_mut()).await);
    let refused = get(&house, 2).await;
    assert_eq!(refused.reason, "refused:rate:queue");
    assert_eq!(refused.header("retry-after"), Some("2"));
    let told = refused.header("ratelimit").unwrap();
    assert!(told.contains(r#""per_ip";r=10"#), "{told}");
    assert!(told.contains(r#""queue";r=8"#), "{told}");
    assert!(held.await.is_inside());
    house.advance(2);
    assert_eq!(get(&house, 2).await.header("x-over"), None);
}

#[tokio::test(start_paused = true)]
async fn a_held_request_reports_the_limits_of_its_arrival() {
    let house = House::new(limits().rate_limit(queue(Quota::per_minute(6).burst(6))));
    assert!(get(&house, 1).await.is_inside());
    let mut held = Box::pin(get(&house, 1));
    assert!(is_held(held.as_mut()).await);
    house.advance(10);
    assert_eq!(held.await.header("x-ratelimit-reset"), Some("1700000010"));
}

#[test]
fn a_queue_with_holds_of_more_than_a_minute_is_refused() {
    for (quota, expected) in [
        (Quota::per_minute(120), None),
        (Quota::per_second(1).burst(61), None),
        (Quota::per_minute(0), None),
        (Quota::per_hour(1), None),
        (Quota::per_second(1).burst(62), Some("burst is 62, expected at most 61")),
        (Quota::per_hour(100), Some("burst is 100, expected at most 2")),
        (Quota::per_day(5).burst(2), Some("burst is 2, expected at most 1")),
    ] {
        let built = limits().rate_limit(queue(quota)).build();
        let error = built.err().map(|error| error.to_string());
        let reason = ", so that the leaky queue \"queue\" holds requests for at most 60 s";
        assert_eq!(error, expected.map(|expected| format!("{expected}{reason}")), "{quota}");
    }
}
