//! Malformed and hostile input: it causes no panic, no 500 and no unbounded memory, and gains
//! nothing.

use std::time::Duration;

use http::{HeaderValue, Method, Request};

use crate::support::{House, Visitor, config, key};

/// A house with its only slot taken, and a visitor with a place in line.
async fn full() -> (House, Visitor) {
    let house = House::new(config());
    Visitor::default().get(&house).await;
    let mut waiting = Visitor::default();
    waiting.queue(&house).await;
    (house, waiting)
}

#[tokio::test]
async fn foreign_cookies_are_ignored() {
    let (house, waiting) = full().await;
    let other_room = {
        let config = tower_waiting_room::WaitingRoomConfig::builder("other")
            .total_active_users(1)
            .keys(tower_waiting_room::KeyRing::new(key(1)));
        let other = House::new(config);
        let seen = other.send(Request::new(String::new())).await;
        let line = seen.header("set-cookie").unwrap();
        line.split(';').next().unwrap().split_once('=').unwrap().1.to_owned()
    };
    let other_key = {
        let keys = tower_waiting_room::KeyRing::new(key(9));
        let mut visitor = Visitor::default();
        visitor.get(&House::new(config().keys(keys))).await;
        visitor.cookie.unwrap()
    };
    let cookie = waiting.cookie.unwrap();
    let cases = [
        String::new(),
        "x".to_owned(),
        "\u{1f3ab}".to_owned(),
        "A".repeat(8 * 1024),
        cookie[..cookie.len() - 1].to_owned(),
        format!("{cookie}A"),
        other_room,
        other_key,
    ];
    for case in cases {
        let line = format!("__Host-wr-shop={case}");
        let mut request = Request::new(String::new());
        request.headers_mut().insert("cookie", HeaderValue::from_bytes(line.as_bytes()).unwrap());
        let seen = house.send(request).await;
        assert_eq!(seen.reason, "queued:active_limit", "{case:.40}");
        assert!(seen.json()["waitingRoom"]["position"].is_null(), "a first ticket");
    }
}

#[tokio::test]
async fn a_cookie_with_any_bit_flipped_is_no_cookie() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    ann.get(&house).await;
    let cookie = ann.cookie.unwrap().into_bytes();
    for position in 0..cookie.len() {
        for bit in 0..7 {
            let mut forged = cookie.clone();
            forged[position] ^= 1 << bit;
            let line = [b"__Host-wr-shop=".as_slice(), &forged].concat();
            let Ok(value) = HeaderValue::from_bytes(&line) else { continue };
            let mut request = Request::new(String::new());
            request.headers_mut().insert("cookie", value);
            let seen = house.send(request).await;
            assert!(!seen.is_inside(), "bit {bit} of character {position}");
        }
    }
}

#[tokio::test]
async fn our_cookie_is_found_among_four_hundred_and_beside_a_forged_one() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    ann.get(&house).await;
    let ours = format!("__Host-wr-shop={}", ann.cookie.unwrap());
    let many: Vec<_> = (0..400).map(|n| format!("c{n}={n}")).collect();
    for line in [
        format!("{}; {ours}", many.join("; ")),
        format!("__Host-wr-shop=forged; {ours}"),
        format!("{ours}; __Host-wr-shop=forged"),
    ] {
        let request = Request::get("/").header("cookie", line).body(String::new()).unwrap();
        assert_eq!(house.send(request).await.reason, "admitted");
    }
}

#[tokio::test]
async fn a_pass_beats_a_ticket_wherever_each_of_them_is() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    ann.get(&house).await;
    let mut bob = Visitor::default();
    bob.queue(&house).await;
    let pass = ann.cookie.unwrap();
    let ticket = bob.cookie.unwrap();
    for (header, cookie) in [(&pass, &ticket), (&ticket, &pass)] {
        let request = Request::get("/")
            .header("waiting-room-token", header)
            .header("cookie", format!("__Host-wr-shop={cookie}"))
            .body(String::new())
            .unwrap();
        assert_eq!(house.send(request).await.reason, "admitted");
    }
}

