//! The program of `docs/dashboard.md`, and what the dashboard costs its process.

use std::time::Duration;

use http::StatusCode;

use super::{
    listing::{Listing, page},
    running::Running,
};

pub(crate) fn listing() -> Listing {
    Listing::first_in("dashboard", &page("docs/dashboard.md"))
}

/// The password of the test, as the value of `Authorization`: `ann:doors-open-at-eight`.
const AUTHORIZATION: (&str, &str) = ("authorization", "Basic YW5uOmRvb3JzLW9wZW4tYXQtZWlnaHQ=");

async fn start() -> Running {
    let password = ("OPERATOR_PASSWORD", "doors-open-at-eight");
    Running::start_with("dashboard", |command| command.env(password.0, password.1)).await
}

#[tokio::test]
async fn the_dashboard_of_the_docs_is_for_its_operator_and_outside_of_the_room() {
    let shop = start().await;
    let guest = shop.visitor();
    let operator = shop.visitor();
    assert_eq!(guest.get("/").await.body, "Welcome to the shop.");
    assert_eq!(guest.get("/admin").await.status, StatusCode::UNAUTHORIZED);
    let seen = operator.get_with("/admin", &[AUTHORIZATION]).await;
    assert_eq!(seen.status, StatusCode::OK);
    assert!(seen.body.contains("<title>Waiting room</title>"), "{}", seen.body);
    assert!(seen.header("set-cookie").is_none());
    let status = operator.get_with("/admin/status", &[AUTHORIZATION]).await.json();
    assert_eq!(status["result"]["estimated_total_active_users"], 1);
    assert_eq!(status["result"]["status"], "not_queueing");
}

#[tokio::test]
async fn an_open_page_does_not_delay_a_graceful_shutdown() {
    let shop = start().await;
    let client = reqwest::Client::new();
    let request = client.get(format!("{}/admin/events", shop.address()));
    let mut stream = request.header(AUTHORIZATION.0, AUTHORIZATION.1).send().await.unwrap();
    assert!(stream.chunk().await.unwrap().is_some());
    // The stream would run for a minute.
    let ended = tokio::time::timeout(Duration::from_secs(20), shop.interrupt()).await;
    assert!(ended.expect("the program ends at once").success());
    while stream.chunk().await.unwrap().is_some() {}
}

/// The page states 1 % of a core and 16 MiB. The program is not optimized here.
#[tokio::test]
async fn a_dashboard_with_one_page_open_stays_within_its_cpu_and_memory() {
    let shop = start().await;
    let without = Running::start("room").await;
    for running in [&shop, &without] {
        running.visitor().get("/").await;
    }
    let client = reqwest::Client::new();
    let request = client.get(format!("{}/admin/events", shop.address()));
    let mut stream = request.header(AUTHORIZATION.0, AUTHORIZATION.1).send().await.unwrap();
    let mut events = async |wanted: usize| {
        let mut seen = 0;
        while seen < wanted {
            let chunk = stream.chunk().await.unwrap().unwrap();
            seen += String::from_utf8(chunk.to_vec()).unwrap().matches("event: figures").count();
        }
    };
    // The first events include what happens only once.
    events(2).await;
    let before = shop.cpu_nanos();
    events(10).await;
    let spent = shop.cpu_nanos() - before;
    println!("{} us of CPU time per second", spent / 10_000);
    assert!(spent < 10 * 10_000_000, "{spent} ns in 10 s");
    let more = shop.resident_bytes().saturating_sub(without.resident_bytes());
    println!("{} KiB more than without the dashboard", more / 1_024);
    assert!(more < 16 << 20, "{more} bytes");
}
