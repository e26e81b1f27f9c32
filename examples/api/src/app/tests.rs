//! Checks the statements of the README, on a clock that advances only on request.

mod file;

use std::{net::SocketAddr, time::Duration};

use axum::{
    body::{Body, to_bytes},
    http::{HeaderMap, Request, StatusCode, request::Builder},
};
use clap::Parser;
use serde_json::Value;
use tower::ServiceExt;
use tower_waiting_room::{
    WaitingRoomHandle,
    request::PeerAddr,
    time::{ManualClock, Timestamp},
};

use super::*;
use crate::Cli;

struct Api {
    app: Router,
    clock: ManualClock,
    handle: WaitingRoomHandle,
}

struct Seen {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Api {
    fn new(arguments: &[&str]) -> Self {
        let cli = Cli::try_parse_from([&["api"], arguments].concat()).unwrap();
        let config = cli.config().unwrap();
        let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
        let limits = WaitingRoomLayer::with_clock(config, clock.clone());
        Self { handle: limits.handle(), app: app(limits), clock }
    }

    /// Sends a request from the peer address `peer`.
    async fn send_from(&self, peer: [u8; 4], request: Builder, body: &'static str) -> Seen {
        let peer = PeerAddr(SocketAddr::from((peer, 40_000)));
        let request = request.extension(peer).body(Body::from(body)).unwrap();
        let (head, body) = self.app.clone().oneshot(request).await.unwrap().into_parts();
        let body = String::from_utf8(to_bytes(body, 1 << 20).await.unwrap().to_vec()).unwrap();
        Seen { status: head.status, headers: head.headers, body }
    }

    async fn send(&self, request: Builder) -> Seen {
        self.send_from([192, 0, 2, 1], request, "").await
    }

    async fn get(&self, path: &str) -> Seen {
        self.send(Request::get(path)).await
    }