#[tokio::test]
async fn headers_that_are_not_text_are_harmless() {
    let (house, _) = full().await;
    let raw = HeaderValue::from_bytes(b"\xff\xfe\x80; __Host-wr-shop=\xff").unwrap();
    for name in [
        "cookie",
        "accept",
        "accept-language",
        "sec-fetch-mode",
        "sec-fetch-dest",
        "content-type",
        "waiting-room-token",
        "waiting-room-poll",
        "origin",
    ] {
        let mut request = Request::new(String::new());
        request.headers_mut().insert(name, raw.clone());
        let seen = house.send(request).await;
        assert!(seen.status.as_u16() != 500 && !seen.is_inside(), "{name}: {}", seen.status);
    }
}

#[tokio::test]
async fn every_method_is_answered_and_a_body_is_never_swallowed() {
    let (house, _) = full().await;
    for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "BREW"] {
        let request = Request::builder()
            .method(Method::from_bytes(method.as_bytes()).unwrap())
            .uri("/")
            .header("connection", "upgrade")
            .header("upgrade", "websocket")
            .body("body".to_owned())
            .unwrap();
        let seen = house.send(request).await;
        assert_eq!(seen.status.as_u16(), 429, "{method}");
    }
    assert_eq!(house.forwarded(), 1);
}

#[tokio::test]
async fn a_hundred_check_ins_a_second_gain_nothing() {
    let (house, mut waiting) = full().await;
    let before = waiting.clone().cookie;
    let mut answered = 0;
    for _ in 0..100 {
        house.clock.advance(Duration::from_millis(10));
        let seen = waiting.get(&house).await;
        if seen.reason == "queued:early" {
            assert_eq!(seen.json()["waitingRoom"]["position"], 1);
            answered += 1;
        } else {
            assert_eq!((seen.status.as_u16(), &*seen.reason), (429, "refused:too_often"));
        }
    }
    assert_eq!(waiting.cookie, before);
    assert!(answered < 30, "{answered}");
}

#[tokio::test]
async fn a_hundred_thousand_clients_without_cookies_leave_no_trace() {
    let house = House::new(config());
    Visitor::default().get(&house).await;
    for _ in 0..100_000 {
        house.send(Request::new(String::new())).await;
    }
    let snapshot = house.handle().room().unwrap().snapshot().await.unwrap();
    assert_eq!((snapshot.active, snapshot.waiting), (1, 0));
}

#[tokio::test]
async fn a_token_from_the_future_is_no_token() {
    let (house, _) = full().await;
    house.advance(3_600);
    let mut early = Visitor::default();
    early.get(&house).await;
    let past = House::new(config());
    assert_eq!(past.forwarded(), 0);
    Visitor::default().get(&past).await;
    assert_eq!(early.get(&past).await.reason, "queued:active_limit");
}

#[tokio::test]
async fn a_token_in_a_url_is_no_token() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    assert!(ann.get(&house).await.is_inside());
    let token = ann.cookie.clone().unwrap();
    for path in [
        format!("/?__Host-wr-shop={token}"),
        format!("/?waiting-room-token={token}"),
        format!("/?token={token}"),
        format!("/?{token}"),
        format!("/{token}"),
        format!("/;__Host-wr-shop={token}"),
    ] {
        let referer = format!("https://shop.example{path}");
        for request in [Request::get(&path), Request::get("/").header("referer", &referer)] {
            let seen = Visitor::default().send(&house, request).await;
            assert_eq!(seen.reason, "queued:active_limit", "{path}");
            let answer = format!("{:?} {}", seen.headers, seen.body);
            assert!(!answer.contains(&token), "{path}: {answer}");
        }
    }
    // The same token is good in the header that is meant for it.
    let by_header = Request::get("/").header("waiting-room-token", &token);
    assert!(Visitor::default().send(&house, by_header).await.is_inside());
}
