//! The store: the verbs, each a script on the server.

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
    ConfigError, ConfigErrorKind, Pass, Renewal, RoomRules, RoomSnapshot, Store, StoreError,
    StoreErrorKind, Ticket, Timestamp, Verdict, VisitorId,
};

use crate::{
    batches::{self, Call, join},
    connections::{Connections, is_away, patience},
    options::RedisStoreOptions,
    reply::{Fields, Head},
    scripts::Verb,
    shared::Shared,
    verbs, watch,
};

/// A [`Store`] on a Redis or Valkey server, for any number of nodes.
///
/// See the [crate docs](crate) for what it asks of the server, and when.
///
/// # Cancel safety
///
/// A verb that is dropped may have happened. An `enter` whose caller is gone is taken back.
#[derive(Clone)]
pub struct RedisStore {
    shared: Arc<Shared>,
    lanes: [mpsc::Sender<Call>; Verb::ALL.len()],
}

impl RedisStore {
    /// A node of the room with the name of these rules.
    ///
    /// The first node opens the room. A node that is started with other rules than those that the
    /// room was opened with puts its own in force, on all nodes; with the same, it takes what
    /// operators have changed since.
    ///
    /// `open` is called now, and again when a connection breaks or does not answer. A node starts also
    /// while its server is away, after 5 s at most: the failure policy of the layer decides until it
    /// is reached, and the clock of this machine is the room's.
    ///
    /// # Errors
    ///
    /// Rules that cannot be obeyed, a server that is there and refuses the node, or one that may evict
    /// keys.
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

    /// The same on a connection that is there, and that sees to it itself when it breaks.
    ///
    /// A connection whose other end vanishes without a word stays deaf for as long as its system
    /// takes to notice, which may be for ever.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
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
            Err(error) if is_away(&error) => shared.is_not_there(&error),
            Err(error) => return Err(error),
        }
        let lanes = Verb::ALL.map(|verb| {
            let (calls, served) = mpsc::channel(MAX_WAITING);
            let (connections, shared) = (Arc::clone(&connections), Arc::clone(&shared));
            tokio::spawn(batches::serve(verb, served, connections, shared));
            calls
        });
        let [lane, ..] = &lanes;
        let watched = lane.downgrade();
        tokio::spawn(watch::watch(connections, Arc::clone(&shared), watched));
        Ok(Self { shared, lanes })
    }

    async fn ask(
        &self,
        verb: Verb,
        arguments: Vec<Vec<u8>>,
        enters: Option<VisitorId>,
    ) -> Result<(Head, Fields), StoreError> {
        let breaker = &self.shared.breaker;
        if breaker.is_open() {
            return Err(StoreError::new(StoreErrorKind::Unavailable).with_source(BREAKER_IS_OPEN));
        }
        let (reply, replied) = oneshot::channel();
        let call = Call { arguments, reply, enters };
        self.lanes[verb as usize].try_send(call).map_err(|_| breaker.crowded_out())?;
        match timeout(patience(self.shared.deadline), replied).await {
            Ok(Ok(replied)) => replied,
            Ok(Err(_)) => Err(StoreError::new(StoreErrorKind::Unavailable)),
            // Whether the server fails, its scripts tell: one slow script is not as many failures as
            // there are visitors who wait for it.
            Err(_) => Err(breaker.overdue()),
        }
    }
}

impl Store for RedisStore {
    fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    fn remembers_since(&self) -> Timestamp {
        Timestamp::from_nanos(self.shared.since.load(Ordering::Relaxed))
    }

    fn rules(&self) -> Arc<RoomRules> {
        self.shared.rules()
    }

    fn given_rules(&self) -> Arc<RoomRules> {
        Arc::new(self.shared.origin.clone())
    }

    fn may_evict(&self) -> bool {
        self.shared.may_evict.load(Ordering::Relaxed)
    }

    fn present(&self) -> Option<u32> {
        self.shared.present()
    }

    async fn enter(&self, id: VisitorId) -> Result<Verdict, StoreError> {
        let waited = Instant::now() + self.shared.deadline;
        loop {
            let until = self.shared.clock.after(waited.saturating_duration_since(Instant::now()));
            let (head, said) = self.ask(Verb::Enter, verbs::enter(id, until), Some(id)).await?;
            match verbs::verdict(&head, said, id, None, &self.shared.rules()) {
                // The clock of the server was set forward, or this node would have given up.
                Err(error) if error.kind() == StoreErrorKind::Busy && Instant::now() < waited => {}
                verdict => return verdict,
            }
        }
    }

    async fn check_in(&self, ticket: Ticket) -> Result<Verdict, StoreError> {
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
        while {
            let (_, mut said) = self.ask(Verb::Sweep, Vec::new(), None).await?;
            said.signed()? == 1
        } {}
        Ok(())
    }

    async fn snapshot(&self) -> Result<RoomSnapshot, StoreError> {
        let known = vec![self.shared.known_version()];
        let (head, said) = self.ask(Verb::Snapshot, known, None).await?;
        self.shared.take_snapshot(&head, said).map(|(snapshot, _)| snapshot)
    }

    async fn configure(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> Result<(), StoreError> {
        for _ in 0..MAX_CHANGES {
            let (version, old) = self.shared.known();
            let new = change(RoomRules::clone(&old)).validate()?;
            if new.name() != old.name() {
                let expected = format_args!("{:?}, the name of the room in use", old.name());
                let given = format_args!("{:?}", new.name());
                let kind = ConfigErrorKind::Contradicts;
                return Err(ConfigError::new(kind, "name", given, expected).into());
            }
            let arguments = verbs::configure(version, &new);
            let (head, mut said) = self.ask(Verb::Configure, arguments, None).await?;
            let is_set = said.signed()? == 1;
            self.shared.take_rules(head.version, &said.bytes()?)?;
            if is_set {
                return Ok(());
            }
        }
        Err(StoreError::new(StoreErrorKind::Unavailable).with_source("others change it as well"))
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

pub(crate) const BREAKER_IS_OPEN: &str =
    "it has not answered lately, and is asked by nobody but the watch until it does";

/// So many calls of one verb wait for those that are under way.
const MAX_WAITING: usize = 4_096;

/// So often an operator's change is tried again because another has changed the rules meanwhile.
const MAX_CHANGES: usize = 8;
