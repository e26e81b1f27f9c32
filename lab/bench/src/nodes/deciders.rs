//! The deciders of a node, the calls with which they are compared, and a bare script by two client
//! crates.

use std::time::Duration;

use anyhow::{Result, bail};
use fred::prelude::{Builder, ClientLike, Config, LuaInterface};
use redis::{Script, aio::MultiplexedConnection};
use waiting_room_core::{MemoryStore, RoomRules, Store, Ticket, Verdict, VisitorId};
use waiting_room_engines::EngineServer;
use waiting_room_redis::{RedisStore, RedisStoreOptions};

use super::asked::{Asked, ask};

/// One kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decider {
    /// A minimal script.
    BareScript,
    /// Two commands in a transaction, as limiters on Redis use that have no script.
    Transaction,
    /// A newcomer at a full room on the server.
    Enter,
    /// A waiting visitor at a full room on the server.
    CheckIn,
    /// A newcomer at a full room in the memory of the process.
    Memory,
}

impl Decider {
    pub(super) const ALL: [Self; 5] =
        [Self::BareScript, Self::Transaction, Self::Enter, Self::CheckIn, Self::Memory];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::BareScript => "bare EVALSHA of INCR",
            Self::Transaction => "MULTI, INCR, EXPIRE, EXEC",
            Self::Enter => "RedisStore, enter",
            Self::CheckIn => "RedisStore, check_in",
            Self::Memory => "MemoryStore, enter",
        }
    }

    /// Measures it with this number of callers.
    pub(super) async fn ask(
        self,
        server: &EngineServer,
        callers: u32,
        duration: Duration,
    ) -> Result<Asked> {
        match self {
            Self::BareScript => {
                let connection = connection(server).await?;
                let script = Script::new(INCR);
                ask(Some(server), callers, duration, move |caller| {
                    let mut connection = connection.clone();
                    let script = script.clone();
                    async move {
                        let key = format!("{{bench}}:{caller}");
                        let () = script.key(key).invoke_async(&mut connection).await?;
                        Ok(())
                    }
                })
                .await
            }
            Self::Transaction => {
                let connection = connection(server).await?;
                ask(Some(server), callers, duration, move |caller| {
                    let mut connection = connection.clone();
                    async move {
                        let key = format!("{{bench}}:{caller}");
                        let mut pipe = redis::pipe();
                        pipe.atomic().incr(&key, 1).expire(&key, 60);
                        let () = pipe.query_async(&mut connection).await?;
                        Ok(())
                    }
                })
                .await
            }
            Self::Enter => {
                let store = full(server).await?;
                ask(Some(server), callers, duration, move |caller| {
                    enter(store.clone(), VisitorId::new(u128::from(caller) + 2))
                })
                .await
            }
            Self::CheckIn => {
                let store = full(server).await?;
                let tickets = line(&store, callers).await?;
                ask(Some(server), callers, duration, move |caller| {
                    let store = store.clone();
                    let ticket = tickets[caller as usize];
                    async move {
                        store.check_in(ticket).await?;
                        Ok(())
                    }
                })
                .await
            }
            Self::Memory => {
                let store = MemoryStore::new(rules())?;
                store.enter(VisitorId::new(1)).await?;
                ask(None, callers, duration, move |caller| {
                    enter(store.clone(), VisitorId::new(u128::from(caller) + 2))
                })
                .await
            }
        }
    }
}

const INCR: &str = "return redis.call('INCR', KEYS[1])";

pub(super) async fn connection(server: &EngineServer) -> Result<MultiplexedConnection> {
    let client = redis::Client::open(server.url())?;
    Ok(client.get_multiplexed_async_connection().await?)
}

/// Returns the rules of a room with one slot, and sessions of an hour.
pub(super) fn rules() -> RoomRules {
    RoomRules::new("bench", 1).session_duration(Duration::from_secs(3_600))
}

/// Opens a room on the server, and takes its slot.
pub(super) async fn full(server: &EngineServer) -> Result<RedisStore> {
    let options = RedisStoreOptions::new().deadline(Duration::from_secs(10));
    let store = RedisStore::with_connection(connection(server).await?, rules(), options).await?;
    store.enter(VisitorId::new(1)).await?;
    Ok(store)
}

/// Lines up visitors, and returns their tickets.
pub(super) async fn line(store: &RedisStore, visitors: u32) -> Result<Vec<Ticket>> {
    let mut tickets = Vec::with_capacity(visitors as usize);
    let numbers: Vec<_> = (0..visitors).collect();
    for some in numbers.chunks(64) {
        let places = some.iter().map(|&number| place(store, number));
        for ticket in futures_util::future::join_all(places).await {
            tickets.push(ticket?);
        }
    }
    Ok(tickets)
}

async fn place(store: &RedisStore, number: u32) -> Result<Ticket> {
    let verdict = store.enter(VisitorId::new(u128::from(number) + 2)).await?;
    let Verdict::Wait { ticket, .. } = verdict else { bail!("the room is full: {verdict:?}") };
    let verdict = store.check_in(ticket).await?;
    let Verdict::Wait { ticket, .. } = verdict else { bail!("the room is full: {verdict:?}") };
    Ok(ticket)
}

async fn enter(store: impl Store, id: VisitorId) -> Result<()> {
    store.enter(id).await?;
    Ok(())
}

const SCRIPT: &str = "return redis.call('INCR', KEYS[1])";

/// Runs a bare script with the crate `redis`, on one connection.
pub(super) async fn script_by_redis(
    server: &EngineServer,
    callers: u32,
    duration: Duration,
) -> Result<Asked> {
    let connection = connection(server).await?;
    let script = Script::new(SCRIPT);
    ask(Some(server), callers, duration, move |_| {
        let mut connection = connection.clone();
        let script = script.clone();
        async move {
            let () = script.key("{bench}:clients").invoke_async(&mut connection).await?;
            Ok(())
        }
    })
    .await
}

/// Runs a bare script with the crate `fred`, on one connection.
pub(super) async fn script_by_fred(
    server: &EngineServer,
    callers: u32,
    duration: Duration,
) -> Result<Asked> {
    let client = Builder::from_config(Config::from_url(&server.url())?).build()?;
    client.init().await?;
    let hash: String = client.script_load(SCRIPT).await?;
    ask(Some(server), callers, duration, move |_| {
        let client = client.clone();
        let hash = hash.clone();
        async move {
            let keys = vec!["{bench}:clients"];
            let arguments = Vec::<String>::new();
            let _: i64 = client.evalsha(hash, keys, arguments).await?;
            Ok(())
        }
    })
    .await
}
