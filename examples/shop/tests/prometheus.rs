//! A real Prometheus server scrapes the real shop while visitors are admitted.

#![expect(clippy::unwrap_used, reason = "a test fails where what it needs is not there")]

use std::{
    fs,
    future::Future,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    process::{Child, Command, Stdio},
    time::Duration,
};

use reqwest::Client;
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::{interval, timeout};

/// A process that is killed at the end of the test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Starts the shop with two slots. Returns its address.
fn shop() -> (Killed, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shop"));
    command.args(["--listen", "127.0.0.1:0", "--limit", "2", "--refresh-interval", "2s"]);
    let mut child = command.env("RUST_LOG", "off").stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = lines.find_map(|line| {
        let line = line.unwrap();
        let rest = line.split("http://").nth(1)?;
        Some(rest.split(';').next().unwrap().to_owned())
    });
    (Killed(child), line.expect("the shop prints its address"))
}

/// Starts Prometheus, which scrapes the shop once a second. Returns its address.
fn prometheus(folder: &TempDir, shop: &str) -> (Killed, String) {
    let config = folder.path().join("prometheus.yml");
    let text = format!(
        "global: {{scrape_interval: 1s}}\n\
         scrape_configs: [{{job_name: shop, static_configs: [{{targets: ['{shop}']}}]}}]\n"
    );
    fs::write(&config, text).unwrap();
    // Prometheus does not report which free port it has chosen, so the test chooses one.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let child = Command::new("prometheus")
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
        .arg(format!("--web.listen-address={address}"))
        .arg("--log.level=error")
        .spawn()
        .expect("prometheus is installed by scripts/install-test-parts.sh");
    (Killed(child), address)
}

/// Polls a condition until it is met, for up to half a minute.
async fn until<F: Future<Output = bool>>(what: &str, mut ask: impl FnMut() -> F) {
    let mut beat = interval(Duration::from_millis(100));
    let met = timeout(Duration::from_secs(30), async {
        loop {
            beat.tick().await;
            if ask().await {
                return;
            }
        }
    });
    met.await.unwrap_or_else(|_| panic!("waited in vain: {what}"));
}

/// The value of a query, if it has exactly one.
async fn query(prometheus: &str, query: &str) -> Option<f64> {
    let url = reqwest::Url::parse_with_params(
        &format!("http://{prometheus}/api/v1/query"),
        [("query", query)],
    );
    let text = Client::new().get(url.unwrap()).send().await.ok()?.text().await.ok()?;
    let answer: Value = serde_json::from_str(&text).ok()?;
    answer["data"]["result"][0]["value"][1].as_str()?.parse().ok()
}

async fn reads(prometheus: &str, name: &str, value: f64) {
    until(&format!("{name} is {value}"), || async move {
        query(prometheus, name).await.is_some_and(|it| (it - value).abs() < 1e-9)
    })
    .await;
}

/// A client with cookies.
fn visitor() -> Client {
    Client::builder().cookie_store(true).build().unwrap()
}

async fn is_inside(visitor: &Client, shop: &str) -> bool {
    visitor.get(format!("http://{shop}/")).send().await.unwrap().status().is_success()
}

#[tokio::test]
async fn prometheus_reads_who_is_active_who_waits_and_who_is_admitted() {
    let folder = tempfile::tempdir().unwrap();
    let (_shop, shop) = shop();
    let (_prometheus, prometheus) = prometheus(&folder, &shop);
    let [ann, bob, eve] = [visitor(), visitor(), visitor()];
    assert!(is_inside(&ann, &shop).await && is_inside(&bob, &shop).await);
    reads(&prometheus, "waiting_room_active{room=\"shop\"}", 2.0).await;
    reads(&prometheus, "waiting_room_active_limit", 2.0).await;
    reads(&prometheus, "waiting_room_admitted_total", 2.0).await;
    reads(&prometheus, "waiting_room_store_up", 1.0).await;

    assert!(!is_inside(&eve, &shop).await);
    reads(&prometheus, "waiting_room_first_touches_total", 1.0).await;
    // The second touch makes a place.
    until("a visitor is in line", || async {
        assert!(!is_inside(&eve, &shop).await);
        query(&prometheus, "waiting_room_waiting").await == Some(1.0)
    })
    .await;
    reads(&prometheus, "waiting_room_present", 1.0).await;

    let checkout = ann.post(format!("http://{shop}/checkout")).send().await.unwrap();
    assert!(checkout.status().is_success() || checkout.status().is_redirection());
    until("the next visitor is admitted", || is_inside(&eve, &shop)).await;
    reads(&prometheus, "waiting_room_admitted_total", 3.0).await;
    reads(&prometheus, "waiting_room_waiting", 0.0).await;
    reads(&prometheus, "waiting_room_wait_seconds_count", 1.0).await;
    reads(&prometheus, "waiting_room_session_seconds_bucket{le=\"+Inf\"}", 1.0).await;
    reads(&prometheus, "sum(waiting_room_estimate_error_seconds_count)", 1.0).await;
    check(
        &Client::new()
            .get(format!("http://{shop}/metrics"))
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap(),
    );
}

/// Lets `promtool` check the text that Prometheus scrapes.
fn check(text: &str) {
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is installed by scripts/install-test-parts.sh");
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{said}\n{text}");
}
