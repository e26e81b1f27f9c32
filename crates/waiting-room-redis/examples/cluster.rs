//! A room in a cluster. All keys of a room are on one node of the cluster.
//!
//! ```text
//! cargo run -p waiting-room-redis --example cluster -- redis://127.0.0.1:7000 redis://127.0.0.1:7001
//! ```

use std::{env, error::Error};

use redis::cluster::ClusterClient;
use waiting_room_core::{RoomRules, Store};
use waiting_room_redis::{RedisStore, RedisStoreOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let nodes: Vec<String> = env::args().skip(1).collect();
    if nodes.is_empty() {
        return Err("usage: cluster <URL of a node>...".into());
    }
    let rules = RoomRules::new("shop", 200);

    let client = ClusterClient::new(nodes)?;
    let connection = client.get_async_connection().await?;
    let store = RedisStore::with_connection(connection, rules, RedisStoreOptions::new()).await?;

    let room = store.snapshot().await?;
    println!("{} of {} visitors are active", room.active, room.total_active_users);
    Ok(())
}
