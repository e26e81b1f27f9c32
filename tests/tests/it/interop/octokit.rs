//! GitHub's client, which obeys `X-RateLimit-Reset` and no other header.

use std::time::Duration;

use tower_waiting_room::{Quota, time::Timestamp};

use super::{
    api::{Api, limited},
    clients::{SLACK, node},
};

#[tokio::test]
async fn octokit_waits_for_the_reset_and_succeeds() {
    let api = Api::open(limited(Quota::new(1, Duration::from_secs(2))));
    assert_eq!(node("octokit.mjs").arg(api.url("")).run().await, "200\n200\n");
    let visits = api.visits();
    let statuses: Vec<_> = visits.iter().map(|visit| visit.status.as_u16()).collect();
    assert_eq!(statuses, [200, 429, 200]);

    let [refused, admitted] = [&visits[1], &visits[2]];
    assert_eq!(refused.header("x-ratelimit-remaining"), "0");
    let reset = Timestamp::from_secs(refused.number("x-ratelimit-reset"));
    assert!(admitted.at >= reset, "back at {:?}, told {reset:?}", admitted.at);
    // The client rounds the wait up to whole seconds, and adds one.
    let late = admitted.at.since(reset);
    assert!(late <= Duration::from_secs(2) + SLACK, "{late:?} late");
}
