use std::time::Duration;

use http::{Request, StatusCode};
use tower_waiting_room::{
    Quota, RateLimit, WaitingRoomConfig,
    config::WaitingRoomConfigBuilder,
    room::SessionRenewal,
    time::{Clock, Timestamp},
};

use super::{again, of, position, queued};
use crate::support::{House, Visitor, config, on_store};

/// Sessions of 80 s, whose passes expire after 90 s, and a minute of grace.
fn graceful() -> WaitingRoomConfigBuilder {
    config().grace(Duration::from_secs(60)).leave_path("/leave")
}

fn beacon() -> http::request::Builder {
    Request::post("/leave").header("host", "shop.example").header("sec-fetch-site", "same-origin")
}

/// A house with the visitor whose session has lapsed, and two visitors who wait. All three are due.
async fn lapsed(config: WaitingRoomConfigBuilder) -> (House, Visitor, Visitor, Visitor) {
    let house = House::new(config);
    let mut ann = Visitor::default();
    assert!(ann.send(&house, of("")).await.is_inside());
    let (mut ben, _) = queued(&house, "").await;
    let (mut cat, _) = queued(&house, "").await;
    for _ in 0..3 {
        again(&mut ben, &house, "").await;
        cat.send(&house, of("")).await;
    }
    house.advance(15);
    (house, ann, ben, cat)
}

#[tokio::test]
async fn a_form_goes_through_ahead_of_the_line_if_a_slot_is_free() {
    let (house, mut ann, mut ben, _) = lapsed(graceful()).await;
    let seen = ann.send(&house, Request::post("/")).await;
    assert!(seen.is_inside(), "{}", seen.reason);
    assert_eq!(house.active().await, 1);
    assert!(!again(&mut ben, &house, "").await.is_inside());
    // Without grace, the visitor would have been behind the two others.
    let (house, mut ann, ..) = lapsed(config()).await;
    assert!(!ann.send(&house, of("")).await.is_inside());
}

