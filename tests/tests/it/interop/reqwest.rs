//! reqwest with reqwest-retry-after, which delays requests. The retry itself is left to the caller.

use reqwest_middleware::{ClientBuilder, reqwest::Client};
use reqwest_retry_after::RetryAfterMiddleware;

use super::{
    api::Api,
    clients::{obeys_a_limit, obeys_a_room},
};

#[tokio::test]
async fn a_retry_at_the_stated_time_is_not_too_early() {
    tokio::join!(obeys_a_limit(ask_twice), obeys_a_room(ask_twice));
}

/// Sends three requests without a pause of its own, because one of the first two is refused.
async fn ask_twice(api: &Api) -> String {
    let client = ClientBuilder::new(Client::new()).with(RetryAfterMiddleware::new()).build();
    let mut successes = String::new();
    for _ in 0..3 {
        let response = client.get(api.url("/")).send().await.unwrap();
        if response.status().is_success() {
            successes.push_str("200\n");
        }
    }
    successes
}
