//! A script in a browser, on a page of another origin than the API.

use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use tests::{Browser, House, application, config};
use tower_http::cors::{Any, CorsLayer};
use tower_waiting_room::{
    Quota, WaitingRoomLayer, config::Preflight, rate::RateHeaders, respond::EXPOSED_HEADERS,
};

use super::api::{Api, limited};

/// Sends a request with a header that needs a preflight, and returns the status and the headers
/// that the script can read.
const ASK: &str = "async address => {
    const answer = await fetch(address, {headers: {'x-api-key': '7'}});
    return [answer.status, Object.fromEntries(answer.headers)];
}";

fn cors() -> CorsLayer {
    CorsLayer::new().allow_origin(Any).allow_headers(Any).expose_headers(EXPOSED_HEADERS)
}

/// A layer with a limit of one request per hour.
fn once(profile: RateHeaders) -> WaitingRoomLayer {
    let config = limited(Quota::per_hour(1)).rate_headers(profile);
    WaitingRoomLayer::new(config.build().unwrap())
}

async fn ask_twice(browser: &Browser, api: &Api) -> [Value; 2] {
    let ask = format!("({ASK})('{}')", api.url("/"));
    [browser.promised(&ask).await, browser.promised(&ask).await]
}

/// A browser on a page of another origin.
async fn elsewhere() -> (Browser, House) {
    let browser = Browser::start().await;
    let house = House::open(config());
    browser.goto(&house.url("/about")).await;
    (browser, house)
}

/// The headers about limits that the server sent.
fn told(headers: &HeaderMap) -> Value {
    let entries = headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap()));
    entries.filter(|(name, _)| is_about_limits(name)).map(entry).collect()
}

/// The headers about limits that the script read.
fn read(seen: &Value) -> Value {
    let headers = seen[1].as_object().unwrap();
    let entries = headers.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap()));
    entries.filter(|(name, _)| is_about_limits(name)).map(entry).collect()
}

fn is_about_limits(name: &str) -> bool {
    name.contains("ratelimit") || name == "retry-after"
}

fn entry((name, value): (&str, &str)) -> (String, Value) {
    (name.to_owned(), json!(value))
}

#[tokio::test]
async fn a_script_reads_all_limit_headers_of_a_success_and_of_a_refusal() {
    let (browser, _elsewhere) = elsewhere().await;
    // The number of these headers on a successful response.
    for (profile, on_success) in [
        (RateHeaders::XRateLimit, 2),
        (RateHeaders::Combined, 5),
        (RateHeaders::Common, 3),
        (RateHeaders::Draft11Strict, 2),
        (RateHeaders::Draft6, 4),
        (RateHeaders::Draft7, 2),
    ] {
        let layer = once(profile);
        let api = Api::of(&layer, application().layer(layer.clone()).layer(cors()));
        let [admitted, refused] = ask_twice(&browser, &api).await;
        assert_eq!((&admitted[0], &refused[0]), (&json!(200), &json!(429)), "{profile:?}");
        let mut asked = api.visits();
        asked.retain(|visit| visit.method == Method::GET);
        assert_eq!(read(&admitted).as_object().unwrap().len(), on_success, "{profile:?}");
        assert_eq!(read(&admitted), told(&asked[0].headers), "{profile:?}");
        assert_eq!(read(&refused), told(&asked[1].headers), "{profile:?}");
        assert_eq!(read(&refused)["retry-after"], "3600", "{profile:?}");
    }
}

#[tokio::test]
async fn a_preflight_that_reaches_the_limit_is_counted() {
    let (browser, _elsewhere) = elsewhere().await;
    let layer = once(RateHeaders::Common);
    // In the wrong order: the limit comes before CORS.
    let api = Api::of(&layer, application().layer(cors()).layer(layer.clone()));
    let refused = &ask_twice(&browser, &api).await[0];
    let methods: Vec<Method> = api.visits().iter().map(|visit| visit.method.clone()).collect();
    assert_eq!(methods[..2], [Method::OPTIONS, Method::GET], "it takes the only request");
    assert!(refused.as_str().unwrap().contains("Failed to fetch"), "{refused}");
}

#[tokio::test]
async fn a_preflight_is_not_counted_if_the_configuration_exempts_it() {
    let (browser, _elsewhere) = elsewhere().await;
    let config = limited(Quota::per_hour(1)).preflight(Preflight::Bypass);
    let layer = WaitingRoomLayer::new(config.build().unwrap());
    // In the wrong order: the limit comes before CORS.
    let api = Api::of(&layer, application().layer(cors()).layer(layer.clone()));
    let [admitted, refused] = ask_twice(&browser, &api).await;
    assert_eq!(api.visits()[0].method, Method::OPTIONS);
    assert_eq!((&admitted[0], &admitted[1]["x-ratelimit-remaining"]), (&json!(200), &json!("0")));
    // Then a script cannot see that the request was refused, nor when to retry.
    assert_eq!(api.visits().last().unwrap().status, StatusCode::TOO_MANY_REQUESTS);
    assert!(refused.as_str().unwrap().contains("Failed to fetch"), "{refused}");
}
