//! Libraries that put answers into a page, with Fetch Metadata and without it.

use axum::{response::Html, routing::get};
use serde_json::{Value, json};
use tests::{Browser, House, config, workspace};

/// Loads `/part` with a library, and returns the status and the type of the answer, and the text of
/// the element for which it was loaded.
const LOAD: &str = "(async load => {
    await load().catch(() => {});
    const {responseStatus, contentType} = performance.getEntriesByName(location.origin + '/part')[0];
    return [responseStatus, contentType, document.getElementById('part').innerText];
})";

/// Only `localhost` and HTTPS have Fetch Metadata.
const HOSTS: [&str; 2] = ["localhost", "shop.example"];

async fn loaded(browser: &Browser, host: &str, library: &str, load: &str) -> Value {
    let script = workspace(&format!("tests/node_modules/{library}"));
    let script = std::fs::read_to_string(script).unwrap();
    let page = "<!doctype html><title>Shop</title><link rel=icon href='data:,'>\
                <script src=/library.js></script><p id=part>as before</p>";
    let house = House::open_at(0, config(), move |app| {
        let javascript = [("content-type", "text/javascript")];
        let app = app.route("/library.js", get(async move || (javascript, script)));
        app.route("/page", get(async move || Html(page)))
    });
    let _guest = house.guest().await;
    browser.goto(&format!("http://{host}:{}/page", house.port())).await;
    browser.promised(&format!("{LOAD}(async () => {load})")).await
}

#[tokio::test]
async fn htmx_and_jquery_put_only_sentences_into_a_page() {
    let htmx = "htmx.ajax('GET', '/part', '#part')";
    let jquery = "new Promise(done => $('#part').load('/part', done))";
    let browser = Browser::start().await;
    for host in HOSTS {
        for (library, load) in [("htmx.org/dist/htmx.js", htmx), ("jquery/dist/jquery.js", jquery)]
        {
            let seen = loaded(&browser, host, library, load).await;
            assert_eq!(seen, json!([429, "application/json", "as before"]), "{library} {host}");
        }
        // From version 4 on, htmx shows every answer in place of the part, and accepts only HTML.
        let seen = loaded(&browser, host, "htmx4/dist/htmx.js", htmx).await;
        assert_eq!((&seen[0], &seen[1]), (&json!(429), &json!("text/plain")), "{host}: {seen}");
        assert!(seen[2].as_str().unwrap().contains("Please try again in "), "{seen}");
    }
}

#[tokio::test]
async fn a_browser_without_fetch_metadata_waits_and_enters() {
    let (house, guest) = House::full(config()).await;
    let browser = Browser::start().await;
    browser.goto(&format!("http://{}:{}/item?id=7", HOSTS[1], house.port())).await;
    browser.text_when("h1", |text| text == "You are next in line").await;
    guest.leave().await;
    assert_eq!(browser.inside().await, "GET /item?id=7");
}
