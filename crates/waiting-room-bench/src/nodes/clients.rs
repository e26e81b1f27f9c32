//! Two clients of the same server: how many scripts a second, by how many are under way.

use std::time::Duration;

use anyhow::Result;
use fred::prelude::{Builder, ClientLike, Config, LuaInterface};
use redis::Script;
use waiting_room_engines::EngineServer;

use super::{
    asked::{Asked, ask},
    deciders::connection,
};

const SCRIPT: &str = "return redis.call('INCR', KEYS[1])";

/// The crate `redis`, on one connection.
pub(super) async fn redis(
    server: &EngineServer,
    callers: u32,
    duration: Duration,
) -> Result<Asked> {
    let (connection, script) = (connection(server).await?, Script::new(SCRIPT));
    ask(Some(server), callers, duration, move |_| {
        let (mut connection, script) = (connection.clone(), script.clone());
        async move {
            let () = script.key("{bench}:clients").invoke_async(&mut connection).await?;
            Ok(())
        }
    })
    .await
}

/// The crate `fred`, on one connection.
pub(super) async fn fred(server: &EngineServer, callers: u32, duration: Duration) -> Result<Asked> {
    let client = Builder::from_config(Config::from_url(&server.url())?).build()?;
    client.init().await?;
    let hash: String = client.script_load(SCRIPT).await?;
    ask(Some(server), callers, duration, move |_| {
        let (client, hash) = (client.clone(), hash.clone());
        async move {
            let (keys, arguments) = (vec!["{bench}:clients"], Vec::<String>::new());
            let _: i64 = client.evalsha(hash, keys, arguments).await?;
            Ok(())
        }
    })
    .await
}
