use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use http::Method;
use tower_waiting_room::{config::Enforcement, request::Bypass};

use super::*;

/// The status and the reason of a refused stream.
async fn refusal(answer: Answer) -> (u16, String) {
    assert_eq!(answer.headers["content-type"], "application/problem+json");
    assert_eq!(answer.headers["cache-control"], "no-store");
    let status = answer.status.as_u16();
    let told = answer.json().await;
    assert_eq!(told["status"], status);
    (status, told["reason"].as_str().unwrap().to_owned())
}

#[tokio::test(start_paused = true)]
async fn without_a_valid_ticket_there_is_no_stream_and_no_store_call() {
    let room = Room::new(pushing());
    let mut guest = room.guest().await;
    let expected = (403, "refused:push_invalid".to_owned());
    assert_eq!(refusal(room.visitor().events(PATH).await).await, expected);
    for token in ["", "x", "__Host-wr-shop=", "__Host-wr-shop=AAAA", &"__Host-wr-shop=A".repeat(99)]
    {
        let mut forger = room.visitor();
        forger.cookie = Some(token.to_owned());
        assert_eq!(refusal(forger.events(PATH).await).await, expected, "{token}");
    }
    assert_eq!(room.layer.handle().room().unwrap().snapshot().await.unwrap().waiting, 0);
    // Somebody who is inside has nothing to wait for, and an EventSource closes at a 204.
    let answer = guest.events(PATH).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT);
    assert!(answer.body.collect().await.unwrap().to_bytes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_path_serves_only_streams_and_only_that_path_does() {
    let room = Room::new(pushing());
    room.guest().await;
    let (mut visitor, _stream) = room.streaming().await;
    let expected = (406, "refused:push_invalid".to_owned());
    assert_eq!(refusal(visitor.get(PATH).await).await, expected);
    for method in [Method::POST, Method::PUT, Method::OPTIONS] {
        let request = Request::builder().method(method).uri(PATH);
        let request = request.header("accept", "text/event-stream");
        assert_eq!(refusal(visitor.send(request).await).await, expected);
    }
    for path in ["/", "/waiting-room/events/", "/waiting-room", "/Waiting-Room/Events"] {
        let answer = visitor.events(path).await;
        assert_ne!(answer.headers["content-type"], "text/event-stream", "{path}");
    }
    let mixed = Request::get(PATH).header("accept", "text/html, TEXT/EVENT-STREAM;q=0.1");
    assert_eq!(visitor.send(mixed).await.status, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn above_the_bounds_visitors_poll_and_a_closed_stream_makes_room() {
    // Half of the streams are for tickets without a place.
    let push = Push::at(PATH).max_streams(6).max_streams_per_network(2);
    let room = Room::new(config().push(push));
    room.guest().await;
    let waiting = |last: u8| {
        let room = room.clone();
        async move {
            let mut visitor = room.visitor();
            visitor.get("/").await;
            (visitor.from(last).await, visitor)
        }
    };
    let mut held = vec![waiting(1).await, waiting(1).await];
    let (third, mut visitor) = waiting(1).await;
    let retry = third.headers["retry-after"].to_str().unwrap().parse::<u64>().unwrap();
    assert!((1..=2).contains(&retry), "{retry}");
    assert_eq!(refusal(third).await, (429, "refused:push_network_full".to_owned()));
    held.push(waiting(2).await);
    assert!(held.iter().all(|(answer, _)| answer.status == StatusCode::OK));
    let (fourth, mut placed) = waiting(3).await;
    assert_eq!(refusal(fourth).await, (503, "refused:push_full".to_owned()));
    sleep(secs(2)).await;
    placed.get("/").await;
    assert_eq!(placed.from(3).await.status, StatusCode::OK);
    // Its place does not depend on push.
    assert_eq!(visitor.get("/").await.json().await["waitingRoom"]["status"], "waiting");
    held.remove(0);
    assert_eq!(visitor.from(1).await.status, StatusCode::OK);
}

impl Visitor {
    /// Asks for a stream from this address.
    async fn from(&mut self, last: u8) -> Answer {
        let peer = ConnectInfo(SocketAddr::from(([192, 0, 2, last], 9)));
        self.send(Request::get(PATH).header("accept", "text/event-stream").extension(peer)).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_ticket_opens_streams_only_as_often_as_it_may_poll() {
    let room = Room::new(pushing());
    room.guest().await;
    let (mut visitor, _stream) = room.streaming().await;
    let mut statuses = HashMap::new();
    for _ in 0..40 {
        *statuses.entry(visitor.events(PATH).await.status.as_u16()).or_insert(0) += 1;
    }
    assert!(statuses[&429] >= 15, "{statuses:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_unread_streams_are_bounded_and_give_way() {
    let room = Room::new(lasting().push(Push::at(PATH).max_streams(500)));
    room.guest().await;
    let unread = (0..100_000).map(|_| {
        let mut visitor = room.visitor();
        async move {
            visitor.get("/").await;
            visitor.events(PATH).await
        }
    });
    let answers = join_all(unread).await;
    let open = answers.iter().filter(|answer| answer.status == StatusCode::OK).count();
    assert_eq!(open, 250, "half of them");
    // The sockets are still there, but they no longer keep others from a stream.
    sleep(secs(60)).await;
    let mut read = room.crowd(250).await;
    for (_, stream) in &mut read {
        assert!(stream.event().await.is_some());
    }
    let mut unread = answers.into_iter().find(|answer| answer.status == StatusCode::OK).unwrap();
    assert!(unread.body.frame().await.is_some(), "the event that was rendered when it was opened");
    assert!(unread.body.frame().await.is_none(), "a stream that was given up is over");
}

#[tokio::test(start_paused = true)]
async fn unread_streams_of_visitors_ahead_do_not_delay_the_turn_of_others() {
    for (visitors, streams) in [(2, 4), (8, 1)] {
        let room = Room::new(lasting());
        let mut guest = room.guest().await;
        let mut unread = Vec::new();
        for _ in 0..visitors {
            let mut visitor = room.visitor();
            visitor.get("/").await;
            for _ in 0..streams {
                let answer = visitor.events(PATH).await;
                assert_eq!(answer.status, StatusCode::OK);
                unread.push(answer);
                sleep(secs(1)).await;
            }
        }
        let line = room.crowd(12).await;
        // Those visitors are away by now, but their streams are open.
        sleep(secs(60)).await;
        for (mut visitor, mut stream) in line {
            guest.get("/end").await;
            let waited = stream.turn().await;
            assert!(waited <= Duration::from_millis(500), "{waited:?}");
            assert!(visitor.is_inside().await);
            guest = visitor;
            // The stream of the next visitor asks at a time of its own.
            sleep(Duration::from_millis(700)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn without_push_and_in_shadow_mode_the_path_is_that_of_the_application() {
    let shadow = pushing().enforcement(Enforcement::Shadow);
    let bypassed = pushing().bypass(Bypass::path_prefix("events", "/waiting-room/"));
    for (config, inside) in [(shadow, true), (bypassed, true), (config(), false)] {
        let room = Room::new(config);
        room.guest().await;
        let mut visitor = room.visitor();
        let told = visitor.get("/").await;
        if !inside {
            assert!(told.json().await["waitingRoom"].get("push").is_none());
        }
        let answer = visitor.events(PATH).await;
        assert_eq!(answer.status == StatusCode::OK, inside);
        assert!(!answer.headers.contains_key("waiting-room") || !inside);
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_has_the_same_options_and_its_errors_name_the_field() {
    let file = |push: &str| {
        let file = format!(r#"{{ "name": "shop", "total_active_users": 1, "push": {push} }}"#);
        serde_json::from_str::<WaitingRoomConfig>(&file).map_err(|error| error.to_string())
    };
    let all = r#"{ "path": "/events", "max_streams": 7, "max_streams_per_network": 3,
        "heartbeat": "5s", "lifetime": "1m" }"#;
    let room = Room::of(file(all).unwrap());
    room.guest().await;
    let mut visitor = room.visitor();
    assert_eq!(visitor.get("/").await.json().await["waitingRoom"]["push"], "/events");
    for (push, told) in [
        (r#"{ "path": "events" }"#, "push.path is \"events\", expected a path"),
        (r#"{ "path": "/e", "max_streams": 0 }"#, "push.max_streams is 0, expected at least 1"),
        (r#"{ "path": "/e", "lifetime": "1h" }"#, "push.lifetime is 3600s, expected at most 150s"),
        (r#"{ "path": "/e", "streams": 1 }"#, "unknown field `streams`"),
        ("{}", "missing field `path`"),
    ] {
        let error = file(push).unwrap_err();
        assert!(error.contains(told), "{error}");
    }
    let alone = WaitingRoomConfig::builder("api").push(Push::at("/e"));
    let limit = tower_waiting_room::RateLimit::per_ip(tower_waiting_room::Quota::per_minute(9));
    let error = alone.rate_limit(limit).build().unwrap_err().to_string();
    assert!(error.starts_with("push is \"/e\", expected total_active_users, because"), "{error}");
}
