//! The store: the verbs of a room, each a script on the server.
//!
//! A [`RedisStore`] is a thin handle. Each verb has a channel to a task that batches its calls
//! (`batches.rs`); another task looks at the room once a second (`watch.rs`); and all of them share
//! what the node knows (`shared.rs`).
//!
//! ```text
//!  enter ────► channel ─► task ─┐
//!  check_in ─► channel ─► task ─┼─► one connection ─► server
//!  …                            │
//!                       watch ──┘
//! ```
//!
//! The tasks end when the last handle is dropped: the channels close, and the watch holds only a
//! weak reference to one of them.

use std::{
    fmt,
    future::Future,
    sync::{Arc, atomic::Ordering},
};

use redis::{RedisResult, aio::ConnectionLike};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout},
};
use waiting_room_core::{
    ConfigError, Pass, RoomRules, Store, StoreError, Ticket, Timestamp, Verdict, VisitorId,
    error::{ConfigErrorKind, StoreErrorKind},
    room::{Renewal, RoomSnapshot},
};

use crate::{
    batches::{self, Call, join},
    connections::{Connections, is_away, patience},
    options::RedisStoreOptions,
    reply::{Head, ReplyFields},
    scripts::Verb,
    shared::Shared,
    verbs, watch,
};

/// A [`Store`] on a Redis or Valkey server, for any number of nodes.
///
/// See the [crate docs](crate) for the calls that it makes, and when. Clones share the connection
/// and all state of the node.
///
/// # Cancel safety
///
/// Dropping the future of a verb does not undo the verb, which may have taken effect. The exception
/// is `enter`: if it has admitted the visitor, the slot is given back, because the pass has reached
/// no caller.
#[derive(Clone)]
pub struct RedisStore {
    shared: Arc<Shared>,
    /// The channel of each verb, in the order of [`Verb::ALL`].
    lanes: [mpsc::Sender<Call>; Verb::ALL.len()],
}

impl RedisStore {
    /// Joins the room that these rules name, and opens it if there is none.
    ///
    /// The server keeps the rules with which the room was opened. A node that starts with other
    /// rules is a new release: its rules replace those in force, on all nodes. A node that starts
    /// with the same rules adopts the changes that operators have made since.
    ///
    /// `open` is called now, and again when the connection breaks or calls on it time out. If the
    /// server cannot be reached within 5 s, the node starts without it: until it is reached, the
    /// failure policy of the layer decides, and the time is that of this machine.
    ///
    /// # Errors
    ///
    /// Invalid rules or options, a server that is reached and refuses the node, or one that may
    /// evict keys.
    pub async fn connect<C, F>(
        open: impl Fn() -> F + Send + Sync + 'static,
        rules: RoomRules,
        options: RedisStoreOptions,
    ) -> Result<Self, StoreError>
    where
        C: ConnectionLike + Clone + Send + Sync + 'static,
        F: Future<Output = RedisResult<C>> + Send + 'static,
    {
        let (options, rules) = (options.validate()?, rules.validate()?);
        let connections = Connections::opened(open).await?;
        Self::start(connections, rules, options).await
    }

    /// Joins the room on an existing connection, which has to reconnect by itself.
    ///
    /// Use it for a cluster, or for a connection that follows Sentinel. The store cannot replace
    /// this connection: if its peer vanishes without closing it, calls time out until the
    /// connection itself notices, which without keep-alives may be never.
    ///
    /// # Errors
    ///
    /// The same as [`connect`](Self::connect).
    pub async fn with_connection<C>(
        connection: C,
        rules: RoomRules,
        options: RedisStoreOptions,
    ) -> Result<Self, StoreError>
    where
        C: ConnectionLike + Clone + Send + Sync + 'static,
    {
        let (options, rules) = (options.validate()?, rules.validate()?);
        Self::start(Connections::only(connection), rules, options).await
    }

    /// Joins the room and starts the tasks, with rules and options that are valid.
    async fn start<C>(
        connections: Arc<Connections<C>>,
        rules: RoomRules,
        options: RedisStoreOptions,
    ) -> Result<Self, StoreError>
    where
        C: ConnectionLike + Clone + Send + Sync + 'static,
    {
        let shared = Arc::new(Shared::new(rules, options));
        let joined = match connections.current() {
            Ok(mut connection) => join(&mut connection, &shared).await,
            Err(error) => Err(error),
        };
        match joined {
            Ok(()) => _ = shared.breaker.succeeded(),
            // The breaker stays open, and the watch joins the room once the server is there.
            Err(error) if is_away(&error) => shared.is_not_there(&error),
            Err(error) => return Err(error),
        }
        // One task for each verb, so a node has at most eight scripts in flight, and a long batch
        // of one verb does not delay the others.
        let lanes = Verb::ALL.map(|verb| {
            let (calls, served) = mpsc::channel(MAX_WAITING);
            let (connections, shared) = (Arc::clone(&connections), Arc::clone(&shared));
            tokio::spawn(batches::serve(verb, served, connections, shared));
            calls
        });
        // A strong reference would keep the channels open, and the tasks running, for ever.
        let [lane, ..] = &lanes;
        let watched = lane.downgrade();
        tokio::spawn(watch::watch(connections, Arc::clone(&shared), watched));
        Ok(Self { shared, lanes })
    }

