//! The programs with rate limits, with a gate, with metrics, and with OpenTelemetry.

use http::{Method, StatusCode};
use tests::{Collector, Manner, Seen, until};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

use super::running::Running;

/// The name of the limit that refused a request.
fn refused_by(seen: &Seen) -> String {
    assert_eq!(seen.status, StatusCode::TOO_MANY_REQUESTS, "{seen:?}");
    assert!(seen.retry_after().is_some(), "{seen:?}");
    seen.json()["violated-policies"][0].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_limits_of_the_docs_refuse_the_fourth_login_without_a_charge() {
    let api = Running::start("limits").await;
    let client = api.visitor();
    for _ in 0..3 {
        let seen = client.send(Method::POST, "/login").await;
        assert_eq!((seen.status, &*seen.body), (StatusCode::OK, "Welcome back."));
    }
    assert_eq!(refused_by(&client.send(Method::POST, "/login").await), "login");
    // Two of the five requests that an address may send at once are left.
    for _ in 0..2 {
        assert_eq!(client.get("/").await.body, "Hello.");
    }
    assert_eq!(refused_by(&client.get("/").await), "per_ip");
    assert_eq!(api.close().await, "");
}

#[tokio::test]
async fn the_limits_of_the_docs_tell_api_keys_apart() {
    let api = Running::start("limits").await;
    let client = api.visitor();
    let ask = async |key: &str| client.get_with("/", &[("x-api-key", key)]).await;
    for _ in 0..3 {
        assert_eq!(ask("one").await.body, "Hello.");
    }
    assert_eq!(refused_by(&ask("one").await), "api_key");
    assert_eq!(ask("another").await.body, "Hello.");
    assert_eq!(api.close().await, "");
}

#[tokio::test]
async fn the_plans_of_the_docs_tell_accounts_apart() {
    let api = Running::start("plans").await;
    let client = api.visitor();
    let ask = async |key: &str| client.get_with("/", &[("x-api-key", key)]).await;
    // Two keys belong to one account. That of the other pays for more.
    for key in ["key-1", "key-2", "key-1", "key-3", "key-3", "key-3", "key-3", "key-3", "key-3"] {
        let seen = ask(key).await;
        assert_eq!((seen.status, &*seen.body), (StatusCode::OK, "Hello."), "{key}");
    }
    for key in ["key-1", "key-2", "key-3"] {
        assert_eq!(refused_by(&ask(key).await), "account", "{key}");
    }
    let stranger = ask("made-up").await;
    assert_eq!(stranger.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(stranger.json()["reason"], "refused:key_missing:account");
    assert_eq!(api.close().await, "");
}

#[tokio::test]
async fn the_gate_of_the_docs_runs_two_requests_queues_two_and_refuses_the_fifth() {
    let converter = Running::start("gate").await;
    let address = converter.address().strip_prefix("http://").unwrap();
    let running = [Upload::begin(address).await, Upload::begin(address).await];

    let mut others = JoinSet::new();
    for _ in 0..3 {
        others.spawn(whole(address.to_owned()));
    }
    // Two of them wait, so the first response is the refusal.
    let refused = others.join_next().await.unwrap().unwrap();
    assert!(refused.starts_with("HTTP/1.1 429 "), "{refused}");
    assert!(refused.contains("\r\nretry-after: "), "{refused}");

    for upload in running {
        assert!(upload.finish().await.ends_with("\r\n\r\nHELLO"));
    }
    for waited in others.join_all().await {
        assert!(waited.starts_with("HTTP/1.1 200 ") && waited.ends_with("HELLO"), "{waited}");
    }
    assert_eq!(converter.close().await, "");
}

/// A running request whose last byte has not been sent.
struct Upload(TcpStream);

impl Upload {
    /// Sends all but the last byte of the body, once the application has started to read it.
    async fn begin(address: &str) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(HEAD.as_bytes()).await.unwrap();
        stream.write_all(b"Expect: 100-continue\r\n\r\n").await.unwrap();
        let mut answer = [0; CONTINUE.len()];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, CONTINUE);
        stream.write_all(b"hell").await.unwrap();
        Self(stream)
    }

    async fn finish(mut self) -> String {
        self.0.write_all(b"o").await.unwrap();
        answer(self.0).await
    }
}

async fn whole(address: String) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("{HEAD}\r\nhello").as_bytes()).await.unwrap();
    answer(stream).await
}

async fn answer(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

const HEAD: &str =
    "POST /upper HTTP/1.1\r\nHost: converter\r\nConnection: close\r\nContent-Length: 5\r\n";
const CONTINUE: &[u8; 25] = b"HTTP/1.1 100 Continue\r\n\r\n";

#[tokio::test]
async fn the_metrics_of_the_docs_count_allowed_and_refused_requests() {
    let api = Running::start("prometheus").await;
    let client = api.visitor();
    let refused = "waiting_room_verdicts_total{room=\"api\",reason=\"refused:rate:per_ip\"} 1\n";
    assert!(!client.get("/metrics").await.body.contains("waiting_room_verdicts_total"));
    for _ in 0..2 {
        assert_eq!(client.get("/").await.body, "Hello.");
    }
    assert_eq!(refused_by(&client.get("/").await), "per_ip");
    let seen = client.get("/metrics").await;
    assert_eq!(seen.status, StatusCode::OK);
    for line in [refused, "waiting_room_gate_limit{room=\"api\",gate=\"gate\"} 64\n"] {
        assert!(seen.body.contains(line), "{line} in {}", seen.body);
    }
    assert_eq!(api.close().await, "");
}

#[tokio::test]
async fn the_collector_of_the_docs_gets_allowed_and_refused_requests() {
    let collector = Collector::start(Manner::Accepts);
    let to = collector.origin();
    let api = Running::start_with("opentelemetry", |command| {
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", to).env("OTEL_METRIC_EXPORT_INTERVAL", "100")
    });
    let api = api.await;
    let client = api.visitor();
    for _ in 0..2 {
        assert_eq!(client.get("/").await.body, "Hello.");
    }
    assert_eq!(refused_by(&client.get("/").await), "per_ip");
    for (series, value) in [
        ("waiting_room_gate_limit{gate=\"gate\",room=\"api\"}", 64.0),
        ("waiting_room_gate_hold_seconds_bucket{gate=\"gate\",le=\"10\",room=\"api\"}", 2.0),
        ("waiting_room_verdicts_total{reason=\"refused:rate:per_ip\",room=\"api\"}", 1.0),
    ] {
        until(series, async || {
            let exported = collector.series().get(series).copied();
            exported.filter(|exported| (exported - value).abs() < 1e-9)
        })
        .await;
    }
    assert_eq!(api.close().await, "");
}
