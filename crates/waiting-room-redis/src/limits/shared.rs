//! What a node knows of the limits that it shares.

use std::{
    sync::{Arc, RwLock},
    time::Duration,
};

use redis::{RedisResult, Script, Value, aio::ConnectionLike};
use waiting_room_core::{KeyHasher, StoreError, StoreErrorKind, Timestamp};

use super::{
    ask::Request,
    refused::Refused,
    reply::{self, Reply, Said},
};
use crate::{
    clock::ServerClock,
    connections::{Breaker, answered, unavailable},
    keys::Secret,
    sync::unpoisoned,
};

#[derive(Debug)]
pub(super) struct Shared {
    name: String,
    /// The key of what the limits share, and what all other keys begin with.
    pub(super) group: String,
    script: Script,
    clock: ServerClock,
    /// How long a request waits, and how long the server has for a script.
    pub(super) deadline: Duration,
    /// Another one if the server has lost it, and another node was the first to make one.
    secret: RwLock<Arc<Secret>>,
    pub(super) breaker: Breaker,
    pub(super) refused: Refused,
}

impl Shared {
    pub(super) fn new(
        name: String,
        group: String,
        clock: ServerClock,
        deadline: Duration,
        secret: Secret,
        breaker: Breaker,
    ) -> Self {
        Self {
            name,
            group,
            script: Script::new(&SOURCES.concat()),
            clock,
            deadline,
            secret: RwLock::new(Arc::new(secret)),
            breaker,
            refused: Refused::new(),
        }
    }

    pub(super) fn hasher(&self) -> KeyHasher {
        self.secret().hasher()
    }

    /// The time by this node's clock.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.own()
    }

    /// Runs the script for these requests.
    pub(super) async fn run<'a, C: ConnectionLike>(
        &self,
        requests: impl Iterator<Item = &'a Request> + Clone,
        connection: &mut C,
    ) -> Result<Said, StoreError> {
        let secret = self.secret();
        let sent = self.now();
        let asked = self.invoke(&secret, requests, connection);
        let value = answered(self.deadline, asked).await?;
        let value = value.map_err(|error| unavailable(&error))?;
        match reply::parse(value)? {
            Reply::Said(now_us, numbers) => {
                Ok(Said { now_us, sent, received: self.now(), numbers })
            }
            Reply::OtherSecret(text) => {
                tracing::warn!(limits = %self.name, "the store has lost the limits");
                let other = Secret::parse(text)?;
                *unpoisoned(self.secret.write()) = Arc::new(other);
                Err(StoreError::new(StoreErrorKind::Unavailable).with_source(HASHED_ANEW))
            }
        }
    }

    pub(super) fn succeeded(&self) {
        if self.breaker.succeeded() {
            tracing::info!(limits = %self.name, "the store answers again");
        }
    }

    pub(super) fn failed(&self, error: &StoreError) {
        if self.breaker.failed() {
            tracing::warn!(limits = %self.name, %error, "the store is asked no more for now");
        }
    }

    async fn invoke<'a, C: ConnectionLike>(
        &self,
        secret: &Secret,
        requests: impl Iterator<Item = &'a Request> + Clone,
        connection: &mut C,
    ) -> RedisResult<Value> {
        let mut invocation = self.script.prepare_invoke();
        invocation.key(&self.group).arg(self.clock.argument()).arg(secret.as_str());
        for request in requests {
            request.keys.iter().for_each(|key| _ = invocation.key(key));
            invocation.arg(&request.arguments);
        }
        invocation.invoke_async(connection).await
    }

    fn secret(&self) -> Arc<Secret> {
        Arc::clone(&*unpoisoned(self.secret.read()))
    }
}

/// The script. The meters are the bodies of functions: to make those of all algorithms for each
/// call would take longer than the call.
const SOURCES: [&str; 11] = [
    include_str!("lua/meters.lua"),
    "local function buckets()\n",
    include_str!("lua/bucket.lua"),
    "end\nlocal function windows()\n",
    include_str!("lua/window.lua"),
    "end\nlocal function counters()\n",
    include_str!("lua/counter.lua"),
    "end\nlocal function logs()\n",
    include_str!("lua/log.lua"),
    "end\n",
    include_str!("lua/charge.lua"),
];

const HASHED_ANEW: &str = "the keys are hashed with another secret from now on";
