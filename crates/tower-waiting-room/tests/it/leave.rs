//! Visitors who leave by a POST of a script.

use std::{convert::Infallible, time::Duration};

use http::{Request, Response, StatusCode, request::Builder};
use tokio::time::timeout;
use tower::{Layer, ServiceExt, service_fn};
use tower_waiting_room::{
    Quota, RateLimit, StoreFailure, WaitingRoomConfig,
    config::{DebugHeader, Enforcement, WaitingRoomConfigBuilder},
    room::StoreErrorKind,
    time::{ManualClock, Timestamp},
};
use waiting_room_doubles::{Mood, StoreDouble, Verb};

use crate::support::{House, Visitor, config, foreign_posts, on_store, post};

fn leavable() -> WaitingRoomConfigBuilder {
    config().debug_header(DebugHeader::On).leave_path("/leave")
}

/// What `navigator.sendBeacon` sends from a page of the same origin.
fn beacon() -> Builder {
    post("/leave")
}

async fn waiting(house: &House) -> u32 {
    house.handle().room().unwrap().snapshot().await.unwrap().waiting
}

#[tokio::test]
async fn leaving_gives_the_slot_to_the_next_visitor() {
    let house = House::new(leavable());
    let mut ann = Visitor::default();
    let mut ben = Visitor::default();
    assert!(ann.get(&house).await.is_inside());
    ben.queue(&house).await;
    let copy = ann.clone();
    let left = ann.send(&house, beacon()).await;
    assert_eq!((left.status, &*left.body), (StatusCode::NO_CONTENT, ""));
    assert_eq!((&*left.reason, left.header("cache-control")), ("left", Some("no-store")));
    assert_eq!((ann.cookie, house.forwarded()), (None, 1));
    house.advance(30);
    assert!(ben.get(&house).await.is_inside());
    assert_eq!(house.active().await, 1);
    // A copy of the pass is void.
    assert!(!copy.clone().get(&house).await.is_inside());
}

fn moody() -> (House, StoreDouble) {
    let config = leavable().build().unwrap();
    let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
    let rules = config.room().unwrap().clone();
    let store = StoreDouble::with_clock(rules, &clock);
    let layer = on_store(config, store.clone(), StoreFailure::Wait);
    (House::with_store(layer, clock), store)
}

#[tokio::test]
async fn leaving_is_stored_before_it_is_answered() {
    let house = House::new(leavable());
    let mut ann = Visitor::default();
    let mut ben = Visitor::default();
    assert!(ann.get(&house).await.is_inside());
    ben.queue(&house).await;
    assert_eq!(ann.send(&house, beacon()).await.reason, "left");
    assert_eq!((house.active().await, waiting(&house).await), (0, 1));
    assert_eq!(ben.send(&house, beacon()).await.reason, "left");
    assert_eq!(waiting(&house).await, 0);
}

/// Sends a request to leave, and disconnects before the store has answered.
fn leave_and_abort(house: &House, visitor: &Visitor) {
    let cookie = format!("__Host-wr-shop={}", visitor.cookie.clone().unwrap());
    let request = beacon().header("cookie", cookie).body(String::new()).unwrap();
    let app = service_fn(|_: Request<String>| async {
        Ok::<_, Infallible>(Response::new(String::new()))
    });
    let mut call = tokio_test::task::spawn(house.layer.layer(app).oneshot(request));
    tokio_test::assert_pending!(call.poll());
}

#[tokio::test]
async fn an_end_that_is_not_stored_yet_delays_no_other_visitor() {
    let (house, store) = moody();
    let mut ann = Visitor::default();
    assert!(ann.get(&house).await.is_inside());
    store.set(&[Verb::Leave], Mood::Hangs);
    leave_and_abort(&house, &ann);
    for _ in 0..3 {
        let other = timeout(Duration::from_secs(5), async { Visitor::default().get(&house).await });
        assert_eq!(other.await.unwrap().reason, "queued:active_limit");
    }
    store.mend();
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(house.active().await, 0);
}

#[tokio::test]
async fn leaving_with_an_aborted_request_is_stored_by_the_next_call() {
    let (house, store) = moody();
    let mut ann = Visitor::default();
    assert!(ann.get(&house).await.is_inside());
    store.set(&[Verb::Leave], Mood::Hangs);
    leave_and_abort(&house, &ann);
    store.mend();
    assert!(Visitor::default().get(&house).await.is_inside());
    assert_eq!(house.active().await, 1);
    assert!(!ann.get(&house).await.is_inside());
}

#[tokio::test]
async fn leaving_in_an_outage_is_stored_when_the_store_is_back() {
    let (house, store) = moody();
    let mut ann = Visitor::default();
    assert!(ann.get(&house).await.is_inside());
    store.set(&[Verb::Leave], Mood::Fails(StoreErrorKind::Unavailable));
    let left = ann.send(&house, beacon()).await;
    assert_eq!((left.status, ann.cookie.clone()), (StatusCode::NO_CONTENT, None));
    assert_eq!(house.active().await, 1);
    store.mend();
    assert!(Visitor::default().get(&house).await.is_inside());
    assert_eq!(house.active().await, 1);
}

