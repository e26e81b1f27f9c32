//! A room on a server that Sentinel watches. Each new connection leads to the current primary, so
//! the node follows a failover.
//!
//! ```text
//! cargo run -p waiting-room-redis --example sentinel -- redis://127.0.0.1:26379 shop
//! ```

use std::{env, error::Error};

use redis::{Client, RedisResult, aio::MultiplexedConnection};
use waiting_room_core::{RoomRules, Store};
use waiting_room_redis::{RedisStore, RedisStoreOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(url), Some(name)) = (arguments.next(), arguments.next()) else {
        return Err("usage: sentinel <URL of a Sentinel> <name of the primary>".into());
    };
    let sentinel = Client::open(url)?;
    let rules = RoomRules::new("shop", 200);

    let open = move || primary(sentinel.clone(), name.clone());
    let store = RedisStore::connect(open, rules, RedisStoreOptions::new()).await?;

    let room = store.snapshot().await?;
    println!("{} of {} visitors are active", room.active, room.total_active_users);
    Ok(())
}

/// Asks Sentinel for the address of the primary, and connects to it.
async fn primary(sentinel: Client, name: String) -> RedisResult<MultiplexedConnection> {
    let mut asked = sentinel.get_multiplexed_async_connection().await?;
    let mut question = redis::cmd("SENTINEL");
    question.arg("get-master-addr-by-name").arg(name);
    let (host, port): (String, u16) = question.query_async(&mut asked).await?;
    Client::open((host, port))?.get_multiplexed_async_connection().await
}