#[tokio::test]
async fn without_a_free_slot_the_visitor_is_first_in_line_and_its_form_is_not_sent() {
    let (house, mut ann, mut ben, mut cat) = lapsed(graceful()).await;
    assert!(ben.send(&house, of("")).await.is_inside());
    let form =
        Request::post("/").header("accept", "text/html").header("sec-fetch-mode", "navigate");
    let seen = ann.send(&house, form).await;
    assert_eq!(seen.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(seen.body.contains("has not been sent yet"), "{}", seen.body);
    assert_eq!(position(&again(&mut ann, &house, "").await), 1);
    assert_eq!(position(&cat.send(&house, of("")).await), 2);
    // The limits hold all the time.
    assert_eq!(house.active().await, 1);
    assert_eq!(ben.send(&house, beacon()).await.reason, "left");
    assert!(again(&mut ann, &house, "").await.is_inside());
    assert_eq!(house.active().await, 1);
}

#[tokio::test]
async fn after_the_grace_the_visitor_begins_at_the_back() {
    // The pass of the visitor expired 90 s after the start.
    let end = Timestamp::from_secs(1_700_000_000 + 90 + 60);
    for (left, expected) in [(1, 1), (0, 2)] {
        let (house, mut ann, mut ben, mut cat) = lapsed(graceful()).await;
        assert!(ben.send(&house, of("")).await.is_inside());
        cat.send(&house, of("")).await;
        house.clock.advance(end.since(house.clock.now()) - Duration::from_secs(left));
        cat.send(&house, of("")).await;
        let seen = ann.send(&house, of("")).await;
        house.advance(seen.header("retry-after").unwrap().parse().unwrap());
        assert_eq!(position(&ann.send(&house, of("")).await), expected, "{left} s are left");
    }
}

#[tokio::test]
async fn a_hundred_copies_of_a_lapsed_pass_are_one_visitor() {
    let (house, ann, mut ben, _) = lapsed(graceful()).await;
    for _ in 0..100 {
        assert!(ann.clone().send(&house, of("")).await.is_inside());
    }
    assert_eq!(house.active().await, 1);
    assert!(!ben.send(&house, of("")).await.is_inside());
    // If the slot is taken, they have one place.
    let (house, ann, mut ben, _) = lapsed(graceful()).await;
    assert!(ben.send(&house, of("")).await.is_inside());
    for _ in 0..100 {
        assert!(!ann.clone().send(&house, of("")).await.is_inside());
    }
    let numbers = house.handle().room().unwrap().snapshot().await.unwrap();
    assert_eq!((numbers.active, numbers.waiting), (1, 2));
}

#[tokio::test]
async fn an_ended_session_has_no_grace() {
    for is_left in [true, false] {
        let house = House::new(graceful());
        let mut ann = Visitor::default();
        assert!(ann.send(&house, of("")).await.is_inside());
        let mut copy = ann.clone();
        let (mut ben, _) = queued(&house, "").await;
        if is_left {
            assert_eq!(ann.send(&house, beacon()).await.reason, "left")
        } else {
            assert!(ann.send(&house, of("").header("x-end", "1")).await.is_inside())
        }
        for _ in 0..4 {
            ben.send(&house, of("")).await;
            house.advance(22);
        }
        house.advance(1);
        // Ben takes the slot, and leaves it for whoever is first in line.
        assert!(ben.send(&house, of("")).await.is_inside());
        let (mut cat, first) = queued(&house, "").await;
        assert_eq!(first, 1);
        let seen = copy.send(&house, of("")).await;
        assert_eq!(seen.json()["waitingRoom"]["position"], serde_json::Value::Null);
        house.advance(3);
        assert_eq!(position(&copy.send(&house, of("")).await), 2, "left: {is_left}");
        assert_eq!(position(&again(&mut cat, &house, "").await), 1);
    }
}

#[tokio::test]
async fn another_node_gives_no_grace_to_a_session_that_was_left() {
    // The second layer shares the store, but not the memory of the first one.
    let clock = tower_waiting_room::time::ManualClock::new(
        tower_waiting_room::time::Timestamp::from_secs(1_700_000_000),
    );
    let config = || graceful().build().unwrap();
    let rules = config().room().unwrap().clone();
    let store = tower_waiting_room::room::MemoryStore::with_clock(rules, clock.clone()).unwrap();
    let node = || {
        let failure = tower_waiting_room::room::StoreFailure::Wait;
        let layer = on_store(config(), store.clone(), failure);
        House::with_store(layer, clock.clone())
    };
    let one = node();
    let two = node();
    let mut ann = Visitor::default();
    assert!(ann.send(&one, of("")).await.is_inside());
    let mut copy = ann.clone();
    assert_eq!(ann.send(&one, beacon()).await.reason, "left");
    // The end is delivered with the next call to the store.
    let mut ben = Visitor::default();
    assert!(ben.send(&one, of("")).await.is_inside());
    one.advance(85);
    assert!(ben.send(&one, of("")).await.is_inside());
    one.advance(6);
    let seen = copy.send(&two, of("")).await;
    assert!(!seen.is_inside());
    assert_eq!(seen.json()["waitingRoom"]["position"], serde_json::Value::Null);
}

#[tokio::test]
async fn a_restart_ends_the_grace() {
    let (house, mut ann, ..) = lapsed(graceful()).await;
    let house = house.restarted(graceful());
    assert!(Visitor::default().send(&house, of("")).await.is_inside());
    let seen = ann.send(&house, of("")).await;
    assert_eq!(seen.json()["waitingRoom"]["position"], serde_json::Value::Null);
}

#[tokio::test]
async fn a_grace_is_bound_to_its_person() {
    let config = || {
        graceful().identity(|head| {
            let login = head.headers().get("x-login")?;
            Some(login.to_str().ok()?.to_owned())
        })
    };
    let house = House::new(config());
    let by = |login: &str| of("").header("x-login", login);
    let mut ann = Visitor::default();
    assert!(ann.send(&house, by("ann")).await.is_inside());
    let (mut ben, _) = queued(&house, "").await;
    for _ in 0..3 {
        again(&mut ben, &house, "").await;
    }
    house.advance(15);
    // Eve has a copy of the lapsed pass.
    assert!(!ann.clone().send(&house, by("eve")).await.is_inside());
    assert!(ann.send(&house, by("ann")).await.is_inside());
    assert_eq!(house.active().await, 1);
}

#[test]
fn a_grace_that_a_store_could_not_keep_is_refused() {
    let error = |config: WaitingRoomConfigBuilder| config.build().unwrap_err().to_string();
    let secs = Duration::from_secs;
    assert_eq!(error(config().grace(Duration::ZERO)), "grace is 0ns, expected at least 1s");
    assert_eq!(
        error(config().grace(secs(81))),
        "grace is 81s, expected at most session_duration, 80s"
    );
    assert_eq!(
        error(config().session_duration(secs(720)).grace(secs(120))),
        "grace is 120s, expected at most 90s: 9/8 of session_duration and the grace must not exceed \
         three times place_retention, 300s"
    );
    assert_eq!(
        error(config().session_renewal(SessionRenewal::Fixed).grace(secs(60))),
        "grace is 60s, expected session_renewal to be sliding: sessions of a fixed length are \
         not continued"
    );
    let limit = RateLimit::global(Quota::per_minute(1));
    let no_room = WaitingRoomConfig::builder("shop").rate_limit(limit).grace(secs(60));
    assert_eq!(
        error(no_room),
        "grace is set, expected total_active_users as well: without a room no visitor waits"
    );
}
