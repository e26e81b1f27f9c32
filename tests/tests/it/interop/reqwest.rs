//! reqwest with reqwest-retry-after, which holds back: to ask again is left to the caller.

use reqwest_middleware::{ClientBuilder, reqwest::Client};
use reqwest_retry_after::RetryAfterMiddleware;

use super::{
    api::Api,
    clients::{obeys_a_limit, obeys_a_room},
};

#[tokio::test]
async fn a_caller_who_asks_again_at_once_does_not_come_too_early() {
    tokio::join!(obeys_a_limit(ask_twice), obeys_a_room(ask_twice));
}

/// Asks a third time, as one of the two others is refused, without a pause of its own.
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
