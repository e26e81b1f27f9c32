//! Renewals of passes, which happen concurrently with the requests that cause them.

use std::{convert::Infallible, future::Future, task::Poll, time::Duration};

use http::{Request, Response, StatusCode};
use tokio::time::Instant;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_waiting_room::{
    Concurrency, KeyRing, StoreFailure, WaitingRoomLayer,
    config::WaitingRoomConfigBuilder,
    room::{RoomRules, SessionRenewal, StoreErrorKind},
};
use waiting_room_doubles::{Mood, StoreDouble, Verb};

use crate::support::{House, Visitor, config, key, on_store};

#[tokio::test]
async fn a_visitor_that_returns_in_time_stays_inside_forever() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    ann.get(&house).await;
    for _ in 0..50 {
        house.advance(80);
        assert!(ann.get(&house).await.is_inside());
    }
    house.advance(90);
    assert_eq!(ann.get(&house).await.reason, "admitted:slot");
}

#[tokio::test]
async fn a_young_pass_is_not_renewed_and_an_older_one_is() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    ann.get(&house).await;
    house.advance(9);
    assert!(ann.get(&house).await.cookie().is_none());
    house.advance(1);
    assert!(ann.get(&house).await.cookie().is_some());
}

#[tokio::test]
async fn a_request_that_the_gate_refuses_renews_the_pass_for_the_next_one() {
    let house = House::new(config().concurrency(Concurrency::limit(0).queue(0)));
    let mut ann = Visitor::default();
    ann.get(&house).await;
    house.advance(80);
    for is_renewed in [false, true] {
        let seen = ann.get(&house).await;
        assert_eq!((&*seen.reason, seen.cookie().is_some()), ("refused:gate_full", is_renewed));
    }
}

#[tokio::test]
async fn a_longer_session_length_ends_no_session() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    ann.get(&house).await;
    let longer = |rules: RoomRules| rules.session_duration(Duration::from_secs(7_200));
    house.handle().room().unwrap().change(longer).await.unwrap();
    for _ in 0..12 {
        house.advance(20);
        let seen = ann.get(&house).await;
        assert_eq!((seen.is_inside(), &*seen.reason), (true, "admitted"));
    }
    house.advance(7_199);
    assert!(ann.get(&house).await.is_inside());
}

#[tokio::test]
async fn a_pass_is_due_early_enough_for_a_round_trip() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    ann.get(&house).await;
    house.clock.advance(Duration::from_millis(9_749));
    assert!(ann.get(&house).await.cookie().is_none());
    house.clock.advance(Duration::from_millis(1));
    assert!(ann.get(&house).await.cookie().is_some());
}

#[tokio::test]
async fn a_pass_of_a_rotated_key_is_accepted_and_resealed() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    ann.get(&house).await;
    let rotated = config().keys(KeyRing::new(key(2)).also_opens(key(1)));
    let house = house.restarted(rotated);
    let seen = ann.get(&house).await;
    assert_eq!(seen.reason, "admitted");
    assert!(seen.cookie().is_some());
    let only_new = house.restarted(config().keys(KeyRing::new(key(2))));
    assert_eq!(ann.get(&only_new).await.reason, "admitted");
}

/// A layer with such a store, the store, and a pass that is due for renewal.
async fn stale(mood: Mood) -> (WaitingRoomLayer, StoreDouble, String) {
    aged(mood, Duration::from_secs(10)).await
}

/// The same with a pass of this age. It expires at an age of 90 s.
async fn aged(mood: Mood, age: Duration) -> (WaitingRoomLayer, StoreDouble, String) {
    let house = House::new(config().total_active_users(9));
    let mut ann = Visitor::default();
    ann.get(&house).await;
    house.clock.advance(age);
    let config = config().total_active_users(9).build().unwrap();
    let store = StoreDouble::with_clock(config.room().unwrap().clone(), &house.clock);
    store.set(&[Verb::Renew], mood);
    let layer = on_store(config, store.clone(), StoreFailure::Wait);
    (layer, store, ann.cookie.unwrap())
}

fn request(cookie: &str) -> Request<()> {
    Request::get("/").header("cookie", format!("__Host-wr-shop={cookie}")).body(()).unwrap()
}

