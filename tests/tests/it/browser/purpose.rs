//! Requests that a browser sends without a person asking for them, and visits that look like them.

use axum::{Router, response::Html, routing::get};
use fantoccini::Locator;
use serde_json::json;
use tests::{Browser, House, Process, config, until};
use tower_http::cors::{AllowOrigin, CorsLayer};
use tower_waiting_room::config::WaitingRoomConfigBuilder;

/// The shop is at `localhost`, which is another site.
const ELSEWHERE: &str = "127.0.0.1";

fn roomy() -> WaitingRoomConfigBuilder {
    config().total_active_users(20)
}

/// Serves one page of another site with this body.
fn site(body: String) -> Process {
    Process::start(async |listener| {
        let app = Router::new().fallback(get(async move || Html(body)));
        axum::serve(listener, app).await.unwrap();
    })
}

fn page(site: &Process) -> String {
    format!("http://{ELSEWHERE}:{}/", site.port())
}

#[tokio::test]
async fn a_page_of_another_site_takes_no_slots_and_its_link_is_a_visit() {
    let house = House::open(roomy());
    let shop = house.url("/item?id=");
    let site = site(format!(
        "<!doctype html><title>Elsewhere</title>\
         <link rel=stylesheet href='{shop}style'><link rel=prefetch href='{shop}prefetch'>\
         <img src='{shop}1'><img src='{shop}2'><img src='{shop}3'>\
         <video src='{shop}video'></video><script src='{shop}script'></script>\
         <iframe title=shop src='{shop}frame'></iframe>\
         <script>fetch('{shop}call', {{mode: 'no-cors', credentials: 'include'}});\
         navigator.sendBeacon('{shop}beacon', ''); new WebSocket('{shop}'.replace('http', 'ws'));\
         </script><a id=link href='{shop}7'>the shop</a>"
    ));
    let browser = Browser::start().await;
    for _ in 0..3 {
        browser.goto(&page(&site)).await;
        until("all parts are asked for", async || {
            let asked = "performance.getEntriesByType('resource').length";
            (browser.value(asked).await.as_u64() >= Some(8)).then_some(())
        })
        .await;
    }
    assert_eq!(house.snapshot().await.active, 0);
    browser.client().find(Locator::Id("link")).await.unwrap().click().await.unwrap();
    assert_eq!(browser.inside().await, "GET /item?id=7");
    assert_eq!(house.snapshot().await.active, 1);
}

#[tokio::test]
async fn a_prerendered_page_takes_no_slot_until_it_is_visited() {
    let house = House::open(roomy());
    let browser = Browser::start().await;
    browser.goto(&house.url("/about")).await;
    let rules =
        json!({ "prerender": [{ "urls": ["/item?id=7"] }], "prefetch": [{ "urls": ["/8"] }] });
    let link =
        "Object.assign(document.createElement('a'), {id: 'link', href: '/item?id=7', text: 'go'})";
    browser.value(&format!("document.body.append({link})")).await;
    let script =
        "Object.assign(document.createElement('script'), {type: 'speculationrules', text: ";
    browser.value(&format!("document.head.append({script}'{rules}'}}))")).await;
    // A request of the same page, sent after the speculative ones.
    let asked = "fetch('/call').then(answer => answer.status)";
    assert_eq!(browser.promised(asked).await, json!(429));
    assert_eq!(house.snapshot().await.active, 0);
    browser.client().find(Locator::Id("link")).await.unwrap().click().await.unwrap();
    assert_eq!(browser.inside().await, "GET /item?id=7");
    assert_eq!(house.snapshot().await.active, 1);
}

/// Six first calls at once, each repeated as its answer asks. Returns the statuses of each call.
const CALLS: &str = "(address => {
    const call = async number => {
        const statuses = [];
        for (;;) {
            const answer = await fetch(address + number, {credentials: 'include'});
            statuses.push(answer.status);
            if (answer.ok) return statuses;
            const seconds = +answer.headers.get('retry-after');
            await new Promise(done => setTimeout(done, 1000 * seconds));
        }
    };
    return Promise.all([1, 2, 3, 4, 5, 6].map(call));
})";

#[tokio::test]
async fn six_parallel_first_calls_of_a_page_take_one_slot() {
    let cors = |app: Router| {
        let origin = AllowOrigin::mirror_request();
        app.layer(CorsLayer::new().allow_origin(origin).allow_credentials(true))
    };
    let house = House::open_at(0, roomy(), cors);
    let elsewhere = House::open(config());
    let browser = Browser::start().await;
    // A page of the same origin, and one of another origin of the same site.
    for (page, active) in [(house.url("/about"), 1), (elsewhere.url("/about"), 2)] {
        browser.client().delete_all_cookies().await.unwrap();
        browser.goto(&page).await;
        let seen = browser.promised(&format!("{CALLS}('{}')", house.url("/call/"))).await;
        assert_eq!(
            seen,
            json!([[429, 200], [429, 200], [429, 200], [429, 200], [429, 200], [429, 200]])
        );
        assert_eq!(house.snapshot().await.active, active);
    }
}
