//! Challenges of the application, which only newcomers get.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use http::{Request, Response, request::Builder};
use tower_waiting_room::{
    config::{DebugHeader, Enforcement, Preflight, WaitingRoomConfigBuilder},
    request::PeerAddr,
    room::{FirstTouch, RoomMode},
};

use crate::support::{House, Seen, Visitor, config};

/// The evidence that the closure gets: the network, its first touches in the last minute, and the
/// number of waiting visitors.
type Evidence = (Option<String>, Option<u32>, Option<u32>);

/// Records each first touch, and challenges those that the test marks as suspicious.
fn noting(seen: &Arc<Mutex<Vec<Evidence>>>) -> WaitingRoomConfigBuilder {
    let seen = Arc::clone(seen);
    config().debug_header(DebugHeader::On).challenge(move |first| {
        let network = first.network().map(|network| network.to_string());
        let evidence = (network, first.from_network_in_last_minute(), first.present());
        seen.lock().unwrap().push(evidence);
        let is_suspicious = first.request().headers().contains_key("x-suspicious");
        is_suspicious.then(puzzle)
    })
}

fn puzzle() -> Response<&'static str> {
    let response = Response::builder().status(403).header("x-puzzle", "2+2");
    response.body("How much is that?").unwrap()
}

fn from(address: [u8; 4]) -> Builder {
    Request::get("/").extension(PeerAddr(SocketAddr::from((address, 1_000))))
}

fn suspicious() -> Builder {
    from([192, 0, 2, 1]).header("x-suspicious", "1")
}

#[track_caller]
fn assert_challenged(seen: &Seen) {
    assert_eq!((seen.status.as_u16(), &*seen.body), (403, "How much is that?"));
    assert_eq!(seen.header("x-puzzle"), Some("2+2"));
    assert_eq!(seen.reason, "refused:challenged");
    assert_eq!(seen.header("waiting-room-reason"), Some("refused:challenged"));
    assert_eq!(seen.header("cache-control"), Some("no-store"));
    assert_eq!(seen.cookie(), None);
}

#[tokio::test]
async fn only_first_touches_are_challenged() {
    let asked = Arc::default();
    let house = House::new(noting(&asked));
    let count = || asked.lock().unwrap().len();
    let mut inside = Visitor::default();
    let mut waiting = Visitor::default();
    // A client without a token is challenged, and gets neither a slot nor a ticket.
    assert_challenged(&inside.send(&house, suspicious()).await);
    assert_eq!((count(), house.active().await), (1, 0));
    // The closure is called once for a client that it lets through.
    assert!(inside.send(&house, from([192, 0, 2, 1])).await.is_inside());
    waiting.send(&house, from([192, 0, 2, 1])).await;
    assert_eq!(count(), 3);
    for _ in 0..3 {
        house.advance(20);
        assert!(inside.send(&house, suspicious()).await.is_inside());
        let seen = waiting.send(&house, suspicious()).await;
        assert!(seen.reason.starts_with("queued:"), "{}", seen.reason);
    }
    assert_eq!(count(), 3);
    // A malformed token counts as none, and so does a pass that has expired or whose session ended.
    let mut garbage = Visitor { cookie: Some("garbage".to_owned()) };
    assert_challenged(&garbage.send(&house, suspicious()).await);
    let mut copy = inside.clone();
    assert!(inside.send(&house, from([192, 0, 2, 1]).header("x-end", "1")).await.is_inside());
    assert_challenged(&copy.send(&house, suspicious()).await);
    house.advance(100);
    assert_challenged(&copy.send(&house, suspicious()).await);
    assert_eq!(count(), 6);
}

