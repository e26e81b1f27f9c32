//! The time of a room, which is its server's time and never runs backwards.

use std::time::Duration;

use redis::AsyncCommands;
use waiting_room_core::{
    RoomRules, Store,
    time::{Clock, SystemClock},
};

use crate::support::{admitted, manager, node, on_each, start};

#[tokio::test(flavor = "multi_thread")]
async fn a_node_knows_the_time_of_the_server() {
    on_each(async |engine| {
        let server = start(engine);
        let store = node(&server, RoomRules::new("shop", 1)).await;
        let pass = admitted(&store, 1).await;
        let off = SystemClock::new().now().since(pass.accepted_at);
        assert!(off < Duration::from_secs(60), "{off:?}");
        assert!(store.now() >= pass.accepted_at);
        assert!(store.remembers_since() <= pass.accepted_at);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn time_goes_on_after_a_failover_to_a_server_with_a_slow_clock() {
    on_each(async |engine| {
        let server = start(engine);
        let store = node(&server, RoomRules::new("shop", 9)).await;
        let before = admitted(&store, 1).await.accepted_at;

        // The state that a server leaves if its clock was an hour ahead of this server's clock.
        let ahead = before + Duration::from_secs(3_600);
        let last = (ahead.as_nanos() / 1_000).to_string();
        let mut connection = manager(&server).await;
        let () = connection.hset("{wr:shop}:room", "last_us", last).await.unwrap();

        let first = admitted(&store, 2).await.accepted_at;
        let second = admitted(&store, 3).await.accepted_at;
        assert!(first >= ahead, "{first:?} is before {ahead:?}");
        assert!(second > first, "the time stands still");
        let later = second.since(ahead);
        assert!(later < Duration::from_secs(60), "it leaps by {later:?}");
        assert!(store.now() >= second);
    })
    .await;
}
