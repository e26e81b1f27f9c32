//! Persons whom the application identifies: one session and one place, on all devices.

use std::convert::Infallible;

use futures_util::FutureExt;
use http::{Request, Response, request::Builder};
use tower::{Layer, ServiceExt, service_fn};
use tower_waiting_room::{
    KeyRing, WaitingRoomConfig,
    config::{DebugHeader, WaitingRoomConfigBuilder},
};

use crate::support::{House, Seen, Visitor, config, key};

/// The login is in a header, which stands for a cookie that the application has verified.
fn logins() -> WaitingRoomConfigBuilder {
    identified(config())
}

fn identified(config: WaitingRoomConfigBuilder) -> WaitingRoomConfigBuilder {
    config.debug_header(DebugHeader::On).identity(|head| {
        let login = head.headers().get("x-login")?;
        Some(login.to_str().ok()?.to_owned())
    })
}

/// A request of the person with this login.
fn by(login: &str) -> Builder {
    Request::get("/").header("accept", "application/json").header("x-login", login)
}

/// A request without a login.
fn anonymous() -> Builder {
    Request::get("/").header("accept", "application/json")
}

/// A house whose only slot is taken by a visitor without a login.
async fn full(config: WaitingRoomConfigBuilder) -> House {
    let house = House::new(config);
    assert!(Visitor::default().send(&house, anonymous()).await.is_inside());
    house
}

/// A client without a token gets a ticket, and a place with it. Returns the client and the position.
async fn queued(house: &House, request: impl Fn() -> Builder) -> (Visitor, u64) {
    let mut client = Visitor::default();
    let first = client.send(house, request()).await;
    house.advance(first.header("retry-after").unwrap().parse().unwrap());
    let seen = client.send(house, request()).await;
    (client, position(&seen))
}

#[track_caller]
fn position(seen: &Seen) -> u64 {
    let position = seen.json()["waitingRoom"]["position"].as_u64();
    position.unwrap_or_else(|| panic!("{} {}", seen.reason, seen.body))
}

/// Waits until the visitor may check in, and returns what it then sees.
async fn again(client: &mut Visitor, house: &House, request: impl Fn() -> Builder) -> Seen {
    house.advance(25);
    client.send(house, request()).await
}

async fn waiting(house: &House) -> u32 {
    house.handle().room().unwrap().snapshot().await.unwrap().waiting
}

#[tokio::test]
async fn a_person_has_one_place_on_all_devices() {
    let house = full(logins()).await;
    let (_, first) = queued(&house, || by("ann")).await;
    let (_, second) = queued(&house, || by("ben")).await;
    assert_eq!((first, second), (1, 2));
    // A second device joins the place of the first one, in front of everybody who came since.
    let (_, of_laptop) = queued(&house, || by("ann")).await;
    assert_eq!((of_laptop, waiting(&house).await), (1, 2));
    // Without a login, each cookie jar is a visitor.
    let (_, third) = queued(&house, anonymous).await;
    let (_, fourth) = queued(&house, anonymous).await;
    assert_eq!((third, fourth, waiting(&house).await), (3, 4, 4));
}

#[tokio::test]
async fn a_hundred_cookie_jars_of_a_person_take_one_place_and_one_slot() {
    let house = full(logins().total_active_users(2)).await;
    let mut before = Visitor::default();
    assert!(before.send(&house, by("ann")).await.is_inside());
    for _ in 0..100 {
        let seen = Visitor::default().send(&house, by("ann")).await;
        assert!(seen.is_inside());
        assert_eq!(seen.reason, "admitted:active");
    }
    assert_eq!(house.active().await, 2);
    let mut jars = vec![Visitor::default(); 100];
    for jar in &mut jars {
        jar.send(&house, by("ben")).await;
    }
    house.advance(2);
    for jar in &mut jars {
        jar.send(&house, by("ben")).await;
    }
    assert_eq!(waiting(&house).await, 1);
}

