//! A real Prometheus server scrapes the real shop while visitors are admitted.

use std::{fs, process::Stdio};

use reqwest::Client;
use serde_json::Value;
use tempfile::TempDir;
use tests::until;
use tokio::{
    io::AsyncWriteExt,
    process::{Child, Command},
};

use crate::shop::{Shop, check_out, free_address, is_inside};

/// Starts Prometheus, which scrapes the shop once a second. Returns its address.
fn prometheus(folder: &TempDir, shop: &str) -> (Child, String) {
    let config = folder.path().join("prometheus.yml");
    let text = format!(
        "global: {{scrape_interval: 1s}}\n\
         scrape_configs: [{{job_name: shop, static_configs: [{{targets: ['{shop}']}}]}}]\n"
    );
    fs::write(&config, text).unwrap();
    // Prometheus does not report which free port it has chosen, so the test chooses one.
    let address = free_address();
    let child = Command::new("prometheus")
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
        .arg(format!("--web.listen-address={address}"))
        .arg("--log.level=error")
        .kill_on_drop(true)
        .spawn()
        .expect("prometheus is installed by scripts/install-test-parts.sh");
    (child, address)
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
    until(&format!("{name} is {value}"), async || {
        query(prometheus, name).await.filter(|found| (found - value).abs() < 1e-9)
    })
    .await;
}

#[tokio::test]
async fn prometheus_reads_active_waiting_and_admitted_visitors() {
    let folder = tempfile::tempdir().unwrap();
    let shop = Shop::open(&[], &[]).await;
    let (_prometheus, prometheus) = prometheus(&folder, &shop.address);
    let [ann, bob, eve] = [(); 3].map(|()| shop.visitor());
    assert!(is_inside(&ann).await && is_inside(&bob).await);
    for name in ["active{room=\"shop\"}", "active_limit", "admitted_total"] {
        reads(&prometheus, &format!("waiting_room_{name}"), 2.0).await;
    }
    reads(&prometheus, "waiting_room_store_up", 1.0).await;

    assert!(!is_inside(&eve).await);
    reads(&prometheus, "waiting_room_first_touches_total", 1.0).await;
    // The second touch makes a place.
    until("a visitor is in line", async || {
        assert!(!is_inside(&eve).await);
        query(&prometheus, "waiting_room_waiting").await.filter(|found| *found > 0.0)
    })
    .await;
    reads(&prometheus, "waiting_room_present", 1.0).await;

    check_out(&ann).await;
    until("the next visitor is admitted", async || is_inside(&eve).await.then_some(())).await;
    reads(&prometheus, "waiting_room_admitted_total", 3.0).await;
    reads(&prometheus, "waiting_room_waiting", 0.0).await;
    reads(&prometheus, "waiting_room_wait_seconds_count", 1.0).await;
    reads(&prometheus, "waiting_room_session_seconds_bucket{le=\"+Inf\"}", 1.0).await;
    reads(&prometheus, "sum(waiting_room_estimate_error_seconds_count)", 1.0).await;
    check(&shop.visitor().get("/metrics").await.body).await;
}

/// Lets `promtool` check the text that Prometheus scrapes.
async fn check(text: &str) {
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is installed by scripts/install-test-parts.sh");
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).await.unwrap();
    let output = promtool.wait_with_output().await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{said}\n{text}");
}