#[tokio::test]
async fn a_challenge_sees_the_network_its_first_touches_and_the_line() {
    let asked = Arc::default();
    let house = House::new(noting(&asked));
    let last = || asked.lock().unwrap().last().cloned().unwrap();
    let evidence =
        |network: &str, touches, present| (Some(network.to_owned()), Some(touches), Some(present));
    for touch in 1..=60 {
        Visitor::default().send(&house, suspicious()).await;
        assert_eq!(last(), evidence("192.0.2.1", touch, 0));
    }
    assert!(Visitor::default().send(&house, from([192, 0, 2, 2])).await.is_inside());
    assert_eq!(last(), evidence("192.0.2.2", 1, 0));
    Visitor::default().queue(&house).await;
    assert_eq!(last(), (None, None, Some(0)), "the server does not tell");
    let v6: SocketAddr = "[2001:db8:1:1::7]:1000".parse().unwrap();
    for touch in 1..=2 {
        Visitor::default().send(&house, Request::get("/").extension(PeerAddr(v6))).await;
        assert_eq!(last(), evidence("2001:db8:1:1::", touch, 1));
    }
    // First touches of more than a minute ago do not count.
    house.advance(130);
    Visitor::default().send(&house, suspicious()).await;
    assert_eq!((last().0, last().1), (Some("192.0.2.1".to_owned()), Some(1)));
}

#[tokio::test]
async fn a_challenge_by_the_number_of_first_touches_spares_other_networks() {
    let ask = |first: &FirstTouch<'_>| {
        let is_proved = first.request().headers().contains_key("x-proof");
        let is_many = first.from_network_in_last_minute().is_some_and(|touches| touches > 50);
        (is_many && !is_proved).then(puzzle)
    };
    let house = House::new(config().debug_header(DebugHeader::On).challenge(ask));
    let mut challenged = 0;
    for _ in 0..200 {
        let seen = Visitor::default().send(&house, from([192, 0, 2, 1])).await;
        challenged += u32::from(seen.reason == "refused:challenged");
    }
    assert_eq!(challenged, 150);
    let other = Visitor::default().send(&house, from([192, 0, 2, 2])).await;
    assert_eq!(other.reason, "queued:active_limit");
    let proof = from([192, 0, 2, 1]).header("x-proof", "4");
    assert_eq!(Visitor::default().send(&house, proof).await.reason, "queued:active_limit");
    assert_challenged(&Visitor::default().send(&house, from([192, 0, 2, 1])).await);
    assert_eq!(
        house.handle().room().unwrap().snapshot().await.unwrap().first_touches_in_last_minute,
        51
    );
}

#[tokio::test]
async fn a_challenge_in_shadow_is_stated_and_has_no_effect() {
    let asked = Arc::default();
    let house = House::new(noting(&asked).enforcement(Enforcement::Shadow));
    let seen = Visitor::default().send(&house, suspicious()).await;
    assert!(seen.is_inside());
    assert_eq!(
        (seen.header("waiting-room-reason"), seen.header("x-puzzle")),
        (Some("refused:challenged"), None,)
    );
    assert_eq!(house.active().await, 1, "the room is asked all the same");
}

#[tokio::test]
async fn a_request_that_does_not_concern_the_room_is_not_challenged() {
    let asked = Arc::default();
    let house = House::new(noting(&asked));
    let preflight = suspicious()
        .method("OPTIONS")
        .header("origin", "https://shop.example")
        .header("access-control-request-method", "PUT");
    assert!(Visitor::default().send(&house, preflight).await.is_inside());
    house.handle().room().unwrap().change(|rules| rules.mode(RoomMode::Suspended)).await.unwrap();
    assert!(Visitor::default().send(&house, suspicious()).await.is_inside());
    assert_eq!(asked.lock().unwrap().len(), 0);
    assert_eq!(Preflight::default(), Preflight::SkipRoom);
}

#[test]
fn a_challenge_without_a_room_is_refused() {
    let limit = tower_waiting_room::RateLimit::per_ip(tower_waiting_room::Quota::per_minute(1));
    let builder = tower_waiting_room::WaitingRoomConfig::builder("api").rate_limit(limit);
    let error = builder.challenge(|_| Some(puzzle())).build().unwrap_err().to_string();
    assert_eq!(
        error,
        "challenge is a closure, expected total_active_users, because only a layer with a room has first touches"
    );
}
