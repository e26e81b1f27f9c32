//! A server whose replica takes over, and Sentinel, which knows which of them is the primary.

use std::{net::TcpListener, process::Stdio, time::Duration};

use redis::{Client, RedisResult, aio::MultiplexedConnection};
use tokio::process::{Child, Command};
use waiting_room_core::{RoomRules, Store, VisitorId};
use waiting_room_engines::{Engine, EngineServer};
use waiting_room_redis::{RedisStore, RedisStoreOptions};

use crate::{
    examples::{self, JOINED},
    support::{connection, eventually, start},
};

/// Opens a connection to the server that is the primary according to Sentinel, as the example does.
async fn primary(sentinel: Client) -> RedisResult<MultiplexedConnection> {
    let mut asked = sentinel.get_multiplexed_async_connection().await?;
    let mut question = redis::cmd("SENTINEL");
    question.arg("get-master-addr-by-name").arg("shop");
    let (host, port): (String, u16) = question.query_async(&mut asked).await?;
    Client::open((host, port))?.get_multiplexed_async_connection().await
}

/// Starts a Sentinel that considers a primary down after half a second of silence.
fn sentinel(primary: &EngineServer) -> (Child, Client, u16) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let file = std::env::temp_dir().join(format!("waiting-room-sentinel-{port}.conf"));
    let config = format!(
        "port {port}\nbind 127.0.0.1\nsentinel monitor shop 127.0.0.1 {} 1\n\
         sentinel down-after-milliseconds shop 500\nsentinel failover-timeout shop 2000\n",
        primary.port()
    );
    std::fs::write(&file, config).unwrap();
    let mut command = Command::new("redis-server");
    command.arg(&file).arg("--sentinel").stdout(Stdio::null()).kill_on_drop(true);
    (command.spawn().unwrap(), Client::open(("127.0.0.1", port)).unwrap(), port)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_asks_sentinel_follows_the_replica_that_takes_over() {
    let mut old = start(Engine::Redis);
    let follows = format!("127.0.0.1 {}", old.port());
    let options = ["--replicaof", &follows, "--repl-diskless-sync-delay", "0"];
    let replica = EngineServer::start_with(Engine::Redis, &options).unwrap();
    let (_process, client, port) = sentinel(&old);
    let rules = RoomRules::new("shop", 100);
    let asks = client.clone();
    let open = move || primary(asks.clone());
    let store = eventually(async || {
        let options = RedisStoreOptions::new().deadline(Duration::from_secs(1));
        RedisStore::connect(open.clone(), rules.clone(), options).await.ok()
    })
    .await;
    // The node may have started before Sentinel knew the primary.
    eventually(async || store.enter(VisitorId::new(1)).await.ok()).await;
    store.leave(VisitorId::new(1)).await.unwrap();
    let url = format!("redis://127.0.0.1:{port}");
    let said = examples::run("sentinel", &[&url, "shop"]);
    assert_eq!(said, JOINED, "a node that starts with other rules brings them into force");
    eventually(async || {
        let mut asked = client.get_multiplexed_async_connection().await.ok()?;
        let mut question = redis::cmd("SENTINEL");
        question.arg("replicas").arg("shop");
        let replicas: Vec<redis::Value> = question.query_async(&mut asked).await.ok()?;
        (!replicas.is_empty()).then_some(())
    })
    .await;
    old.kill();
    eventually(async || store.enter(VisitorId::new(2)).await.ok()).await;
    let mut asked = connection(&replica).await;
    let role: Vec<redis::Value> = redis::cmd("ROLE").query_async(&mut asked).await.unwrap();
    assert_eq!(role[0], redis::Value::BulkString(b"master".to_vec()));
}
