//! The list of the nodes that share a room.

use std::time::Duration;

use redis::{AsyncCommands, aio::MultiplexedConnection};
use waiting_room_core::{
    RoomRules, Store,
    room::{RoomNode, RoomSnapshot},
};
use waiting_room_redis::RedisStore;

use crate::support::{admitted, connection, eventually, manager, node, on_each, start};

const KEY: &str = "{wr:shop}:nodes";

/// The nodes that this node knows, as soon as they satisfy `wanted`.
async fn nodes(store: &RedisStore, wanted: impl Fn(&[RoomNode]) -> bool) -> Vec<RoomNode> {
    eventually(async || store.nodes().filter(|nodes| wanted(nodes))).await
}

/// The time of the server, in microseconds since the Unix epoch.
async fn now_us(connection: &mut MultiplexedConnection) -> u64 {
    let (secs, micros): (u64, u64) = redis::cmd("TIME").query_async(connection).await.unwrap();
    secs * 1_000_000 + micros
}

#[tokio::test(flavor = "multi_thread")]
async fn each_node_knows_which_nodes_share_its_room_and_when_they_were_last_heard() {
    on_each(async |engine| {
        let server = start(engine);
        let rules = RoomRules::new("shop", 1);
        let here = node(&server, rules.clone()).await;
        let there = node(&server, rules).await;
        let _elsewhere = node(&server, RoomRules::new("club", 1)).await;
        let seen_here = nodes(&here, |nodes| nodes.len() == 2).await;
        let seen_there = nodes(&there, |nodes| nodes.len() == 2).await;
        for (store, seen) in [(&here, &seen_here), (&there, &seen_there)] {
            assert_eq!(seen.iter().filter(|node| node.is_this_node).count(), 1, "{seen:?}");
            assert!(seen.iter().all(|node| node.is_heard(store.now())), "{seen:?}");
        }
        let this = |nodes: &[RoomNode]| {
            nodes.iter().find(|known| known.is_this_node).map(|known| known.name.clone()).unwrap()
        };
        assert_ne!(this(&seen_here), this(&seen_there));

        // A node that has stopped stays in the list for a while, and is not heard again.
        let stopped = this(&seen_there);
        drop(there);
        let heard_at = |nodes: &[RoomNode], name: &str| {
            nodes.iter().find(|known| known.name == name).map(|known| known.last_heard)
        };
        let me = this(&seen_here);
        let after = nodes(&here, |nodes| heard_at(nodes, &me) > heard_at(&seen_here, &me)).await;
        assert!(heard_at(&after, &stopped) < heard_at(&after, &me), "{after:?}");
        let seconds: i64 = manager(&server).await.ttl(KEY).await.unwrap();
        assert!((50..=60).contains(&seconds), "{seconds} s");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_nodes_is_bounded_and_forgets_entries_after_a_minute() {
    on_each(async |engine| {
        let server = start(engine);
        let mut connection = connection(&server).await;
        let now = now_us(&mut connection).await;
        for number in 0..500_u64 {
            let name = format!("other {number:03}");
            let () = connection.zadd(KEY, name, now - 30_000_000 + number * 1_000).await.unwrap();
        }
        for (name, at) in [("old", now - 61_000_000), ("future", now + 90_000_000)] {
            let () = connection.zadd(KEY, name, at).await.unwrap();
        }
        let store = node(&server, RoomRules::new("shop", 1)).await;
        let seen = nodes(&store, |_| true).await;
        assert_eq!(seen.len(), 128);
        assert!(seen[0].is_this_node, "{:?}", seen[0]);
        assert_eq!((&*seen[1].name, &*seen[127].name), ("other 499", "other 373"));
        let age = store.now().since(seen[1].last_heard);
        assert!((Duration::from_secs(29)..Duration::from_secs(45)).contains(&age), "{age:?}");
        let kept: u64 = connection.zcard(KEY).await.unwrap();
        assert_eq!(kept, 128);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_serves_as_before_although_its_nodes_cannot_be_listed() {
    on_each(async |engine| {
        let server = start(engine);
        let mut connection = connection(&server).await;
        let () = connection.set(KEY, "not a sorted set").await.unwrap();
        let store = node(&server, RoomRules::new("shop", 1)).await;
        admitted(&store, 1).await;
        let served = eventually(async || {
            let calls: RoomSnapshot = store.snapshot().await.unwrap();
            // By then, the watch task has tried to list the node.
            let info: String = redis::cmd("INFO")
                .arg("errorstats")
                .query_async(&mut connection.clone())
                .await
                .ok()?;
            info.contains("errorstat_WRONGTYPE").then_some(calls)
        })
        .await;
        assert_eq!((served.active, store.nodes()), (1, None));
    })
    .await;
}
