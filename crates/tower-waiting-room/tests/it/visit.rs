//! Visits from the first touch to the end.

use std::{collections::BTreeMap, convert::Infallible};

use http::{Request, Response};
use tower::{Layer, ServiceExt, service_fn};
use tower_waiting_room::{KeyRing, WaitingRoomConfig, WaitingRoomLayer, config::Enforcement};

use crate::support::{House, INSIDE, Visitor, config, key};

#[tokio::test]
async fn a_visitor_enters_stays_and_leaves_the_slot_to_the_next() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    let mut bob = Visitor::default();

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
    let mut ann = Visitor::default();
    let mut bob = Visitor::default();
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

/// A client that sends its tokens in the header. It keeps the last line of each room.
#[derive(Default)]
struct Purse(BTreeMap<String, String>);

impl Purse {
    async fn send(&mut self, house: &House, inner: &WaitingRoomLayer) -> Response<String> {
        let mut request = Request::get("/").header("waiting-room-token", "");
        for (room, token) in &self.0 {
            request = request.header("waiting-room-token", format!("{room}={token}"));
        }
        let app = service_fn(async |_: Request<String>| {
            Ok::<_, Infallible>(Response::new(INSIDE.to_owned()))
        });
        let service = house.layer.layer(inner.layer(app));
        let response = service.oneshot(request.body(String::new()).unwrap()).await.unwrap();
        for line in response.headers().get_all("waiting-room-token") {
            let (room, token) = line.to_str().unwrap().split_once('=').unwrap();
            self.0.insert(room.to_owned(), token.to_owned());
        }
        response.map(|_| String::new())
    }
}

#[tokio::test]
async fn a_client_that_sends_tokens_by_header_holds_one_slot_in_each_of_two_rooms() {
    let checkout = WaitingRoomConfig::builder("checkout").total_active_users(3);
    let inner = WaitingRoomLayer::new(checkout.keys(KeyRing::new(key(2))).build().unwrap());
    let house = House::new(config().total_active_users(3));
    let mut client = Purse::default();
    for turn in 1..=8 {
        // The pass of the outer room is renewed at each turn, and that of the inner room at none.
        house.advance(20);
        let response = client.send(&house, &inner).await;
        assert_eq!(response.status(), 200, "turn {turn}");
        let lines = response.headers().get_all("waiting-room-token").iter().count();
        assert_eq!(lines, if turn == 1 { 2 } else { 1 }, "turn {turn}");
    }
    assert_eq!(house.active().await, 1);
    assert_eq!(inner.handle().room().unwrap().snapshot().await.unwrap().active, 1);
    assert_eq!(client.0.keys().collect::<Vec<_>>(), ["checkout", "shop"]);
}

#[tokio::test]
async fn a_grpc_client_gets_its_token_by_header_and_no_cookie() {
    for (content_type, by_header) in [
        ("application/grpc", true),
        ("application/grpc+proto", true),
        ("application/grpc-web+proto", false),
        ("application/json", false),
    ] {
        let house = House::new(config());
        let call = || Request::post("/").header("content-type", content_type);
        let inside = house.send(call().body(String::new()).unwrap()).await;
        let waiting = house.send(call().body(String::new()).unwrap()).await;
        assert!(inside.is_inside() && !waiting.is_inside());
        for seen in [inside, waiting] {
            assert_eq!(seen.cookie().is_none(), by_header, "{content_type}");
            assert_eq!(seen.header("waiting-room-token").is_some(), by_header, "{content_type}");
        }
    }
}

#[tokio::test]
async fn the_waiting_pages_script_is_answered_and_never_forwarded() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    let mut bob = Visitor::default();
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
async fn in_shadow_mode_every_request_is_forwarded_with_its_verdict() {
    let house = House::new(config().enforcement(Enforcement::Shadow));
    let mut ann = Visitor::default();
    let mut bob = Visitor::default();
    assert_eq!(ann.get(&house).await.reason, "admitted:slot");
    let would_wait = bob.get(&house).await;
    assert!(would_wait.is_inside());
    assert_eq!(would_wait.reason, "queued:active_limit");
    house.advance(30);
    assert_eq!(bob.get(&house).await.reason, "queued:active_limit");
    assert_eq!(house.handle().room().unwrap().snapshot().await.unwrap().waiting, 1);
}

#[tokio::test]
async fn a_response_with_a_token_is_kept_out_of_shared_caches() {
    let house = House::new(config().total_active_users(10));
    for (sent, kept) in [
        ("", "private"),
        ("public, max-age=60", "private, max-age=60"),
        ("max-age=60, s-maxage=600", "private, max-age=60"),
        ("no-store", "no-store"),
        ("max-age=0, no-store", "max-age=0, no-store"),
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
