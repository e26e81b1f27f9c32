//! Layers on which every metric is observed.

use std::{fs, task::Poll};

use axum::body::Body;
use http::Request;
use tower::ServiceExt;
use tower_waiting_room::{Concurrency, Key, Quota, RateLimit, rate::RateStoreFailure, room::Push};
use waiting_room_doubles::RateStoreDouble;

use crate::scene::{House, Visitor, shop};

/// Brings each metric about at least once, for the current recorder.
pub(crate) fn everything() {
    room();
    gates_and_limits();
    let limit = RateLimit::new("all", Quota::per_minute(2), Key::global());
    let failing = shop()
        .rate_limit(limit)
        .rate_store(RateStoreDouble::unavailable(), RateStoreFailure::Admit);
    House::new(failing).send(Request::new(Body::empty()));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yaml");
    fs::write(&path, "domain: shop\ndescriptors: []\n").unwrap();
    House::new(shop().rate_limits_file(&path));
}

/// Visitors who are admitted, wait, give up, and end their sessions, and an outage of the store.
fn room() {
    let house = House::new(shop());
    let [mut ann, mut bob] = <[Visitor; 2]>::default();
    assert!(ann.get(&house));
    for _ in 0..3 {
        assert!(!bob.get(&house));
        house.advance(20);
    }
    ann.visit(&house, "/end");
    assert!(bob.get(&house));
    Visitor::with("__Host-wr-shop=forged").get(&house);
    house.record();
    house.store.cut();
    Visitor::default().get(&house);
    push();
}

/// A visitor whose push stream ends at once.
fn push() {
    let house = House::new(shop().push(Push::at("/events")));
    let [mut ann, mut bob] = <[Visitor; 2]>::default();
    assert!(ann.get(&house));
    assert!(!bob.get(&house));
    house.advance(2);
    assert!(bob.follow(&house, "/events"));
    house.record();
}

/// Two requests at a gate for one, a limit with more keys than places, and a limit by address
/// although the address is unknown.
fn gates_and_limits() {
    let each = RateLimit::new("each", Quota::per_hour(10), Key::header("x-api-key")).max_keys(64);
    let config = shop().total_active_users(1_000).rate_limit(each);
    let house = House::new(config.concurrency(Concurrency::limit(1)));
    for number in 0..500 {
        let request = Request::get("/").header("x-api-key", number.to_string());
        house.send(request.body(Body::empty()).unwrap());
    }
    let slow = || {
        let request = Request::get("/slow").header("x-api-key", "slow").body(Body::empty());
        Box::pin(house.app().oneshot(request.unwrap()))
    };
    house.run(async {
        let mut first = slow();
        let mut second = slow();
        std::future::poll_fn(|cx| {
            assert!(first.as_mut().poll(cx).is_pending() && second.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        drop(first);
        let waited = std::future::poll_fn(|cx| Poll::Ready(second.as_mut().poll(cx).is_pending()));
        assert!(waited.await, "the application never answers");
    });
    house.record();
    let per_ip = House::new(shop().rate_limit(RateLimit::per_ip(Quota::per_minute(9))));
    per_ip.send(Request::new(Body::empty()));
}