#[tokio::test]
async fn fifty_parallel_requests_with_one_stale_pass_make_one_renewal() {
    let (layer, store, cookie) = stale(Mood::Works).await;
    let app = service_fn(|_| async {
        tokio::task::yield_now().await;
        Ok::<_, Infallible>(Response::new(String::new()))
    });
    let calls = (0..50).map(|_| {
        let service = layer.layer(app);
        let request = request(&cookie);
        tokio::spawn(async move { service.oneshot(request).await.unwrap() })
    });
    let mut fresh = 0;
    for call in calls.collect::<Vec<_>>() {
        fresh += u32::from(call.await.unwrap().headers().contains_key("set-cookie"));
    }
    assert_eq!(store.calls(&[Verb::Renew]), 1);
    assert!(fresh >= 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_or_fails_costs_a_visitor_a_bounded_time() {
    for (mood, longest) in [(Mood::Hangs, 251), (Mood::Fails(StoreErrorKind::Unavailable), 0)] {
        let (layer, store, cookie) = stale(mood).await;
        for attempt in 1..=3 {
            let asked = Instant::now();
            let response = layer.layer(service_fn(page)).oneshot(request(&cookie)).await.unwrap();
            assert!(asked.elapsed() <= Duration::from_millis(longest));
            assert_eq!(response.status(), 200);
            assert!(!response.headers().contains_key("set-cookie"));
            assert_eq!(store.calls(&[Verb::Renew]), attempt, "the next one tries again");
            // A renewal that hangs is abandoned after a second.
            tokio::time::sleep(Duration::from_millis(1_001)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_waits_for_the_renewal_of_a_due_pass() {
    for age in [10, 40, 89] {
        let (layer, store, cookie) =
            aged(Mood::Late(Duration::from_millis(60)), Duration::from_secs(age)).await;
        let asked = Instant::now();
        let response = layer.layer(service_fn(page)).oneshot(request(&cookie)).await.unwrap();
        assert!(response.headers().contains_key("set-cookie"), "{age} s");
        assert!(asked.elapsed() <= Duration::from_millis(62), "as long as the store takes");
        assert_eq!(store.calls(&[Verb::Renew]), 1);
    }
}

/// The visitor of such a pass was away for longer than a session, so it may have to enter again. But
/// it must not be served by a session that is over: its next request would be sent to the line.
#[tokio::test(start_paused = true)]
async fn a_pass_that_expires_during_its_renewal_serves_no_sessionless_page() {
    let (layer, store, cookie) =
        aged(Mood::Late(Duration::from_millis(20)), Duration::from_millis(89_999)).await;
    let served = layer.layer(service_fn(page)).oneshot(request(&cookie)).await.unwrap();
    assert_eq!((served.status(), store.calls(&Verb::OF_VISITORS)), (StatusCode::OK, 2));
    let line = served.headers()["set-cookie"].to_str().unwrap();
    let fresh = line.split(';').next().unwrap().split_once('=').unwrap().1.to_owned();
    store.advance(Duration::from_secs(79));
    let next = layer.layer(service_fn(page)).oneshot(request(&fresh)).await.unwrap();
    assert_eq!(next.status(), StatusCode::OK, "{line}");
    assert_eq!(layer.handle().room().unwrap().snapshot().await.unwrap().active, 1);
}

#[tokio::test(start_paused = true)]
async fn a_pass_that_is_about_to_expire_is_valid_without_the_store() {
    let (layer, store, cookie) =
        aged(Mood::Fails(StoreErrorKind::Unavailable), Duration::from_millis(89_999)).await;
    let served = layer.layer(service_fn(page)).oneshot(request(&cookie)).await.unwrap();
    assert_eq!(served.status(), StatusCode::OK);
    assert!(!served.headers().contains_key("set-cookie"));
    assert_eq!(store.calls(&[Verb::Renew]), 1);
}

#[tokio::test(start_paused = true)]
async fn a_pass_is_renewed_while_the_application_is_not_ready() {
    let (layer, store, cookie) = stale(Mood::Works).await;
    let app = ServiceBuilder::new().concurrency_limit(1).service(service_fn(page));
    // Another request has the only place.
    let mut busy = app.clone();
    let place = busy.ready().await.unwrap();
    let mut waiting = Box::pin(layer.layer(app).oneshot(request(&cookie)));
    let polled = std::future::poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx).is_pending()));
    assert!(polled.await, "the application is not ready");
    assert_eq!(store.calls(&[Verb::Renew]), 1);
    place.call(request(&cookie)).await.unwrap();
    assert!(waiting.await.unwrap().headers().contains_key("set-cookie"));
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_missed_its_response_serves_the_next_request() {
    let (layer, store, cookie) = stale(Mood::Late(Duration::from_millis(300))).await;
    let at_once = layer.layer(service_fn(page)).oneshot(request(&cookie)).await.unwrap();
    assert!(!at_once.headers().contains_key("set-cookie"));
    tokio::time::sleep(Duration::from_millis(100)).await;
    let next = layer.layer(service_fn(page)).oneshot(request(&cookie)).await.unwrap();
    assert!(next.headers().contains_key("set-cookie"));
    assert_eq!(store.calls(&[Verb::Renew]), 1);
}

/// A house with one slot, whose visitor was answered when its pass had 10 s left, and a visitor
/// that still holds this old pass: the fresh one never reached it.
async fn unheard_of(rules: WaitingRoomConfigBuilder) -> (House, Visitor) {
    let house = House::new(rules.total_active_users(1));
    let mut ann = Visitor::default();
    ann.get(&house).await;
    house.advance(80);
    let old = ann.cookie.clone();
    assert!(ann.get(&house).await.is_inside());
    (house, Visitor { cookie: old })
}

#[tokio::test]
async fn an_expired_pass_continues_the_session_that_its_store_extended() {
    let (house, mut ann) = unheard_of(config()).await;
    house.advance(79);
    let seen = ann.get(&house).await;
    assert!(seen.is_inside(), "it came within a session of the last answer: {}", seen.reason);
    assert!(seen.cookie().is_some());
    assert_eq!(house.active().await, 1, "it is the same session");
    for _ in 0..5 {
        house.advance(79);
        assert!(ann.get(&house).await.is_inside());
    }
}

#[tokio::test]
async fn an_expired_pass_of_an_ended_session_is_that_of_a_newcomer() {
    let (house, mut ann) = unheard_of(config()).await;
    house.advance(90);
    assert_eq!(Visitor::default().get(&house).await.reason, "admitted:slot");
    assert_eq!(ann.get(&house).await.reason, "queued:active_limit");
}

#[tokio::test]
async fn an_ended_session_does_not_continue_with_an_expired_pass() {
    let (house, mut ann) = unheard_of(config()).await;
    let mut copy = Visitor { cookie: ann.cookie.clone() };
    let end = Request::get("/").header("x-end", "1");
    assert!(ann.send(&house, end).await.is_inside());
    assert_eq!(Visitor::default().get(&house).await.reason, "admitted:slot");
    house.advance(11);
    assert_eq!(copy.get(&house).await.reason, "queued:active_limit");
}

#[tokio::test]
async fn a_fixed_session_ends_with_its_pass() {
    let fixed = || config().session_renewal(SessionRenewal::Fixed);
    let house = House::new(fixed());
    let seen = Visitor::default().get(&house).await;
    let cookie = seen.header("set-cookie").unwrap();
    assert!(cookie.contains("Max-Age=80"), "{cookie}");
    let sliding = Visitor::default().get(&House::new(config())).await;
    let cookie = sliding.header("set-cookie").unwrap();
    assert!(cookie.contains("Max-Age=180"), "{cookie}");
}

/// An application that answers at once.
async fn page(_: Request<()>) -> Result<Response<String>, Infallible> {
    Ok(Response::new(String::new()))
}

#[tokio::test]
async fn ten_thousand_requests_with_a_valid_pass_make_no_store_call() {
    let (layer, store, cookie) = stale(Mood::Works).await;
    let app = service_fn(page);
    let renewed = layer.layer(app).oneshot(request(&cookie)).await.unwrap();
    let fresh = renewed.headers()["set-cookie"].to_str().unwrap();
    let fresh = fresh.split(';').next().unwrap().split_once('=').unwrap().1.to_owned();
    let before = store.calls(&Verb::OF_VISITORS);
    for _ in 0..10_000 {
        layer.layer(app).oneshot(request(&fresh)).await.unwrap();
    }
    assert_eq!(store.calls(&Verb::OF_VISITORS), before);
}
