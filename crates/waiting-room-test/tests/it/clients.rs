//! One client, its cookies, and the one time of room and timers.

use axum::{
    Router,
    http::{HeaderName, HeaderValue, StatusCode},
    response::IntoResponse,
    routing::{get, post},
};
use tower_waiting_room::{Concurrency, WaitingRoomConfig, WaitingRoomLayer};
use waiting_room_core::time::Clock;
use waiting_room_test::{SeenAs, TestClient, TestClock};

use crate::fakes::{MINUTE, SECOND, config, shop};

#[test]
fn a_visitor_waits_until_the_session_of_another_has_ended() {
    waiting_room_test::run(async |clock| {
        let shop = shop(config(1), clock);
        let mut first = TestClient::browser(shop.clone(), clock);
        let mut second = TestClient::browser(shop, clock).from_address([192, 0, 2, 1]);
        assert_eq!(first.get("/").await.text(), "Welcome.");

        let seen = second.get("/").await;
        assert_eq!(
            (seen.status, seen.seen_as()),
            (StatusCode::SERVICE_UNAVAILABLE, SeenAs::Waiting)
        );
        assert!(seen.text().starts_with("<!doctype html>") && seen.retry_after().is_some());
        assert!(second.cookie("__Host-wr-shop").is_some());

        // A session of one minute ends nine eighths of a minute after its last request.
        let over = TestClock::START + MINUTE * 9 / 8;
        let mut seen = seen;
        while seen.seen_as() == SeenAs::Waiting {
            clock.pass(seen.retry_after().unwrap()).await;
            seen = second.get("/").await;
        }
        assert!(seen.sent >= over && seen.sent <= over + 26 * SECOND, "{:?}", seen.sent);
        second.forget_cookies();
        assert_eq!(second.get("/").await.seen_as(), SeenAs::Waiting);
    });
}

#[test]
fn a_gate_and_the_clock_agree_on_how_long_a_request_waited() {
    waiting_room_test::run(async |clock| {
        let gate = Concurrency::limit(1).queue(8).max_wait(5 * SECOND);
        let config = WaitingRoomConfig::builder("api").concurrency(gate).build().unwrap();
        let slow = async move || {
            clock.pass(MINUTE).await;
            "Done."
        };
        let app = Router::new().route("/", get(slow));
        let app = app.layer(WaitingRoomLayer::with_clock(config, clock));
        let mut first = TestClient::api(app.clone(), clock);
        let mut second = TestClient::api(app, clock);
        let (first, second) = tokio::join!(first.get("/"), second.get("/"));
        assert_eq!((first.text(), first.answered.since(first.sent)), ("Done.".to_owned(), MINUTE));
        assert_eq!(second.seen_as(), SeenAs::Refused);
        assert_eq!(second.reason.unwrap().to_string(), "refused:gate_timeout");
        assert!(second.answered.since(second.sent) <= 5 * SECOND);
        assert_eq!(clock.now(), TestClock::START + MINUTE);
    });
}

#[test]
fn cookies_are_kept_for_their_age_and_headers_are_sent_with_every_request() {
    waiting_room_test::run(async |clock| {
        let set = async || {
            // The clock of a test starts in November 2023.
            let expired = "d=4; Expires=Wed, 01 Nov 2023 00:00:00 GMT";
            let cookies = ["a=1; Max-Age=60; Path=/", "b=2", "c=3; Max-Age=0", expired];
            let cookies = cookies.map(|cookie| ("set-cookie", cookie));
            (axum::response::AppendHeaders(cookies), "set").into_response()
        };
        let echo = async |headers: axum::http::HeaderMap, body: String| {
            let of = |name| headers.get(name).map_or("none", |value| value.to_str().unwrap());
            format!("{} {} {} {body}", of("cookie"), of("x-api-key"), of("content-type"))
        };
        let app = Router::new().route("/set", get(set)).route("/echo", post(echo));
        let key = (HeaderName::from_static("x-api-key"), HeaderValue::from_static("k"));
        let mut client = TestClient::api(app, clock).header(key.0, key.1);
        client.get("/set").await;
        let seen = client.post("/echo", "text/plain", "hello").await;
        assert_eq!(seen.text(), "a=1; b=2 k text/plain hello");
        clock.pass(MINUTE).await;
        let seen = client.post("/echo", "text/plain", "").await;
        assert_eq!(seen.text(), "b=2 k text/plain ");
        assert_eq!((client.cookie("a"), client.cookie("b")), (None, Some("2")));
    });
}

#[test]
fn answers_of_other_layers_are_understood() {
    waiting_room_test::run(async |clock| {
        let busy = async || (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "7")]);
        let broken = async || StatusCode::SERVICE_UNAVAILABLE;
        let app = Router::new().route("/busy", get(busy)).route("/broken", get(broken));
        let mut client = TestClient::api(app, clock);
        let seen = client.get("/busy").await;
        assert_eq!((seen.seen_as(), seen.retry_after()), (SeenAs::Refused, Some(7 * SECOND)));
        // Without a time to retry, the answer is an error of the application.
        assert_eq!(client.get("/broken").await.seen_as(), SeenAs::Forwarded);
    });
}