#[tokio::test]
async fn the_ticket_of_another_person_is_not_accepted() {
    let house = full(logins()).await;
    let (ann, _) = queued(&house, || by("ann")).await;
    let (_, _) = queued(&house, || by("ben")).await;
    // Eve has a copy of Ann's ticket, and arrives as a newcomer.
    let mut eve = ann.clone();
    let seen = eve.send(&house, by("eve")).await;
    assert_eq!(seen.json()["waitingRoom"]["position"], serde_json::Value::Null);
    house.advance(3);
    assert_eq!(position(&eve.send(&house, by("eve")).await), 3);
    let mut ann = ann;
    assert_eq!(position(&again(&mut ann, &house, || by("ann")).await), 1);
}

#[tokio::test]
async fn the_pass_of_another_person_is_not_accepted() {
    let house = House::new(logins());
    let mut ann = Visitor::default();
    assert!(ann.send(&house, by("ann")).await.is_inside());
    let mut eve = ann.clone();
    assert!(!eve.send(&house, by("eve")).await.is_inside());
    assert!(ann.send(&house, by("ann")).await.is_inside());
    assert_eq!(house.active().await, 1);
    // An expired pass does not continue the session for another person either.
    house.advance(91);
    let mut copy = ann.clone();
    let before = house.active().await;
    assert!(copy.send(&house, by("eve")).await.is_inside());
    assert_eq!((before, house.active().await), (0, 1));
    assert!(!ann.send(&house, by("ann")).await.is_inside());
}

#[tokio::test]
async fn a_changed_identity_gets_a_place_of_its_own() {
    let house = full(logins()).await;
    let (mut browser, first) = queued(&house, || by("ann")).await;
    let (_, second) = queued(&house, || by("zoe")).await;
    assert_eq!((first, second), (1, 2));
    // Ann logs out, and Ben logs in.
    let seen = browser.send(&house, by("ben")).await;
    house.advance(seen.header("retry-after").unwrap().parse().unwrap());
    assert_eq!(position(&browser.send(&house, by("ben")).await), 3);
    // Ann comes back, with Ben's ticket in the cookie.
    let seen = browser.send(&house, by("ann")).await;
    house.advance(seen.header("retry-after").unwrap().parse().unwrap());
    assert_eq!(position(&browser.send(&house, by("ann")).await), 1);
}

#[tokio::test]
async fn a_login_keeps_a_pass_but_not_a_ticket() {
    let house = House::new(logins());
    let mut inside = Visitor::default();
    assert!(inside.send(&house, anonymous()).await.is_inside());
    assert!(inside.send(&house, by("ann")).await.is_inside());
    assert_eq!(house.active().await, 1);
    let (mut waiting, first) = queued(&house, anonymous).await;
    let (_, second) = queued(&house, || by("ben")).await;
    assert_eq!((first, second), (1, 2));
    waiting.send(&house, by("eve")).await;
    house.advance(3);
    assert_eq!(position(&waiting.send(&house, by("eve")).await), 3);
}

#[tokio::test]
async fn a_token_of_a_person_is_valid_without_a_login() {
    let house = House::new(logins());
    let mut ann = Visitor::default();
    assert!(ann.send(&house, by("ann")).await.is_inside());
    assert!(ann.send(&house, anonymous()).await.is_inside());
    let (mut ben, _) = queued(&house, || by("ben")).await;
    assert_eq!(position(&again(&mut ben, &house, anonymous).await), 1);
    assert_eq!((house.active().await, waiting(&house).await), (1, 1));
}

#[tokio::test]
async fn an_empty_login_is_none() {
    let house = full(logins()).await;
    let (_, first) = queued(&house, || by("")).await;
    let (_, second) = queued(&house, || by("")).await;
    assert_eq!((first, second, waiting(&house).await), (1, 2, 2));
}

#[tokio::test]
async fn a_login_of_1_mib_is_a_person_like_any_other() {
    let house = full(logins()).await;
    let long = "a".repeat(1024 * 1024);
    let other = format!("{}b", &long[1..]);
    let (ann, first) = queued(&house, || by(&long)).await;
    let (_, second) = queued(&house, || by(&other)).await;
    let (_, again) = queued(&house, || by(&long)).await;
    assert_eq!((first, second, again, waiting(&house).await), (1, 2, 1, 2));
    // The token does not grow with the identity.
    assert!(ann.cookie.unwrap().len() < 200);
}

