//! Requests that the dashboard refuses.

use std::{
    pin::Pin,
    task::{Context, Poll, Waker},
};

use axum::body::Body;
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body::{Body as _, Frame};

use super::{super::feed::Feed, House, ann, config, post};

const ROUTES: [(&str, &str); 11] = [
    ("GET", "/"),
    ("HEAD", "/"),
    ("GET", "/events"),
    ("GET", "/history.json"),
    ("GET", "/audit.json"),
    ("GET", "/status"),
    ("GET", "/export.csv"),
    ("GET", "/export.svg"),
    ("POST", "/preview"),
    ("POST", "/change"),
    ("GET", "/elsewhere"),
];

#[tokio::test]
async fn nothing_is_shown_or_changed_without_an_operator() {
    let house = House::new(config());
    for (method, path) in ROUTES {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("content-type", "application/json");
        let body = r#"{"action":"drain","confirm":"shop"}"#;
        let answer = house.send(request.body(Body::from(body)).unwrap()).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{method} {path}");
        assert_eq!(answer.headers["cache-control"], "no-store", "{method} {path}");
        assert!(!answer.body.contains("shop"), "{method} {path}: {}", answer.body);
        assert!(!answer.headers.contains_key("set-cookie"));
    }
    assert_eq!(house.board.feed.len(), 0);
    assert_eq!(house.get("/audit.json").await.json()["changes"], serde_json::json!([]));
}

#[tokio::test]
async fn a_request_without_an_operator_is_refused_before_its_body_is_read() {
    /// A body that must not be read.
    struct Untouchable;

    impl http_body::Body for Untouchable {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
            panic!("the body is read");
        }
    }

    let house = House::new(config());
    let request = Request::builder().method("POST").uri("/change");
    let request = request.header("content-type", "application/json");
    let answer = house.send(request.body(Body::new(Untouchable)).unwrap()).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_change_from_another_site_is_refused() {
    let house = House::new(config());
    let body = r#"{"action":"drain","confirm":"shop"}"#;
    for (name, value) in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://evil.example"),
        ("origin", "https://shop.example.evil.example"),
        ("origin", "https://shop.example:8443"),
        ("origin", "null"),
    ] {
        for path in ["/preview", "/change"] {
            let request = ann().method("POST").uri(path).header("content-type", "application/json");
            let request = request.header(name, value).body(Body::from(body)).unwrap();
            let answer = house.send(request).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path} {name}: {value}");
            assert_eq!(answer.headers["cache-control"], "no-store");
            let detail = answer.refused(StatusCode::FORBIDDEN);
            assert!(detail.contains("a reverse proxy must pass on Host, Origin"), "{detail}");
        }
    }
    let rules = house.layer.handle().room().unwrap().rules();
    assert_eq!(rules.mode, waiting_room_core::room::RoomMode::Auto);
    // A form on another site cannot send the right content type, but could send these.
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let request = ann().method("POST").uri("/change").header("content-type", content_type);
        let answer = house.send(request.body(Body::from(body)).unwrap()).await;
        let detail = answer.refused(StatusCode::UNSUPPORTED_MEDIA_TYPE);
        assert_eq!(detail, "the content type is not application/json");
    }
}

#[tokio::test]
async fn an_unknown_field_is_refused_by_its_name() {
    let house = House::new(config());
    let body = r#"{"action":"limits","total_active_users":7,"confirm":"shop","force":true}"#;
    let detail = house.post("/change", body).await.refused(StatusCode::UNPROCESSABLE_ENTITY);
    assert!(detail.starts_with("the field is \"force\", expected one of "), "{detail}");
}

