//! Servers and rooms of sites.

use std::time::Duration;

use waiting_room_core::RoomRules;
use waiting_room_engines::{Engine, EngineServer, Persistence};
use waiting_room_redis::{RedisStore, RedisStoreOptions};

pub(super) fn start(engine: Engine) -> EngineServer {
    EngineServer::start(engine, Persistence::Never).unwrap()
}

/// Opens the room of a site.
pub(super) async fn connect(
    server: &str,
    rules: RoomRules,
    set: impl FnOnce(RedisStoreOptions) -> RedisStoreOptions,
) -> RedisStore {
    let client = redis::Client::open(server).unwrap();
    let open = move || {
        let client = client.clone();
        async move { client.get_multiplexed_async_connection().await }
    };
    let options = RedisStoreOptions::new().deadline(Duration::from_secs(10)).of_site();
    RedisStore::connect(open, rules, set(options)).await.unwrap()
}
