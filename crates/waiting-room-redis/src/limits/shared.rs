//! The state of a node in a group of limits, such as the script, the secret, the clock and recent
//! refusals.
//!
//! One [`Shared`] serves all handles of [`RedisLimits`](super::RedisLimits) and the tasks in
//! `batch.rs`. This module also runs the script, because that requires all of the shared state but
//! no channel.
//!
//! # The secret
//!
//! Nodes have to agree on the hashes of client keys. The first node of a group stores a random
//! secret on the server, and all later nodes adopt that secret. A server that loses its data also
//! loses the secret, and a node that starts before any other node calls the script stores a new
//! secret:
//!
//! ```text
//!  node A (old secret) ─► script ─► "the secret has changed", nothing is done
//!         │                              │
//!         └── adopts the new secret ◄────┘   this batch fails, the next succeeds
//! ```
//!
//! The counts under the old hashes were lost with the server's data, so no request is counted
//! twice.

use std::{
    sync::{Arc, RwLock},
    time::Duration,
};

use redis::{RedisResult, Script, Value, aio::ConnectionLike};
use tokio::sync::Notify;
use waiting_room_core::{StoreError, Timestamp, error::StoreErrorKind, rate::KeyHasher};

use super::{
    ask::Request,
    refused::Refused,
    reply::{self, ChargeNumbers, ScriptReply},
};
use crate::{
    clock::ServerClock,
    connections::{Breaker, answered, unavailable},
    keys::Secret,
    sync::unpoisoned,
};

/// The state that all handles and tasks of a node share for one group of limits.
#[derive(Debug)]
pub(super) struct Shared {
    /// The name of the group, for logs.
    name: String,
    /// The key of the state that the limits of the group share, and the prefix of all other keys.
    pub(super) group: String,
    script: Script,
    clock: ServerClock,
    /// The maximum time that a script may take. A caller waits only slightly longer for the reply.
    pub(super) deadline: Duration,
    /// The secret for hashing keys, as this node knows it. The secret changes if the server has
    /// lost it and another node has stored a new secret.
    secret: RwLock<Arc<Secret>>,
    pub(super) breaker: Breaker,
    /// Wakes the probe when a script fails for a reason other than a timeout, because the
    /// connection may be dead.
    pub(super) broken: Notify,
    pub(super) refused: Refused,
}

impl Shared {
    /// Creates the state of a node that has joined the group, or that starts without its server.
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
            broken: Notify::new(),
            refused: Refused::new(),
        }
    }

    /// Returns the hasher for client keys, with the current secret.
    pub(super) fn hasher(&self) -> KeyHasher {
        self.secret().hasher()
    }

    /// Returns the time on this node's own clock, for leases and refusals.
    ///
    /// Leases and refusals do not need the server's time, because decisions contain durations,
    /// which count from the time at which the call was sent or its reply arrived.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.own()
    }

    /// Runs the script once for all the given requests.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not answer in time or fails, or if the keys were hashed
    /// with another secret. If the secret was wrong, nothing was charged, and the node has adopted
    /// the correct secret.
    pub(super) async fn run<'a, C: ConnectionLike>(
        &self,
        requests: impl Iterator<Item = &'a Request> + Clone,
        connection: &mut C,
    ) -> Result<ChargeNumbers, StoreError> {
        let secret = self.secret();
        // The time is read before the call, so that a lease or a refusal never counts from a time
        // after the decision.
        let sent = self.now();
        let asked = async {
            let invoked = self.invoke(&secret, requests, connection).await;
            invoked.map_err(|error| unavailable(&error))
        };
        let value = answered(self.deadline, asked).await?;
        match reply::parse(value)? {
            ScriptReply::Numbers(now_us, numbers) => {
                Ok(ChargeNumbers { now_us, sent, received: self.now(), numbers })
            }
            ScriptReply::OtherSecret(text) => {
                tracing::warn!(limits = %self.name, "the store has lost the limits");
                let other = Secret::parse(text)?;
                // The requests cannot be sent again, because their keys have already been hashed,
                // and the client keys themselves are not stored.
                *unpoisoned(self.secret.write()) = Arc::new(other);
                Err(StoreError::new(StoreErrorKind::Unavailable).with_source(HASHED_ANEW))
            }
        }
    }

    /// Records a reply, which closes the breaker.
    pub(super) fn succeeded(&self) {
        if self.breaker.succeeded() {
            tracing::info!(limits = %self.name, "the store answers again");
        }
    }

    /// Records a failed script. The fifth failure in a row opens the breaker. A script that failed
    /// because this node was late does not count.
    pub(super) fn failed(&self, error: &StoreError) {
        if self.breaker.excuses(error) {
            return;
        }
        if self.breaker.failed() {
            tracing::warn!(limits = %self.name, %error, "calls to the store are suspended");
        }
        self.suspect(error);
    }

    /// Wakes the probe after an error other than a timeout, because the connection may be dead.
    pub(super) fn suspect(&self, error: &StoreError) {
        if error.kind() == StoreErrorKind::Unavailable {
            self.broken.notify_one();
        }
    }

    /// Sends the script with the keys and arguments of all requests, in order.
    async fn invoke<'a, C: ConnectionLike>(
        &self,
        secret: &Secret,
        requests: impl Iterator<Item = &'a Request> + Clone,
        connection: &mut C,
    ) -> RedisResult<Value> {
        let mut invocation = self.script.prepare_invoke();
        // The first key and the first two arguments belong to the group. The keys and arguments of
        // each request follow.
        invocation.key(&self.group).arg(self.clock.argument()).arg(secret.as_str());
        for request in requests {
            request.keys.iter().for_each(|key| _ = invocation.key(key));
            invocation.arg(&request.arguments);
        }
        invocation.invoke_async(connection).await
    }

    /// Returns a handle to the secret, so that the lock is not held while a script runs.
    fn secret(&self) -> Arc<Secret> {
        Arc::clone(&*unpoisoned(self.secret.read()))
    }
}

/// The source code of the script, in parts.
///
/// The file of each family of meters becomes the body of a function, which runs only if a call has
/// a limit of that family. Creating the meters of all algorithms for each call would take longer
/// than the call itself.
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

/// The cause of the error that callers receive if their keys were hashed with an outdated secret.
const HASHED_ANEW: &str = "the secret has changed, and this node has adopted the new one";
