//! The operator's handle on a running layer.

use tower_waiting_room::{Key, Quota, RateLimit};

use crate::support::{House, Visitor, config};

#[tokio::test]
async fn limits_change_while_the_room_is_in_use() {
    let house = House::new(config());
    let handle = house.handle();
    assert!(Visitor::default().get(&house).await.is_inside());
    assert!(!Visitor::default().get(&house).await.is_inside());
    handle.room().unwrap().set_limits(3, 2).await.unwrap();
    assert!(Visitor::default().get(&house).await.is_inside());
    assert_eq!(Visitor::default().get(&house).await.reason, "queued:rate");
    let snapshot = handle.room().unwrap().snapshot().await.unwrap();
    assert_eq!((snapshot.active, snapshot.total_active_users), (2, 3));
    assert_eq!((snapshot.new_in_last_minute, snapshot.new_users_per_minute), (2, Some(2)));
    let mut verdicts = handle.verdicts();
    verdicts.sort();
    let expected = [("admitted:slot", 2), ("queued:active_limit", 1), ("queued:rate", 1)];
    assert_eq!(verdicts, expected.map(|(reason, count)| (reason.to_owned(), count)));
    assert_eq!((handle.name(), handle.room().unwrap().nodes().is_none()), ("shop", true));
}

#[tokio::test]
async fn an_invalid_limit_changes_nothing() {
    let house = House::new(config());
    let error = house.handle().room().unwrap().set_limits(0, None).await.unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "total_active_users is 0, expected at least 1");
    assert_eq!(house.handle().room().unwrap().rules().total_active_users, 1);
}

#[tokio::test]
async fn queue_all_admits_no_visitor_and_ends_no_session() {
    let house = House::new(config().total_active_users(10));
    let mut ann = Visitor::default();
    let mut bob = Visitor::default();
    ann.get(&house).await;
    house.handle().room().unwrap().queue_all().await.unwrap();
    let waiting = bob.queue(&house).await;
    assert_eq!(waiting.reason, "queue_all");
    assert!(waiting.json()["waitingRoom"]["waitSeconds"].is_null());
    assert_eq!(ann.get(&house).await.reason, "admitted");

    house.handle().room().unwrap().drain().await.unwrap();
    house.advance(waiting.header("retry-after").unwrap().parse().unwrap());
    assert!(bob.get(&house).await.is_inside());
    assert_eq!(Visitor::default().get(&house).await.reason, "refused:draining");
}

#[tokio::test]
async fn a_suspended_room_is_reported_in_every_order_of_the_stages() {
    let limit = RateLimit::new("all", Quota::per_minute(100), Key::global());
    let house = House::new(config().rate_limit(limit));
    let mut inside = Visitor::default();
    let mut early = Visitor::default();
    inside.get(&house).await;
    assert!(!early.get(&house).await.is_inside());
    house.handle().room().unwrap().suspend().await.unwrap();
    for visitor in [&mut inside, &mut early, &mut Visitor::default()] {
        let seen = visitor.get(&house).await;
        assert_eq!((seen.is_inside(), &*seen.reason), (true, "bypass:suspended"));
        assert!(seen.header("x-ratelimit-limit").is_some(), "the limits stay");
    }
}
