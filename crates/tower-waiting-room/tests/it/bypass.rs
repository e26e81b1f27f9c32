//! What does not concern the room.

use http::{Method, Request};
use tower_waiting_room::Bypass;

use crate::support::{House, Visitor, config};

#[tokio::test]
async fn bypassed_requests_are_neither_counted_nor_queued_nor_marked() {
    let house = House::new(
        config()
            .bypass(Bypass::path("health", "/healthz"))
            .bypass(Bypass::when("staff", |head| head.uri().query() == Some("staff"))),
    );
    house.handle().queue_all().await.unwrap();
    for (path, reason) in [("/healthz", "bypass:health"), ("/?staff", "bypass:staff")] {
        let seen = Visitor::default().send(&house, Request::get(path)).await;
        assert!(seen.is_inside() && seen.cookie().is_none());
        assert_eq!(seen.reason, reason);
    }
    assert_eq!(house.active().await, 0);
}

#[tokio::test]
async fn preflights_pass_and_other_options_do_not() {
    let house = House::new(config());
    house.handle().queue_all().await.unwrap();
    let options = || Request::builder().method(Method::OPTIONS).uri("/");
    let preflight = options()
        .header("origin", "https://a.example")
        .header("access-control-request-method", "GET");
    let seen = Visitor::default().send(&house, preflight).await;
    assert_eq!(seen.reason, "bypass:preflight");
    assert_eq!(Visitor::default().send(&house, options()).await.reason, "queue_all");
}

#[tokio::test]
async fn a_suspended_room_is_not_there() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    ann.get(&house).await;
    house.handle().suspend().await.unwrap();
    for _ in 0..5 {
        let seen = Visitor::default().get(&house).await;
        assert!(seen.is_inside() && seen.cookie().is_none());
        assert_eq!(seen.reason, "bypass:suspended");
    }
    house.handle().resume().await.unwrap();
    assert_eq!(ann.get(&house).await.reason, "admitted");
    assert!(!Visitor::default().get(&house).await.is_inside());
}