#[tokio::test]
async fn negative_and_huge_numbers_are_refused_with_both_values() {
    let house = House::new(config());
    for given in ["-1", "0", "4294967296", "1e400"] {
        let body =
            format!(r#"{{"action":"limits","total_active_users":{given},"confirm":"shop"}}"#);
        let detail = house.post("/change", &body).await.refused(StatusCode::UNPROCESSABLE_ENTITY);
        let is_named = detail.starts_with("total_active_users is ") || given == "1e400";
        assert!(is_named && detail.len() < 200, "{detail}");
    }
    assert_eq!(house.layer.handle().room().unwrap().rules().total_active_users, 1);
}

#[tokio::test]
async fn a_wrong_confirmation_changes_nothing() {
    let house = House::new(config());
    for body in [
        r#"{"action":"suspend","confirm":"Shop"}"#,
        r#"{"action":"suspend","confirm":""}"#,
        r#"{"action":"suspend"}"#,
        r#"{"action":"suspend","confirm":["shop"]}"#,
    ] {
        let detail = house.post("/change", body).await.refused(StatusCode::UNPROCESSABLE_ENTITY);
        assert!(detail.starts_with("confirm is "), "{detail}");
    }
    assert_eq!(house.get("/audit.json").await.json()["changes"], serde_json::json!([]));
}

#[tokio::test]
async fn a_body_of_a_mebibyte_is_refused() {
    let house = House::new(config());
    let body = format!(r#"{{"action":"{}"}}"#, "x".repeat(1 << 20));
    let with_length = post("/change").header("content-length", body.len());
    for request in [with_length, post("/change")] {
        let answer = house.send(request.body(Body::from(body.clone())).unwrap()).await;
        let detail = answer.refused(StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(detail, "the body is too long, expected at most 4096 bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_refused_after_five_seconds() {
    /// A body whose data never arrives.
    struct Stalled;

    impl http_body::Body for Stalled {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
            Poll::Pending
        }
    }

    let house = House::new(config());
    let before = tokio::time::Instant::now();
    let answer = house.send(post("/change").body(Body::new(Stalled)).unwrap()).await;
    assert_eq!(answer.refused(StatusCode::REQUEST_TIMEOUT), "the body did not arrive within 5s");
    assert_eq!(before.elapsed().as_secs(), 5);
}

#[tokio::test]
async fn a_thousand_streams_that_never_read_take_up_bounded_memory_and_then_end() {
    let house = House::new(config());
    let mut open = Vec::new();
    for _ in 0..1_000 {
        let response = house.respond(ann().uri("/events").body(Body::empty()).unwrap()).await;
        if response.status() == StatusCode::OK {
            open.push(response.into_body());
        } else {
            assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
            assert_eq!(response.headers()["retry-after"], "5");
        }
    }
    assert_eq!((open.len(), house.board.feed.len()), (Feed::MAX, Feed::MAX));
    house.seconds(Feed::BACKLOG as u64).await;
    assert_eq!(house.board.feed.len(), 0);
    // Other operators can open streams, although no client has closed its connection.
    let response = house.respond(ann().uri("/events").body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::OK);
    for body in &mut open {
        let end = Pin::new(body).poll_frame(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(end, Poll::Ready(None)), "a dropped stream sends nothing");
    }
}

#[tokio::test]
async fn other_methods_are_answered_without_an_effect() {
    let house = House::new(config());
    for (method, path, status) in [
        (Method::HEAD, "/", StatusCode::OK),
        (Method::HEAD, "/events", StatusCode::OK),
        (Method::HEAD, "/status", StatusCode::OK),
        (Method::OPTIONS, "/", StatusCode::METHOD_NOT_ALLOWED),
        (Method::OPTIONS, "/change", StatusCode::METHOD_NOT_ALLOWED),
        (Method::HEAD, "/change", StatusCode::METHOD_NOT_ALLOWED),
        (Method::GET, "/change", StatusCode::METHOD_NOT_ALLOWED),
        (Method::POST, "/status", StatusCode::METHOD_NOT_ALLOWED),
        (Method::TRACE, "/nowhere", StatusCode::NOT_FOUND),
    ] {
        let request = ann().method(method.clone()).uri(path).body(Body::empty()).unwrap();
        let answer = house.send(request).await;
        assert_eq!(answer.status, status, "{method} {path}");
        let allows_sites = answer.headers.contains_key("access-control-allow-origin");
        assert!(!allows_sites && answer.headers["cache-control"] == "no-store");
        if method == Method::HEAD {
            assert_eq!(answer.body, "", "{method} {path}");
        } else if status == StatusCode::METHOD_NOT_ALLOWED {
            assert_eq!(answer.refused(status), "the path does not have this method");
        }
    }
    assert_eq!(house.board.feed.len(), 0, "a HEAD request opens no stream");
}