#[tokio::test]
async fn a_session_that_the_application_ended_is_over_on_all_devices() {
    let house = House::new(logins());
    let mut phone = Visitor::default();
    let mut laptop = Visitor::default();
    assert!(phone.send(&house, by("ann")).await.is_inside());
    assert!(laptop.send(&house, by("ann")).await.is_inside());
    assert!(phone.send(&house, by("ann").header("x-end", "1")).await.is_inside());
    assert_eq!(house.active().await, 0);
    let mut ben = Visitor::default();
    assert!(ben.send(&house, by("ben")).await.is_inside());
    assert!(!laptop.send(&house, by("ann")).await.is_inside());
}

#[tokio::test]
async fn a_person_whose_session_was_ended_may_return_at_once() {
    let house = House::new(logins());
    for secs in [0, 0, 1, 200] {
        let mut ann = Visitor::default();
        assert!(ann.send(&house, by("ann")).await.is_inside());
        assert!(ann.send(&house, by("ann")).await.is_inside());
        assert!(ann.send(&house, by("ann").header("x-end", "1")).await.is_inside());
        assert_eq!((ann.cookie.is_none(), house.active().await), (true, 0));
        house.advance(secs);
    }
    let mut ann = Visitor::default();
    assert!(ann.send(&house, by("ann")).await.is_inside());
    house.advance(1);
    // A valid pass needs no call to the store, and no reason.
    assert_eq!(ann.send(&house, by("ann")).await.reason, "admitted");
}

#[tokio::test]
async fn a_request_that_is_cancelled_does_not_end_the_session_of_another_device() {
    let house = House::new(logins());
    let mut phone = Visitor::default();
    assert!(phone.send(&house, by("ann")).await.is_inside());
    // The laptop disconnects while the application works, so its pass is never delivered.
    let busy = service_fn(|_: Request<String>| {
        std::future::pending::<Result<Response<String>, Infallible>>()
    });
    let request = by("ann").body(String::new()).unwrap();
    assert!(house.layer.layer(busy).oneshot(request).now_or_never().is_none());
    assert!(phone.send(&house, by("ann")).await.is_inside());
    assert_eq!(house.active().await, 1);
    assert!(!Visitor::default().send(&house, by("ben")).await.is_inside());
}

#[tokio::test]
async fn a_person_keeps_its_place_while_a_key_is_replaced() {
    let house = full(logins()).await;
    let (mut ann, _) = queued(&house, || by("ann")).await;
    let ring = KeyRing::new(key(2)).also_opens(key(1));
    let house = house.restarted(logins().keys(ring));
    assert!(Visitor::default().send(&house, anonymous()).await.is_inside());
    assert_eq!(position(&again(&mut ann, &house, || by("ann")).await), 1);
    // The fresh ticket is sealed with the new key, and still of the same person.
    assert_eq!(position(&again(&mut ann, &house, || by("ann")).await), 1);
    assert!(!ann.send(&house, by("eve")).await.is_inside());
}

#[test]
fn an_identity_needs_a_room_and_keys() {
    let build = |config: WaitingRoomConfigBuilder| config.build().unwrap_err().to_string();
    let no_keys = identified(WaitingRoomConfig::builder("shop").total_active_users(1));
    assert_eq!(
        build(no_keys),
        "identity is a closure, expected keys, because with a random key, no other node recognizes \
         the same person"
    );
    let limit = tower_waiting_room::RateLimit::per_ip(tower_waiting_room::Quota::per_minute(1));
    let no_room = identified(WaitingRoomConfig::builder("shop").rate_limit(limit));
    assert_eq!(
        build(no_room.keys(KeyRing::new(key(1)))),
        "identity is a closure, expected total_active_users, because only a layer with a room has visitors"
    );
}
