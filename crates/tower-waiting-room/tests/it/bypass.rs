//! Requests that bypass the room.

use http::{Method, Request};
use tower_waiting_room::{
    Concurrency, Quota, RateLimit, WaitingRoomConfig, config::Preflight, request::Bypass,
};

use crate::support::{House, Visitor, config};

#[tokio::test]
async fn bypassed_requests_are_neither_counted_nor_queued_nor_marked() {
    let house = House::new(
        config()
            .bypass(Bypass::path("health", "/healthz"))
            .bypass(Bypass::when("staff", |head| head.uri().query() == Some("staff"))),
    );
    house.handle().room().unwrap().queue_all().await.unwrap();
    for (path, reason) in [("/healthz", "bypass:health"), ("/?staff", "bypass:staff")] {
        let seen = Visitor::default().send(&house, Request::get(path)).await;
        assert!(seen.is_inside() && seen.cookie().is_none());
        assert_eq!(seen.reason, reason);
    }
    assert_eq!(house.active().await, 0);
}

fn options() -> http::request::Builder {
    Request::builder().method(Method::OPTIONS).uri("/")
}

fn preflight() -> http::request::Builder {
    options().header("origin", "https://a.example").header("access-control-request-method", "GET")
}

#[tokio::test]
async fn a_preflight_skips_the_room_and_other_options_do_not() {
    let house = House::new(config());
    house.handle().room().unwrap().queue_all().await.unwrap();
    let seen = Visitor::default().send(&house, preflight()).await;
    assert!(seen.is_inside() && seen.cookie().is_none());
    assert_eq!(seen.reason, "bypass:preflight");
    assert_eq!(house.active().await, 0);
    assert_eq!(Visitor::default().send(&house, options()).await.reason, "queue_all");
}

#[tokio::test]
async fn a_preflight_is_charged_like_any_request() {
    let once = || RateLimit::global(Quota::per_minute(1));
    let with_room = config().rate_limit(once());
    let limits_alone = WaitingRoomConfig::builder("api").rate_limit(once());
    for (config, reason) in [(with_room, "bypass:preflight"), (limits_alone, "admitted")] {
        let house = House::new(config);
        let first = Visitor::default().send(&house, preflight()).await;
        assert_eq!((first.is_inside(), &*first.reason), (true, reason));
        assert_eq!(first.header("x-ratelimit-remaining"), Some("0"));
        let second = Visitor::default().send(&house, preflight()).await;
        assert_eq!((second.is_inside(), &*second.reason), (false, "refused:rate:service"));
    }
}

#[tokio::test]
async fn a_preflight_needs_a_permit_like_any_request() {
    let house = House::new(config().concurrency(Concurrency::limit(0).queue(0)));
    let seen = Visitor::default().send(&house, preflight()).await;
    assert_eq!((seen.is_inside(), &*seen.reason), (false, "refused:gate_full"));
}

#[tokio::test]
async fn a_preflight_enters_the_room_or_bypasses_all_if_the_configuration_says_so() {
    let config = || config().rate_limit(RateLimit::global(Quota::per_minute(2)));
    let house = House::new(config().preflight(Preflight::EnterRoom));
    let seen = Visitor::default().send(&house, preflight()).await;
    assert!(seen.is_inside() && seen.cookie().is_some(), "it takes the one slot");
    assert_eq!(house.active().await, 1);
    let seen = Visitor::default().send(&house, preflight()).await;
    assert_eq!(seen.reason, "queued:active_limit");

    let closed = config().concurrency(Concurrency::limit(0).queue(0));
    let house = House::new(closed.preflight(Preflight::Bypass));
    for _ in 0..5 {
        let seen = Visitor::default().send(&house, preflight()).await;
        assert_eq!((seen.is_inside(), &*seen.reason), (true, "bypass:preflight"));
        assert_eq!(seen.header("x-ratelimit-remaining"), None);
    }
}

#[tokio::test]
async fn a_preflight_for_a_bypassed_path_is_bypassed_by_that_rule() {
    let config = config().rate_limit(RateLimit::global(Quota::per_minute(0)));
    let house = House::new(config.bypass(Bypass::path("health", "/healthz")));
    let seen = Visitor::default().send(&house, preflight().uri("/healthz")).await;
    assert_eq!((seen.is_inside(), &*seen.reason), (true, "bypass:health"));
}

#[tokio::test]
async fn a_suspended_room_is_transparent() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    ann.get(&house).await;
    house.handle().room().unwrap().suspend().await.unwrap();
    for _ in 0..5 {
        let seen = Visitor::default().get(&house).await;
        assert!(seen.is_inside() && seen.cookie().is_none());
        assert_eq!(seen.reason, "bypass:suspended");
    }
    house.handle().room().unwrap().resume().await.unwrap();
    assert_eq!(ann.get(&house).await.reason, "admitted");
    assert!(!Visitor::default().get(&house).await.is_inside());
}

#[tokio::test]
async fn a_bypassed_request_does_not_extend_a_session() {
    let poller = || config().bypass(Bypass::path("poller", "/poll"));
    for (path, is_prolonged) in [("/poll", false), ("/cart", true)] {
        let house = House::new(poller());
        let mut ann = Visitor::default();
        let mut ben = Visitor::default();
        assert!(ann.get(&house).await.is_inside());
        // Her pass would be renewed after 10 s, and expires after 90 s.
        for _ in 0..19 {
            house.advance(5);
            let seen = ann.send(&house, Request::get(path)).await;
            assert!(seen.is_inside(), "{path}: {}", seen.reason);
            assert!(is_prolonged || seen.cookie().is_none());
        }
        assert_eq!(house.active().await, u32::from(is_prolonged), "{path}");
        assert_eq!(ben.get(&house).await.is_inside(), !is_prolonged, "{path}");
        assert_eq!(ann.get(&house).await.is_inside(), is_prolonged, "{path}");
    }
}