    async fn log_in(&self, password: &'static str) -> StatusCode {
        let request = Request::post("/login").header(header::CONTENT_TYPE, "application/json");
        self.send_from([192, 0, 2, 1], request, password).await.status
    }
}

impl Seen {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

fn with_key(request: Builder, key: &str) -> Builder {
    request.header(KEY_HEADER, key)
}

#[tokio::test]
async fn a_response_reports_all_limits_that_applied() {
    let seen = Api::new(&[]).get("/quotes/1").await;
    assert_eq!(seen.status, StatusCode::OK);
    for (name, value) in [
        ("x-ratelimit-limit", "10"),
        ("x-ratelimit-remaining", "9"),
        ("x-ratelimit-reset", "1700000006"),
        (
            "ratelimit-policy",
            r#""per_ip";q=200;w=10, "plan";q=10;w=60, "daily_anonymous";q=1000;w=86400"#,
        ),
        (
            "ratelimit",
            r#""per_ip";r=199;t=1, "plan";r=9;t=6;wr-limit=10;wr-remaining=9;wr-reset=6, "daily_anonymous";r=999;t=87"#,
        ),
    ] {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }
    assert_eq!(seen.header("retry-after"), None);
}

#[tokio::test]
async fn a_refusal_names_its_limit_and_its_duration() {
    let api = Api::new(&[]);
    for _ in 0..10 {
        assert_eq!(api.get("/quotes/1").await.status, StatusCode::OK);
    }
    let refused = api.get("/quotes/1").await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    assert_eq!(refused.header("retry-after"), Some("6"));
    assert_eq!(refused.header("x-ratelimit-retry-after"), Some("6"));
    assert_eq!(refused.json()["violated-policies"], serde_json::json!(["plan"]));
    api.clock.advance(Duration::from_secs(6));
    assert_eq!(api.get("/quotes/1").await.status, StatusCode::OK);
}

#[tokio::test]
async fn each_plan_has_its_quota_and_a_made_up_key_has_none() {
    let api = Api::new(&[]);
    for (key, limit) in [("free-demo", "q=60;"), ("gold-demo", "q=600;")] {
        let seen = api.send(with_key(Request::get("/quotes/1"), key)).await;
        assert!(seen.header("ratelimit-policy").unwrap().contains(limit), "{key}");
    }
    for made_up in ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"] {
        let seen = api.send(with_key(Request::get("/quotes/1"), made_up)).await;
        assert_eq!(seen.status, StatusCode::OK);
    }
    assert_eq!(api.get("/quotes/1").await.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn an_essay_is_charged_by_its_length() {
    let api = Api::new(&["--headers", "draft-11-strict"]);
    let write = async |words: u32| {
        let request = Request::post(format!("/essays?words={words}"));
        api.send(with_key(request, "gold-demo")).await
    };
    for (words, cost, left) in [(1_000, 50, 595), (1, 1, 545), (1, 1, 544), (1, 1, 543)] {
        let seen = write(words).await;
        assert_eq!(seen.json()["cost"], cost);
        let remaining = format!(r#""plan";r={left};"#);
        assert!(seen.header("ratelimit").unwrap().contains(&remaining), "{remaining}");
    }
}

#[tokio::test]
async fn guessing_passwords_is_refused_until_it_stops() {
    let api = Api::new(&[]);
    let wrong = r#"{"name":"ann","password":"guess"}"#;
    let right = r#"{"name":"ann","password":"swordfish"}"#;
    for _ in 0..5 {
        assert_eq!(api.log_in(wrong).await, StatusCode::UNAUTHORIZED);
    }
    for _ in 0..5 {
        api.clock.advance(Duration::from_secs(59));
        for _ in 0..5 {
            assert_eq!(api.log_in(right).await, StatusCode::TOO_MANY_REQUESTS);
        }
    }
    api.clock.advance(Duration::from_secs(61));
    assert_eq!(api.log_in(right).await, StatusCode::OK);
}

#[tokio::test]
async fn frequent_listing_gets_a_shorter_list() {
    let api = Api::new(&[]);
    for complete in [true, true, true, false] {
        assert_eq!(api.get("/quotes").await.json()["complete"], complete);
    }
    assert_eq!(api.get("/quotes/2").await.status, StatusCode::OK);
    assert_eq!(api.get("/quotes/3").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn health_and_preflights_cost_nothing() {
    let api = Api::new(&[]);
    let preflight = || Request::options("/essays").header("access-control-request-method", "POST");
    for _ in 0..20 {
        assert_eq!(api.get("/healthz").await.headers.get("ratelimit"), None);
        let allowed = api.send(preflight().header("origin", "https://a.example")).await;
        assert!(allowed.header("access-control-allow-headers").unwrap().contains(KEY_HEADER));
    }
    assert_eq!(api.get("/quotes/1").await.header("x-ratelimit-remaining"), Some("9"));
}

#[tokio::test]
async fn a_script_of_another_origin_can_read_a_refusal() {
    let api = Api::new(&[]);
    let get = || Request::get("/quotes/1").header("origin", "https://a.example");
    for _ in 0..10 {
        api.send(get()).await;
    }
    let refused = api.send(get()).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.header("access-control-allow-origin"), Some("*"));
    let exposed = refused.header("access-control-expose-headers").unwrap().to_lowercase();
    assert!(exposed.contains("retry-after") && exposed.contains("ratelimit-policy"), "{exposed}");
}

#[tokio::test]
async fn only_trusted_proxies_can_tell_clients_apart() {
    let api = Api::new(&["--trusted-proxy", "10.0.0.0/8", "--trusted-proxy", "::1"]);
    let by = async |peer, client: &str| {
        let request = Request::get("/quotes/1").header("x-forwarded-for", client);
        let seen = api.send_from(peer, request, "").await;
        seen.header("x-ratelimit-remaining").unwrap().to_owned()
    };
    assert_eq!(by([10, 0, 0, 1], "192.0.2.1").await, "9");
    assert_eq!(by([10, 0, 0, 2], "192.0.2.1").await, "8");
    assert_eq!(by([10, 0, 0, 1], "192.0.2.2").await, "9");
    assert_eq!(by([192, 0, 2, 3], "192.0.2.4").await, "9");
    assert_eq!(by([192, 0, 2, 3], "192.0.2.5").await, "8");
    let cli = Cli::try_parse_from(["api", "--trusted-proxy", "10.0.0.1/8"]).unwrap();
    assert!(cli.config().unwrap_err().to_string().contains("10.0.0.0/8"));
}

#[tokio::test]
async fn each_profile_sends_its_own_headers() {
    for (profile, names) in [
        ("x-rate-limit", &["x-ratelimit-remaining", "x-ratelimit-limit"][..]),
        ("common", &["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]),
        (
            "draft-6",
            &["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "ratelimit-policy"],
        ),
        ("draft-7", &["ratelimit", "ratelimit-policy"]),
        ("draft-11-strict", &["ratelimit-policy", "ratelimit"]),
        ("none", &[]),
    ] {
        let seen = Api::new(&["--headers", profile]).get("/quotes/1").await;
        let sent = seen.headers.keys().map(|name| name.as_str());
        let sent: Vec<_> = sent.filter(|name| name.contains("ratelimit")).collect();
        assert_eq!(sent, names, "{profile}");
    }
}