#[tokio::test]
async fn leaving_the_line_gives_up_the_place_and_the_ticket() {
    let house = House::new(leavable());
    assert!(Visitor::default().get(&house).await.is_inside());
    let mut ann = Visitor::default();
    let mut ben = Visitor::default();
    ann.queue(&house).await;
    ben.queue(&house).await;
    assert_eq!(waiting(&house).await, 2);
    let mut copy = ann.clone();
    assert_eq!(ann.send(&house, beacon()).await.status, StatusCode::NO_CONTENT);
    house.advance(30);
    ben.get(&house).await;
    assert_eq!((ann.cookie, waiting(&house).await), (None, 1));
    // A copy of the ticket begins at the back.
    copy.get(&house).await;
    assert_eq!(waiting(&house).await, 1);
}

#[tokio::test]
async fn leaving_with_an_old_ticket_voids_the_pass() {
    let house = House::new(leavable());
    let mut ann = Visitor::default();
    let mut ben = Visitor::default();
    assert!(ann.get(&house).await.is_inside());
    ben.queue(&house).await;
    let mut ticket = ben.clone();
    assert_eq!(ann.send(&house, beacon()).await.status, StatusCode::NO_CONTENT);
    house.advance(30);
    assert!(ben.get(&house).await.is_inside());
    assert_eq!(ticket.send(&house, beacon()).await.reason, "left");
    // The slot is free for the next visitor, so the pass must be void.
    house.advance(1);
    assert!(Visitor::default().get(&house).await.is_inside());
    assert!(!ben.get(&house).await.is_inside());
    assert_eq!(house.active().await, 1);
}

#[tokio::test]
async fn leaving_with_a_replayed_ticket_is_rate_limited() {
    let house = House::new(leavable());
    assert!(Visitor::default().get(&house).await.is_inside());
    let mut ann = Visitor::default();
    ann.queue(&house).await;
    let mut reasons = Vec::new();
    for _ in 0..100 {
        reasons.push(ann.clone().send(&house, beacon()).await.reason);
    }
    assert_eq!(reasons[0], "left");
    assert_eq!(reasons.last().unwrap(), "refused:too_often");
}

#[tokio::test]
async fn a_page_of_another_origin_cannot_make_a_visitor_leave() {
    let house = House::new(leavable());
    let mut ann = Visitor::default();
    assert!(ann.get(&house).await.is_inside());
    for request in foreign_posts("/leave") {
        assert!(ann.send(&house, request).await.is_inside());
    }
    assert!(ann.get(&house).await.is_inside());
    assert_eq!(house.active().await, 1);
    // A browser without Fetch Metadata, and a program.
    let post = || Request::post("/leave").header("host", "shop.example");
    let old = post().header("origin", "https://Shop.example");
    assert_eq!(ann.clone().send(&house, old).await.reason, "left");
    assert_eq!(Visitor::default().send(&house, post()).await.reason, "left");
}

#[tokio::test]
async fn only_a_post_to_the_path_leaves() {
    let house = House::new(leavable());
    let mut ann = Visitor::default();
    assert!(ann.get(&house).await.is_inside());
    for request in [
        Request::get("/leave"),
        Request::put("/leave"),
        Request::post("/leave/"),
        Request::post("/Leave"),
        Request::post("/x/../leave"),
        Request::post("/%6ceave"),
    ] {
        assert!(ann.send(&house, request).await.is_inside());
    }
    let house = House::new(config());
    assert!(Visitor::default().send(&house, beacon()).await.is_inside());
}

#[tokio::test]
async fn a_client_without_a_token_or_with_garbage_leaves_nothing() {
    let house = House::new(leavable());
    let mut ann = Visitor::default();
    assert!(ann.get(&house).await.is_inside());
    for cookie in [None, Some("garbage".to_owned()), Some("a".repeat(10_000))] {
        let seen = Visitor { cookie }.send(&house, beacon()).await;
        assert_eq!((seen.status, seen.cookie()), (StatusCode::NO_CONTENT, None));
    }
    // A second beacon changes nothing.
    let mut copy = ann.clone();
    ann.send(&house, beacon()).await;
    assert_eq!(copy.send(&house, beacon()).await.status, StatusCode::NO_CONTENT);
    assert!(Visitor::default().get(&house).await.is_inside());
    assert_eq!(house.active().await, 1);
}

#[tokio::test]
async fn limits_apply_to_leaving() {
    let limit = RateLimit::global(Quota::per_minute(1).burst(1));
    let house = House::new(leavable().rate_limit(limit));
    assert_eq!(Visitor::default().send(&house, beacon()).await.reason, "left");
    let refused = Visitor::default().send(&house, beacon()).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn in_shadow_mode_the_application_gets_the_request() {
    let house = House::new(leavable().enforcement(Enforcement::Shadow));
    assert!(Visitor::default().send(&house, beacon()).await.is_inside());
}

#[test]
fn a_leave_path_that_browsers_would_change_is_refused() {
    let error = |path: &str| leavable().leave_path(path).build().unwrap_err().to_string();
    let expected =
        "expected a path that browsers do not change: / and then letters, digits and /-._~";
    for path in [
        "",
        "leave",
        "/leave?now",
        "/leave#now",
        "/le ave",
        "/\u{e9}",
        "//leave",
        "/a/../leave",
        "/",
    ] {
        assert_eq!(error(path), format!("leave_path is {path:?}, {expected}"));
    }
    assert_eq!(error(&"/".repeat(256)), "leave_path is 256 bytes long, expected at most 255");
    let limit = RateLimit::global(Quota::per_minute(1));
    let no_room = WaitingRoomConfig::builder("shop").rate_limit(limit).leave_path("/leave");
    assert_eq!(
        no_room.build().unwrap_err().to_string(),
        "leave_path is a path, expected total_active_users, because only a room can be left"
    );
}
