//! A visit from the first touch to the end.

use http::Request;
use tower_waiting_room::Enforcement;

use crate::support::{House, Visitor, config};

#[tokio::test]
async fn a_visitor_gets_in_stays_in_and_leaves_the_slot_to_the_next() {
    let house = House::new(config());
    let (mut ann, mut bob) = (Visitor::default(), Visitor::default());

    let first = ann.get(&house).await;
    assert!(first.is_inside());
    assert_eq!(first.reason, "admitted:slot");
    assert_eq!(ann.get(&house).await.reason, "admitted");

    let waiting = bob.queue(&house).await;
    assert_eq!(waiting.reason, "queued:active_limit");
    assert_eq!(waiting.json()["waitingRoom"]["position"], 1);

    house.advance(90);
    let admitted = bob.get(&house).await;
    assert!(admitted.is_inside(), "{admitted:?}");
    assert!(!ann.get(&house).await.is_inside());
}

#[tokio::test]
async fn a_ticket_shown_too_early_is_answered_from_the_ticket_alone() {
    let house = House::new(config());
    let (mut ann, mut bob) = (Visitor::default(), Visitor::default());
    ann.get(&house).await;
    let placed = bob.queue(&house).await;
    let ticket = bob.cookie.clone();
    ann.send(&house, Request::get("/").header("x-end", "1")).await;
    assert_eq!(house.active().await, 0);
    for _ in 0..15 {
        let early = bob.get(&house).await;
        assert_eq!(early.reason, "queued:early");
        assert_eq!(early.json()["waitingRoom"]["position"], 1);
        assert_eq!(early.header("retry-after"), placed.header("retry-after"));
        assert!(early.cookie().is_none());
    }
    assert_eq!(bob.cookie, ticket);
    house.advance(placed.header("retry-after").unwrap().parse().unwrap());
    assert!(bob.get(&house).await.is_inside());
}

#[tokio::test]
async fn a_client_without_cookies_uses_the_header() {
    let house = House::new(config());
    Visitor::default().get(&house).await;
    let ask = |token: &str| {
        Request::get("/").header("waiting-room-token", token).body(String::new()).unwrap()
    };
    let first = house.send(ask("")).await;
    assert!(first.cookie().is_none());
    let ticket = first.header("waiting-room-token").unwrap();
    assert_eq!(first.json()["waitingRoom"]["token"], ticket);
    house.advance(90);
    let second = house.send(ask(ticket)).await;
    assert!(second.is_inside() && second.cookie().is_none());
    let pass = second.header("waiting-room-token").unwrap();
    assert_eq!(house.send(ask(pass)).await.reason, "admitted");
}

#[tokio::test]
async fn the_waiting_pages_script_is_answered_and_never_forwarded() {
    let house = House::new(config());
    let (mut ann, mut bob) = (Visitor::default(), Visitor::default());
    ann.get(&house).await;
    let poll = || Request::get("/").header("waiting-room-poll", "1");
    let waiting = bob.send(&house, poll()).await;
    assert_eq!((waiting.status.as_u16(), waiting.header("waiting-room")), (200, Some("wait")));
    house.advance(90);
    let admitted = bob.send(&house, poll()).await;
    assert_eq!(admitted.header("waiting-room"), Some("admit"));
    assert_eq!(bob.send(&house, poll()).await.header("waiting-room"), Some("admit"));
    assert_eq!(house.forwarded(), 1);
    assert!(bob.get(&house).await.is_inside());
}

#[tokio::test]
async fn in_shadow_mode_everybody_is_forwarded_and_the_verdicts_are_told() {
    let house = House::new(config().enforcement(Enforcement::Shadow));
    let (mut ann, mut bob) = (Visitor::default(), Visitor::default());
    assert_eq!(ann.get(&house).await.reason, "admitted:slot");
    let would_wait = bob.get(&house).await;
    assert!(would_wait.is_inside());
    assert_eq!(would_wait.reason, "queued:active_limit");
    house.advance(30);
    assert_eq!(bob.get(&house).await.reason, "queued:active_limit");
    assert_eq!(house.handle().snapshot().await.unwrap().waiting, 1);
}

#[tokio::test]
async fn a_response_with_a_token_is_kept_out_of_shared_caches() {
    let house = House::new(config().total_active_users(10));
    for (sent, kept) in [
        ("", "private"),
        ("public, max-age=60", "private, max-age=60"),
        ("max-age=60, s-maxage=600", "private, max-age=60"),
        ("no-store", "no-store"),
        ("private, max-age=5", "private, max-age=5"),
    ] {
        let request = Request::get("/").header("x-app-cache-control", sent);
        let seen = Visitor::default().send(&house, request).await;
        assert!(seen.cookie().is_some());
        assert_eq!(seen.header("cache-control"), Some(kept));
    }
    for name in ["cdn-cache-control", "cloudflare-cdn-cache-control", "surrogate-control"] {
        let request = Request::get("/").header(format!("x-app-{name}"), "public, max-age=600");
        assert_eq!(Visitor::default().send(&house, request).await.header(name), None);
    }
    let mut ann = Visitor::default();
    ann.get(&house).await;
    let request = Request::get("/").header("x-app-cache-control", "public");
    let plain = ann.send(&house, request).await;
    assert_eq!((plain.header("cache-control"), plain.cookie()), (Some("public"), None));
}
