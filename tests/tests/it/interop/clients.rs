//! Clients that retry by themselves, and the times at which they do.
//!
//! Each client sends two requests. The second one is refused at first, by a rate limit with 429 and
//! by a room with 503, and the client does not report this: its caller sees two successes.

use std::time::Duration;

use http::StatusCode;
use tests::{Program, config, until, workspace};
use tower_waiting_room::{Quota, respond::ClientKind};

use super::api::{Api, limited};
use crate::curl::curl;

#[tokio::test]
async fn axios_retry_obeys_the_retry_time() {
    obeys(|address| node("axios.mjs").arg(address)).await;
}

#[tokio::test]
async fn curl_obeys_the_retry_time() {
    let folder = tempfile::tempdir().unwrap();
    // Before a retry, curl truncates its output file, which fails for `/dev/null`.
    let shown = ["limit", "room"].map(|name| folder.path().join(name).display().to_string());
    let twice = |address: String, shown: &str| {
        curl(shown, "%{http_code}\n").args(["--retry", "1", &address, &address, "--output", shown])
    };
    tokio::join!(
        obeys_a_limit(async |api| twice(api.url("/"), &shown[0]).run().await),
        obeys_a_room(async |api| twice(api.url("/"), &shown[1]).run().await),
    );
}

#[tokio::test]
async fn got_obeys_the_retry_time() {
    obeys(|address| node("got.mjs").arg(address)).await;
}

#[tokio::test]
async fn httpx_retries_obeys_the_retry_time() {
    obeys(|address| python("with_httpx.py").arg(address)).await;
}

#[tokio::test]
async fn ky_obeys_the_retry_time() {
    obeys(|address| node("ky.mjs").arg(address)).await;
}

#[tokio::test]
async fn requests_with_urllib3_obeys_the_retry_time() {
    obeys(|address| python("with_requests.py").arg(address)).await;
}

#[tokio::test]
async fn undici_obeys_the_retry_time() {
    obeys(|address| node("undici.mjs").arg(address)).await;
}

/// A Node script in the folder of this file.
pub(super) fn node(script: &str) -> Program {
    Program::named("node").arg(workspace(SCRIPTS).join(script))
}

/// A Python script in the folder of this file.
pub(crate) fn python(script: &str) -> Program {
    Program::at(&workspace(".venv/bin/python")).arg(workspace(SCRIPTS).join(script))
}

async fn obeys(client: impl Fn(String) -> Program) {
    tokio::join!(
        obeys_a_limit(async |api| client(api.url("/")).run().await),
        obeys_a_room(async |api| client(api.url("/")).run().await),
    );
}

/// Runs the client against a limit of one request per two seconds.
pub(super) async fn obeys_a_limit(client: impl AsyncFnOnce(&Api) -> String) {
    let api = Api::open(limited(Quota::new(1, Duration::from_secs(2))));
    assert_eq!(client(&api).await, "200\n200\n");
    came_back_in_time(&api, StatusCode::TOO_MANY_REQUESTS);
}

/// Runs the client against a room. The first request takes the only slot; a second slot is added
/// once the second request was refused.
pub(super) async fn obeys_a_room(client: impl AsyncFnOnce(&Api) -> String) {
    let refusal = StatusCode::SERVICE_UNAVAILABLE;
    let api = Api::open(config().status(ClientKind::Json, refusal));
    let second_slot = async {
        until("a refusal", async || (api.visits().len() == 2).then_some(())).await;
        api.handle().room().unwrap().set_limits(2, None).await.unwrap();
    };
    let (said, ()) = tokio::join!(client(&api), second_slot);
    assert_eq!(said, "200\n200\n");
    came_back_in_time(&api, refusal);
}

fn came_back_in_time(api: &Api, refusal: StatusCode) {
    let visits = api.visits();
    let statuses: Vec<_> = visits.iter().map(|visit| visit.status).collect();
    assert_eq!(statuses, [StatusCode::OK, refusal, StatusCode::OK]);
    let told = visits[1].retry_after();
    let gap = visits[2].at.since(visits[1].at);
    assert!(told >= Duration::from_secs(1), "{told:?}");
    assert!((told..=told + SLACK).contains(&gap), "back after {gap:?}, told {told:?}");
}

/// How much later than asked a client may retry, because the machine may be busy. A client that does not
/// obey retries too early.
pub(crate) const SLACK: Duration = Duration::from_secs(10);

const SCRIPTS: &str = "tests/tests/it/interop";
