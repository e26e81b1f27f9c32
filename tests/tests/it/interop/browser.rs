//! A script in a browser, of another origin than the limits.

use axum::Router;
use http::{HeaderMap, Method};
use serde_json::{Value, json};
use tests::{Browser, House, config};
use tower_http::cors::{Any, CorsLayer};
use tower_waiting_room::{EXPOSED_HEADERS, Quota, RateHeaders};

use super::api::{Api, Visit, limited};

/// Asks with a header that needs a preflight, and tells the status and the headers it can read.
const ASK: &str = "async address => {
    const answer = await fetch(address, {headers: {'x-api-key': '7'}});
    return [answer.status, Object.fromEntries(answer.headers)];
}";

fn cors(app: Router) -> Router {
    let cors = CorsLayer::new().allow_origin(Any).allow_headers(Any);
    app.layer(cors.expose_headers(EXPOSED_HEADERS))
}

/// What the server has told about limits.
fn told(headers: &HeaderMap) -> Value {
    let entries = headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap()));
    entries.filter(|(name, _)| is_about_limits(name)).map(entry).collect()
}

/// What a script has read about limits.
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
async fn a_script_reads_all_about_limits_on_a_success_and_on_a_refusal() {
    let elsewhere = House::open(config());
    let browser = Browser::start().await;
    browser.goto(&elsewhere.url("/about")).await;
    for (profile, on_success) in [
        (RateHeaders::Book, 2),
        (RateHeaders::Default, 5),
        (RateHeaders::Draft11Strict, 2),
        (RateHeaders::Draft6, 4),
        (RateHeaders::Draft7, 2),
    ] {
        let api = Api::open_in(limited(Quota::per_hour(1)).rate_headers(profile), cors);
        let ask = format!("({ASK})('{}')", api.url("/"));
        let [admitted, refused] = [browser.promised(&ask).await, browser.promised(&ask).await];
        assert_eq!((&admitted[0], &refused[0]), (&json!(200), &json!(429)), "{profile:?}");

        // The only request that the limit allows was not the preflight.
        let (preflights, asked): (Vec<_>, Vec<Visit>) =
            api.visits().into_iter().partition(|visit| visit.method == Method::OPTIONS);
        assert!(!preflights.is_empty() && asked.len() == 2, "{profile:?}");
        assert_eq!(read(&admitted).as_object().unwrap().len(), on_success, "{profile:?}");
        assert_eq!(read(&admitted), told(&asked[0].headers), "{profile:?}");
        assert_eq!(read(&refused), told(&asked[1].headers), "{profile:?}");
        assert_eq!(read(&refused)["retry-after"], "3600", "{profile:?}");
    }
}
