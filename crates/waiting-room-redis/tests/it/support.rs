//! Helpers that the tests share: servers, nodes, visitors, waiting.

use std::{env, time::Duration};

use redis::{
    AsyncConnectionConfig, Client, RedisResult,
    aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection},
};
use waiting_room_core::{
    Pass, RoomRules, Store, StoreError, Ticket, Verdict, VisitorId,
    error::StoreErrorKind,
    time::{Clock, SystemClock},
};
use waiting_room_engines::{Engine, EngineServer, Persistence};
use waiting_room_redis::{RedisStore, RedisStoreOptions};
use waiting_room_test::SEED_VARIABLE;

/// Runs a test on each engine.
pub(crate) async fn on_each(test: impl AsyncFn(Engine)) {
    for engine in Engine::ALL {
        test(engine).await;
    }
}

/// Returns this number of fresh seeds, or the seed in the environment, and prints them.
pub(crate) fn seeds(count: u32) -> Vec<u64> {
    let first = SystemClock::new().now().as_nanos();
    let seeds = match env::var(SEED_VARIABLE) {
        Ok(fixed) => vec![fixed.parse().unwrap()],
        Err(_) => (first..).take(count as usize).collect(),
    };
    println!("seeds: {seeds:?}");
    seeds
}

pub(crate) fn start(engine: Engine) -> EngineServer {
    EngineServer::start(engine, Persistence::Never).unwrap()
}

pub(crate) async fn manager(server: &EngineServer) -> ConnectionManager {
    let client = Client::open(server.url()).unwrap();
    let config = ConnectionManagerConfig::new().set_response_timeout(None);
    client.get_connection_manager_with_config(config).await.unwrap()
}

pub(crate) async fn connection(server: &EngineServer) -> MultiplexedConnection {
    open(Client::open(server.url()).unwrap()).await.unwrap()
}

/// Opens a connection without a response timeout, so that only the deadline of the node applies.
pub(crate) async fn open(client: Client) -> RedisResult<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new().set_response_timeout(None);
    client.get_multiplexed_async_connection_with_config(&config).await
}

/// The longest deadline, for a server that shares its machine with other tests.
pub(crate) fn patient() -> RedisStoreOptions {
    RedisStoreOptions::new().deadline(Duration::from_secs(10))
}

/// Starts a node on the server's clock.
pub(crate) async fn node(server: &EngineServer, rules: RoomRules) -> RedisStore {
    connect(server, rules, patient()).await.unwrap()
}

/// Starts a node on the clock of a test.
pub(crate) async fn node_by(
    clock: impl Clock + Clone,
    server: &EngineServer,
    rules: RoomRules,
) -> RedisStore {
    connect(server, rules, patient().clock(clock)).await.unwrap()
}

pub(crate) async fn connect(
    server: &EngineServer,
    rules: RoomRules,
    options: RedisStoreOptions,
) -> Result<RedisStore, StoreError> {
    connect_to(server.port(), rules, options).await
}

pub(crate) async fn connect_to(
    port: u16,
    rules: RoomRules,
    options: RedisStoreOptions,
) -> Result<RedisStore, StoreError> {
    let client = Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
    RedisStore::connect(move || open(client.clone()), rules, options).await
}

pub(crate) async fn admitted(store: &RedisStore, id: u128) -> Pass {
    match store.enter(VisitorId::new(id)).await.unwrap() {
        Verdict::Admit { pass, .. } => pass,
        other @ (Verdict::Refuse { .. } | Verdict::Wait { .. }) => {
            panic!("not admitted: {other:?}")
        }
    }
}

pub(crate) async fn queued(store: &RedisStore, id: u128) -> Ticket {
    match store.enter(VisitorId::new(id)).await.unwrap() {
        Verdict::Wait { ticket, .. } => ticket,
        other @ (Verdict::Admit { .. } | Verdict::Refuse { .. }) => panic!("not queued: {other:?}"),
    }
}

/// Repeats an attempt until it succeeds; panics after two minutes, since the machine may be busy.
pub(crate) async fn eventually<T>(mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
    let trying = async {
        loop {
            if let Some(done) = attempt().await {
                return done;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), trying).await.unwrap()
}

/// Whether a call was not answered in time.
///
/// A node that is itself late, as on a busy machine, reports `Busy` rather than `Timeout`.
pub(crate) fn is_overdue(kind: StoreErrorKind) -> bool {
    matches!(kind, StoreErrorKind::Busy | StoreErrorKind::Timeout)
}

/// Checks that opening connections again, after they dropped one after the other, did not take
/// longer each time. If attempts backed off, each of the last three would have taken half a second
/// or more; on a busy machine some do, but not all.
pub(crate) fn assert_opened_at_once(times: &[Duration]) {
    let last = &times[times.len() - 3..];
    let shortest = last.iter().min().unwrap();
    assert!(*shortest < Duration::from_millis(400), "{times:?}");
}
