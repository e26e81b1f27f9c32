//! Foreign clients at a full gate.

use std::time::Duration;

use axum::{Router, http::StatusCode, routing::get};
use tests::{Program, until};
use tonic::{Code, Request, Streaming, transport::Channel};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse, health_client::HealthClient};
use tower_waiting_room::WaitingRoomConfig;

use super::{wire::Raw, works::layer, *};
use crate::{
    curl::curl,
    grpc::{connect, retry_delay, serve},
    interop::{
        api::Api,
        clients::{SLACK, python},
    },
};

#[tokio::test]
async fn curl_gets_a_retry_time_whether_it_has_waited_or_not() {
    let ask = async |gate| {
        let works = Works::open(gate, |app, _| app);
        let _guest = Wire::Http1.crowd([works.url("/work")]);
        works.has(1, 0).await;
        let told = "%{http_code} %header{retry-after}";
        curl("/dev/null", told).arg(works.url("/quick")).run().await
    };
    for (gate, status) in
        [(gate(1).queue(0), "429 "), (gate(1).max_wait(Duration::from_millis(300)), "504 ")]
    {
        let told = ask(gate).await;
        let retry_after = told.strip_prefix(status).unwrap_or_else(|| panic!("{told}"));
        assert!((1..=60).contains(&retry_after.parse::<u32>().unwrap()), "{told}");
    }
}

#[tokio::test]
async fn curl_with_retries_waits_as_long_as_stated_and_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    let shown = folder.path().join("shown").display().to_string();
    comes_back_in_time(|url| curl(&shown, "%{http_code}\n").args(["--retry", "1", url]), 1).await;
}

#[tokio::test]
async fn requests_with_urllib3_waits_as_long_as_stated_and_succeeds() {
    comes_back_in_time(|url| python("with_requests.py").arg(url), 2).await;
}

#[tokio::test]
async fn a_refused_large_upload_neither_hangs_nor_loses_its_answer() {
    let works = Works::open(gate(1).queue(0), |app, _| app);
    let _guest = Wire::Http1.crowd([works.url("/work")]);
    works.has(1, 0).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![b'x'; 1 << 20]).unwrap();
    let upload = format!("@{}", file.path().display());
    for _ in 0..UPLOADS {
        let seen = curl("-", " %{http_code} %header{connection}")
            .args(["--max-time", "20", "--header", "Expect:"])
            .args(["--data-binary", &upload, &works.url("/echo")])
            .run()
            .await;
        assert!(seen.contains("gate_full") && seen.ends_with(" 429 close"), "{seen}");
    }
}

/// Many clients read the response only after they have sent the whole request.
#[tokio::test]
async fn a_client_that_sends_on_after_a_refusal_can_read_the_answer() {
    let works = Works::open(gate(1).queue(0), |app, _| app);
    let _guest = Wire::Http1.crowd([works.url("/work")]);
    works.has(1, 0).await;
    let head = |len| format!("POST /echo HTTP/1.1\r\nHost: works\r\nContent-Length: {len}\r\n\r\n");
    let mut client = Raw::connect(&works).await;
    // After a small body the connection stays open; after a large one it is closed.
    for (refusals, len, is_last) in [(1, 9 * 1024, false), (2, 1 << 20, true)] {
        client.send(head(len)).await;
        works.refuses(refusals).await;
        client.send(vec![b'x'; len]).await;
        let answer = client.read_to("\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 429 Too Many Requests\r\n"), "{answer}");
        assert_eq!(answer.contains("connection: close\r\n"), is_last, "{answer}");
        let len = answer.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        client.read(len.parse().unwrap()).await;
    }
    client.ends().await;
}

#[tokio::test]
async fn a_large_upload_is_sent_once_it_may_run() {
    let works = Works::open(gate(1), |app, _| app);
    let guest = Wire::Http1.crowd([works.url("/work")]);
    works.has(1, 0).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![b'x'; 1 << 20]).unwrap();
    let upload = format!("@{}", file.path().display());
    let upload = curl("/dev/null", "%{http_code} %{size_upload} %{size_download}")
        .args(["--expect100-timeout", "20", "--header", "Expect: 100-continue"])
        .args(["--data-binary", &upload, &works.url("/echo")]);
    let upload = tokio::spawn(upload.run());
    works.has(1, 1).await;
    works.finish(1);
    finished(guest, "done").await;
    assert_eq!(upload.await.unwrap(), "200 1048576 1048576");
}

