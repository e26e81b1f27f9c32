//! Libraries that parse the headers about limits, and what they read for each profile.

use http::HeaderMap;
use rate_limits::{RateLimit as Read, ResetTime};
use serde_json::{Value, json};
use tests::Visitor;
use tower_waiting_room::{Quota, RateLimit, rate::RateHeaders};

use super::{
    api::{Api, limited},
    clients::node,
};

/// Two limits, of which the second one binds: it replenishes one request in six minutes.
fn ten_an_hour(profile: RateHeaders) -> Api {
    let service = RateLimit::global(Quota::per_hour(10));
    Api::open(limited(Quota::per_hour(1_000)).rate_limit(service).rate_headers(profile))
}

/// Sends a request, and returns what ratelimit-header-parser reads from the response.
async fn read_by_node(api: &Api) -> Value {
    let said = node("ratelimit_header_parser.mjs").arg(api.url("/")).run().await;
    serde_json::from_str(&said).unwrap()
}

/// Sends a request, and returns the headers of the response.
async fn next(api: &Api) -> HeaderMap {
    Visitor::at(&api.url("")).get("/").await.headers
}

async fn use_up(api: &Api) {
    for _ in 0..10 {
        next(api).await;
    }
}

#[tokio::test]
async fn ratelimit_header_parser_reads_limit_remaining_and_reset() {
    for profile in [RateHeaders::Combined, RateHeaders::Draft6, RateHeaders::Draft7] {
        let api = ten_an_hour(profile);
        let seen = read_by_node(&api).await;
        assert_eq!(seen, json!({"limit": 10, "remaining": 9, "reset": 360}), "{profile:?}");
        use_up(&api).await;
        let seen = read_by_node(&api).await;
        let reset = api.visits().last().unwrap().number("retry-after");
        assert_eq!(seen, json!({"limit": 10, "remaining": 0, "reset": reset}), "{profile:?}");
    }
}

#[tokio::test]
async fn ratelimit_header_parser_reads_the_reset_of_the_common_headers_as_a_date() {
    let api = ten_an_hour(RateHeaders::Common);
    let seen = read_by_node(&api).await;
    assert_eq!((&seen["limit"], &seen["remaining"]), (&json!(10), &json!(9)));
    assert!((359..=361).contains(&seen["reset"].as_i64().unwrap()), "{seen}");
}

#[tokio::test]
async fn ratelimit_header_parser_misses_the_reset_that_the_book_does_not_have() {
    let api = ten_an_hour(RateHeaders::XRateLimit);
    let seen = read_by_node(&api).await;
    assert_eq!(seen, json!({"limit": 10, "remaining": 9, "reset": NOTHING}));
    use_up(&api).await;
    let seen = read_by_node(&api).await;
    assert_eq!((&seen["limit"], &seen["remaining"]), (&json!(10), &json!(0)));
    // The library reads the seconds of `Retry-After` as a Unix time.
    assert!(seen["reset"].as_i64().unwrap() < -1_000_000_000, "{seen}");
}

#[tokio::test]
async fn ratelimit_header_parser_reads_nothing_of_draft_11_in_strict_form() {
    let seen = read_by_node(&ten_an_hour(RateHeaders::Draft11Strict)).await;
    assert_eq!(seen, json!({"limit": NOTHING, "remaining": NOTHING, "reset": NOTHING}));
}

#[tokio::test]
async fn rate_limits_reads_the_reset_as_a_date_by_default() {
    let api = ten_an_hour(RateHeaders::Common);
    let read = Read::new(&next(&api).await).unwrap();
    assert_eq!((read.limit(), read.remaining()), (Some(10), Some(9)));
    let first = &api.visits()[0];
    let ResetTime::DateTime(reset) = read.reset() else { panic!("{read:?}") };
    let reset = u64::try_from(reset.unix_timestamp()).unwrap();
    assert_eq!(reset, first.number("x-ratelimit-reset"));
    // Six minutes after the request, rounded up to a second.
    assert!((360..=361).contains(&(reset - first.at.as_secs())), "{reset} at {:?}", first.at);
}

#[tokio::test]
async fn rate_limits_reads_the_reset_as_seconds_in_draft_6() {
    let read = Read::new(&next(&ten_an_hour(RateHeaders::Draft6)).await).unwrap();
    assert_eq!((read.limit(), read.remaining()), (Some(10), Some(9)));
    assert_eq!(read.reset(), ResetTime::Seconds(360));
}

#[tokio::test]
async fn rate_limits_knows_of_a_refusal_under_every_profile() {
    for profile in [
        RateHeaders::XRateLimit,
        RateHeaders::Combined,
        RateHeaders::Common,
        RateHeaders::Draft11Strict,
        RateHeaders::Draft6,
        RateHeaders::Draft7,
        RateHeaders::None,
    ] {
        let api = ten_an_hour(profile);
        use_up(&api).await;
        let read = Read::new(&next(&api).await).unwrap();
        assert!(read.is_limited(), "{profile:?}: {read:?}");
        // A date is rounded up to a whole second, and may be read one second later.
        let wait = read.reset().duration().as_secs();
        let told = api.visits().last().unwrap().number("retry-after");
        assert!((told - 1..=told + 1).contains(&wait), "{profile:?}: {read:?}, told {told}");
    }
}

/// The report of a parser for a number that it cannot find.
const NOTHING: Value = Value::Null;