    /// Calls a verb for one visitor, in the next batch of that verb.
    ///
    /// `enters` is the visitor of an `enter`, and `None` for the other verbs.
    ///
    /// # Errors
    ///
    /// The breaker is open, the channel is full, or the script fails or takes too long.
    async fn ask(
        &self,
        verb: Verb,
        arguments: Vec<Vec<u8>>,
        enters: Option<VisitorId>,
    ) -> Result<(Head, ReplyFields), StoreError> {
        // While the server is away a visitor must not wait for a deadline that is bound to pass.
        let breaker = &self.shared.breaker;
        if breaker.is_open() {
            return Err(StoreError::new(StoreErrorKind::Unavailable).with_source(BREAKER_IS_OPEN));
        }
        let (reply, replied) = oneshot::channel();
        let call = Call { arguments, reply, enters };
        self.lanes[verb as usize].try_send(call).map_err(|_| breaker.crowded_out())?;
        match timeout(patience(self.shared.deadline), replied).await {
            Ok(Ok(replied)) => replied,
            // The task has dropped the call: it has panicked, or the runtime shuts down.
            Ok(Err(_)) => Err(StoreError::new(StoreErrorKind::Unavailable)),
            // The breaker is left alone: the batch counts its own failure, and one slow script is
            // not as many failures as there are visitors who wait for it.
            Err(_) => Err(breaker.overdue()),
        }
    }
}

impl Store for RedisStore {
    fn now(&self) -> Timestamp {
        // An estimate from the last replies, without a round trip.
        self.shared.clock.now()
    }

    fn remembers_since(&self) -> Timestamp {
        Timestamp::from_nanos(self.shared.since.load(Ordering::Relaxed))
    }

    fn rules(&self) -> Arc<RoomRules> {
        self.shared.rules()
    }

    fn given_rules(&self) -> Arc<RoomRules> {
        // The layer reads them once, to compare them with its own configuration, so the cost of
        // the copy does not matter.
        Arc::new(self.shared.origin.clone())
    }

    fn may_evict(&self) -> bool {
        self.shared.may_evict.load(Ordering::Relaxed)
    }

    fn present(&self) -> Option<u32> {
        self.shared.present()
    }

    async fn enter(&self, id: VisitorId) -> Result<Verdict, StoreError> {
        // The script receives the time until which this call waits, and does nothing if it runs
        // later. Otherwise a call that was stuck in the buffer of a dead connection could take a
        // slot after the watch has given the visitor's slot back.
        let waited = Instant::now() + self.shared.deadline;
        loop {
            let until = self.shared.clock.after(waited.saturating_duration_since(Instant::now()));
            let (head, said) = self.ask(Verb::Enter, verbs::enter(id, until), Some(id)).await?;
            match verbs::verdict(&head, said, id, None, &self.shared.rules()) {
                // The script found itself too late although this call still waits, so the server's
                // clock was set forward. The reply has corrected this node's estimate of it.
                Err(error) if error.kind() == StoreErrorKind::Busy && Instant::now() < waited => {}
                verdict => return verdict,
            }
        }
    }

    async fn check_in(&self, ticket: Ticket) -> Result<Verdict, StoreError> {
        // Most visitors of a long line stand behind the frontier, and need no round trip.
        if let Some(verdict) = self.shared.answer(&ticket) {
            return Ok(verdict);
        }
        let arguments = verbs::check_in(&ticket, self.now());
        let (head, said) = self.ask(Verb::CheckIn, arguments, None).await?;
        verbs::verdict(&head, said, ticket.id, Some(&ticket), &self.shared.rules())
    }

    async fn renew(&self, pass: Pass) -> Result<Renewal, StoreError> {
        let (head, said) = self.ask(Verb::Renew, verbs::renew(&pass), None).await?;
        verbs::renewal(&head, said, pass.id)
    }

    async fn leave(&self, id: VisitorId) -> Result<(), StoreError> {
        self.ask(Verb::Leave, verbs::leave(id), None).await.map(drop)
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        // Each script clears a bounded number of entries, so that it does not block the server.
        while {
            let (_, mut said) = self.ask(Verb::Sweep, Vec::new(), None).await?;
            said.signed()? == 1
        } {}
        Ok(())
    }

    async fn snapshot(&self) -> Result<RoomSnapshot, StoreError> {
        // The reply carries the rules only if they are not of this version.
        let known = vec![self.shared.known_version()];
        let (head, said) = self.ask(Verb::Snapshot, known, None).await?;
        self.shared.take_snapshot(&head, said).map(|(snapshot, _)| snapshot)
    }

    async fn configure(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> Result<(), StoreError> {
        // Compare and set: the script rejects a change to a version that is no longer in force, and
        // returns the rules that are, to which the change is then applied again.
        for _ in 0..MAX_CHANGES {
            let (version, old) = self.shared.known();
            let new = change(RoomRules::clone(&old)).validate()?;
            // The name is part of every key, so another name would be another room.
            if new.name() != old.name() {
                let expected = format!("{:?}, the name of the room in use", old.name());
                let given = format!("{:?}", new.name());
                let kind = ConfigErrorKind::Contradicts;
                return Err(ConfigError::new(kind, "name", given, expected).into());
            }
            let arguments = verbs::configure(version, &new);
            let (head, mut said) = self.ask(Verb::Configure, arguments, None).await?;
            let is_set = said.signed()? == 1;
            // In either case the reply has the rules in force, with their version.
            self.shared.take_rules(head.version, &said.bytes()?)?;
            if is_set {
                return Ok(());
            }
        }
        // Each attempt has found that another change came first.
        Err(StoreError::new(StoreErrorKind::Unavailable).with_source("the rules keep changing"))
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("rules", &self.shared.rules())
            .field("deadline", &self.shared.deadline)
            .finish_non_exhaustive()
    }
}

/// The cause of errors while the breaker is open.
pub(crate) const BREAKER_IS_OPEN: &str =
    "the last calls have failed, and none is sent until a probe succeeds";

/// The most calls of one verb that wait while a batch is in flight; others fail at once.
const MAX_WAITING: usize = 4_096;

/// How often an operator's change is tried, should other changes to the rules precede it each time.
const MAX_CHANGES: usize = 8;
