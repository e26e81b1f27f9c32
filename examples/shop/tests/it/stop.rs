//! The real shop ends with the first ctrl-c, although an operator is watching.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

use tokio::{task::spawn_blocking, time::timeout};

#[tokio::test]
async fn the_first_ctrl_c_ends_the_shop_although_a_page_of_the_dashboard_is_open() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shop"));
    command.args(["--listen", "127.0.0.1:0", "--admin"]).env("SHOP_ADMIN_PASSWORD", PASSWORD);
    let mut shop = command.env("RUST_LOG", "off").stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(shop.stderr.take().unwrap()).lines();
    let mut address = None;
    for line in lines.by_ref() {
        let line = line.unwrap();
        if let Some((_, found)) = line.split_once("the dashboard is on ") {
            address = Some(found.to_owned());
        }
        if line.starts_with("the shop is open") {
            break;
        }
    }
    let address = address.expect("the shop prints the address of its dashboard");
    let request = reqwest::Client::new().get(format!("{address}/events"));
    let mut stream = request.header("authorization", AUTHORIZATION).send().await.unwrap();
    assert!(stream.chunk().await.unwrap().is_some());
    let id = shop.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let ended = async {
        // The stream ends, or else it would run for a minute.
        while stream.chunk().await.unwrap().is_some() {}
        spawn_blocking(move || shop.wait()).await.unwrap().unwrap()
    };
    let status = timeout(Duration::from_secs(20), ended).await.expect("the shop ends at once");
    assert!(status.success(), "{status}");
}

const PASSWORD: &str = "doors-open-at-eight";

/// `admin:doors-open-at-eight`
const AUTHORIZATION: &str = "Basic YWRtaW46ZG9vcnMtb3Blbi1hdC1laWdodA==";
