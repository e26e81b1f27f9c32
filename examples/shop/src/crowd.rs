//! The visitors that the program sends to its own shop, over real HTTP.

use std::{error::Error, net::SocketAddr, time::Duration};

use http::header::{ACCEPT, HeaderValue, RETRY_AFTER};
use reqwest::Client;
use shop::RoomArgs;
use tokio::{task::JoinSet, time::sleep};
use tower_waiting_room::token::TOKEN_HEADER;

/// The number of visitors who will be inside a room with these rules, and the number of those who wait:
/// of a `crowd`, or so that a person who joins them waits for about 25 seconds.
pub(crate) fn standing(room: &RoomArgs, crowd: Option<u32>) -> [u32; 2] {
    let by_rate = room.rate.saturating_mul(VISIT) / 60;
    let inside = room.limit.min(by_rate).clamp(1, MOST);
    match crowd {
        Some(crowd) => [crowd.min(inside), crowd.saturating_sub(inside)],
        None => [inside, (inside * 3).div_ceil(2)],
    }
}

/// Keeps this number of visitors at a shop, inside or in the line, for as long as the future is polled.
/// When a visitor leaves, another one arrives.
pub(crate) async fn stand(visitors: u32, shop: SocketAddr) {
    let http = Client::builder().no_proxy().timeout(TIMEOUT).build().expect("no option can fail");
    let mut here = JoinSet::new();
    for number in 0.. {
        if number >= visitors && here.join_next().await.is_none() {
            return;
        }
        let http = http.clone();
        here.spawn(async move {
            if let Err(error) = visit(&http, shop, number).await {
                tracing::warn!(%error, "a visitor left early");
                sleep(RETRY).await;
            }
        });
    }
}

/// Waits until the room admits this visitor, which obeys `Retry-After`, looks around, and checks out.
async fn visit(
    http: &Client,
    shop: SocketAddr,
    number: u32,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let url = format!("http://{shop}/api");
    // An empty token requests one.
    let mut token = HeaderValue::from_static("");
    loop {
        let request = http.get(format!("{url}/products")).header(TOKEN_HEADER, &token);
        let response = request.header(ACCEPT, "application/json").send().await?;
        if let Some(given) = response.headers().get(TOKEN_HEADER) {
            token.clone_from(given);
        }
        if response.status().is_success() {
            break;
        }
        let seconds =
            response.headers().get(RETRY_AFTER).and_then(|time| time.to_str().ok()?.parse().ok());
        sleep(seconds.map_or(RETRY, Duration::from_secs)).await;
    }
    // From 10 to 22 seconds.
    sleep(Duration::from_secs(u64::from(VISIT - 6 + number * 5 % 13))).await;
    http.post(format!("{url}/checkout")).header(TOKEN_HEADER, &token).send().await?;
    Ok(())
}

/// The time for which a visitor is inside, on average, in seconds.
const VISIT: u32 = 16;
/// The maximum number of visitors who are inside.
const MOST: u32 = 2_000;
/// The time after which a visitor repeats a request that has failed.
const RETRY: Duration = Duration::from_secs(1);
/// The time after which a visitor gives up on a response.
const TIMEOUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    #[test]
    fn a_standing_crowd_is_as_large_as_the_limits_of_its_room_ask_for() {
        for (line, visitors) in [
            ("shop", [10, 15]),
            ("shop --limit 1", [1, 2]),
            ("shop --limit 100", [53, 80]),
            ("shop --limit 100 --crowd 500", [53, 447]),
            ("shop --crowd 3", [3, 0]),
            ("shop --limit 9999 --rate 999999", [2_000, 3_000]),
        ] {
            let Cli { room, crowd, .. } = Cli::read(line.split_whitespace()).unwrap();
            assert_eq!(standing(&room, crowd), visitors, "{line}");
        }
    }
}
