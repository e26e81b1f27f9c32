//! Servers and rooms of sites.

use std::time::Duration;

use redis::AsyncConnectionConfig;
use waiting_room_core::RoomRules;
use waiting_room_engines::{Engine, EngineServer, Persistence};
use waiting_room_redis::{RedisStore, RedisStoreOptions};

/// The time in which a real server has to answer.
const PATIENCE: Duration = Duration::from_secs(10);

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
    // Other tests may keep the machine busy.
    let config = AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
    let open = move || {
        let client = client.clone();
        let config = config.clone();
        async move { client.get_multiplexed_async_connection_with_config(&config).await }
    };
    let options = RedisStoreOptions::new().deadline(PATIENCE).of_site();
    RedisStore::connect(open, rules, set(options)).await.unwrap()
}