#[tokio::test]
async fn a_grpc_caller_gets_resource_exhausted_with_pushback_at_a_full_gate() {
    let (process, handle) = serve(WaitingRoomConfig::builder("api").concurrency(gate(1).queue(0)));
    let mut client = connect(&process).await;
    let stream = begun(&mut client).await;
    let refused = client.check(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    let pushback = refused.metadata().get("grpc-retry-pushback-ms").unwrap().to_str().unwrap();
    let pushback: u128 = pushback.parse().unwrap();
    assert!((1..=60_000).contains(&pushback), "{refused:?}");
    assert_eq!(pushback, retry_delay(&refused).as_nanos().div_ceil(1_000_000));
    drop(stream);
    until("the stream is over", async || {
        (handle.gates()[0].snapshots()[0].in_flight == 0).then_some(())
    })
    .await;
    client.check(HealthCheckRequest::default()).await.unwrap();
}

/// tonic's client enforces the deadline itself, so the answer has to arrive before it. The gate can
/// ensure that once it knows how long requests run.
#[tokio::test]
async fn a_grpc_caller_with_little_time_is_answered_in_time() {
    let (process, handle) = serve(WaitingRoomConfig::builder("api").concurrency(gate(1)));
    let mut client = connect(&process).await;
    let snapshot = || handle.gates()[0].snapshots()[0];
    // The requests run one after the other, each for a sixth of a second.
    let is_slow = || snapshot().oldest_wait >= Duration::from_millis(167);
    let mut stream = begun(&mut client).await;
    for _ in 0..12 {
        let mut next = client.clone();
        let next = tokio::spawn(async move { begun(&mut next).await });
        until("a slow service", async || is_slow().then_some(())).await;
        drop(stream);
        stream = next.await.unwrap();
    }

    // A request that finds the queue empty is not shed because of its deadline, so another one
    // waits before it.
    let mut patient = client.clone();
    let patient = tokio::spawn(async move { patient.check(HealthCheckRequest::default()).await });
    until("a waiting request", async || (snapshot().queued == 1).then_some(())).await;
    let mut hurried = async |millis| {
        let mut hurried = Request::new(HealthCheckRequest::default());
        hurried.set_timeout(Duration::from_millis(millis));
        client.check(hurried).await.unwrap_err()
    };
    let at_once = hurried(100).await;
    assert_eq!(at_once.code(), Code::ResourceExhausted, "{at_once:?}");
    assert_eq!((snapshot().outcomes.shed, snapshot().outcomes.timed_out), (1, 0));
    let in_vain = hurried(1_000).await;
    assert_eq!(in_vain.code(), Code::DeadlineExceeded, "{in_vain:?}");
    assert_eq!((snapshot().outcomes.shed, snapshot().outcomes.timed_out), (1, 1));
    drop(stream);
    patient.await.unwrap().unwrap();
}

/// A stream that holds its permit until it is dropped.
async fn begun(client: &mut HealthClient<Channel>) -> Streaming<HealthCheckResponse> {
    let mut stream = client.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
    stream.message().await.unwrap().unwrap();
    stream
}

/// Runs a client that sends this number of requests, of which the first is refused. The permit is
/// free by the time the client returns.
async fn comes_back_in_time(client: impl Fn(&str) -> Program, asks: usize) {
    let layer = layer(gate(1).queue(0));
    let floor = Floor::new();
    let app = Router::new().route("/work", floor.work()).route("/quick", get(async || "quick"));
    let api = Api::of(&layer, app.layer(layer.clone()));
    let guest = Wire::Http1.crowd([api.url("/work")]);
    floor.has(1).await;
    let visit = tokio::spawn(client(&api.url("/quick")).run());
    until("a refusal", async || (!api.visits().is_empty()).then_some(())).await;
    floor.finish(1);
    finished(guest, "done").await;
    assert_eq!(visit.await.unwrap(), "200\n".repeat(asks));

    let [refused, _guest, back, ..] = &*api.visits() else { panic!("too few visits") };
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    let told = refused.retry_after();
    let gap = back.at.since(refused.at);
    assert!((told..=told + SLACK).contains(&gap), "back after {gap:?}, told {told:?}");
}

const UPLOADS: usize = 25;
