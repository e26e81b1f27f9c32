//! The store: the verbs, each a script on the server.

use std::{
    fmt,
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::{ArcSwap, ArcSwapOption};
use redis::{RedisResult, aio::ConnectionLike};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout},
};
use waiting_room_core::{
    ConfigError, ConfigErrorKind, Pass, Renewal, RoomRules, Snapshot, Store, StoreError,
    StoreErrorKind, Ticket, Timestamp, Verdict, VisitorId,
};

use crate::{
    batches::{self, Call, unavailable},
    breaker::Breaker,
    clock::{self, ServerClock},
    connections::Connections,
    frontier::Frontier,
    keys::RoomKeys,
    options::RedisStoreOptions,
    reply::{Fields, Head},
    rules,
    scripts::{Scripts, Verb},
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
    deadline: Duration,
}

/// What a node knows of its room.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) scripts: Scripts,
    pub(crate) keys: RoomKeys,
    pub(crate) clock: ServerClock,
    pub(crate) rules: ArcSwap<RoomRules>,
    /// How long the server has for one script.
    pub(crate) patience: Duration,
    /// What the node was configured with.
    origin: RoomRules,
    version: AtomicU64,
    since: AtomicU64,
    breaker: Breaker,
    frontier: ArcSwapOption<Frontier>,
    heartbeats: Mutex<Vec<Ticket>>,
    owed: Mutex<Vec<VisitorId>>,
}

impl RedisStore {
    /// A node of the room with the name of these rules.
    ///
    /// The first node opens the room. A node that is started with other rules than those that the
    /// room was opened with puts its own in force, on all nodes; with the same, it takes what
    /// operators have changed since.
    ///
    /// `open` is called now, and again when the server has not answered for a second.
    ///
    /// # Errors
    ///
    /// Rules that cannot be obeyed, a server that cannot be asked, or one that may evict keys.
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
        let connections = Connections::opened(open).await.map_err(|error| unavailable(&error))?;
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
    pub async fn on<C>(
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
        RedisStoreOptions { deadline, prefix, clock }: RedisStoreOptions,
    ) -> Result<Self, StoreError>
    where
        C: ConnectionLike + Clone + Send + Sync + 'static,
    {
        let shared = Arc::new(Shared {
            scripts: Scripts::new(),
            keys: RoomKeys::new(&prefix, rules.name()),
            clock: ServerClock::new(clock),
            rules: ArcSwap::from_pointee(rules.clone()),
            patience: deadline,
            origin: rules,
            version: AtomicU64::new(0),
            since: AtomicU64::new(0),
            breaker: Breaker::default(),
            frontier: ArcSwapOption::empty(),
            heartbeats: Mutex::default(),
            owed: Mutex::default(),
        });
        let loaded = shared.scripts.load(&mut connections.current()).await;
        loaded.map_err(|error| unavailable(&error))?;
        let lanes = Verb::ALL.map(|verb| {
            let (calls, served) = mpsc::channel(MAX_WAITING);
            let (connections, shared) = (Arc::clone(&connections), Arc::clone(&shared));
            tokio::spawn(batches::serve(verb, served, connections, shared));
            calls
        });
        let [lane, ..] = &lanes;
        let watched = lane.downgrade();
        let store = Self { shared: Arc::clone(&shared), lanes, deadline };
        store.open().await?;
        tokio::spawn(watch::watch(connections, shared, watched));
        Ok(store)
    }

    /// Opens the room, or joins it.
    async fn open(&self) -> Result<(), StoreError> {
        let opening = self.shared.opening();
        let (head, mut said) =
            self.ask_within(CONNECT_DEADLINE, Verb::Configure, opening, None).await?;
        said.signed()?;
        self.shared.take_rules(head.version, &said.bytes()?)?;
        check_eviction(&said.text()?, &said.text()?)
    }

    async fn ask(
        &self,
        verb: Verb,
        arguments: Vec<Vec<u8>>,
        enters: Option<VisitorId>,
    ) -> Result<(Head, Fields), StoreError> {
        if self.shared.breaker.is_open() {
            return Err(StoreError::new(StoreErrorKind::Unavailable).with_source(BREAKER_IS_OPEN));
        }
        self.ask_within(self.deadline, verb, arguments, enters).await
    }

    /// Asks whether the server is believed to answer or not.
    async fn ask_within(
        &self,
        deadline: Duration,
        verb: Verb,
        arguments: Vec<Vec<u8>>,
        enters: Option<VisitorId>,
    ) -> Result<(Head, Fields), StoreError> {
        let (reply, replied) = oneshot::channel();
        let call = Call { arguments, reply, enters };
        if self.lanes[verb as usize].try_send(call).is_err() {
            return Err(StoreError::new(StoreErrorKind::Unavailable).with_source(TOO_MANY_WAIT));
        }
        match timeout(deadline, replied).await {
            Ok(Ok(replied)) => replied,
            Ok(Err(_)) => Err(StoreError::new(StoreErrorKind::Unavailable)),
            Err(_) => {
                let error = StoreError::new(StoreErrorKind::Timeout);
                self.shared.failed(&error);
                Err(error)
            }
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
        self.shared.rules.load_full()
    }

    async fn enter(&self, id: VisitorId) -> Result<Verdict, StoreError> {
        let (head, said) = self.ask(Verb::Enter, verbs::enter(id), Some(id)).await?;
        verbs::verdict(&head, said, id, None, &self.shared.rules.load())
    }

    async fn check_in(&self, ticket: Ticket) -> Result<Verdict, StoreError> {
        if let Some(verdict) = self.shared.answer(&ticket) {
            return Ok(verdict);
        }
        let arguments = verbs::check_in(&ticket, self.now());
        let (head, said) = self.ask(Verb::CheckIn, arguments, None).await?;
        verbs::verdict(&head, said, ticket.id, Some(&ticket), &self.shared.rules.load())
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

    async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let known = self.shared.known_version();
        let (head, said) = self.ask(Verb::Snapshot, known, None).await?;
        self.shared.take_snapshot(&head, said)
    }

    async fn configure(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> Result<(), StoreError> {
        for _ in 0..MAX_CHANGES {
            let version = self.shared.known_version();
            let old = RoomRules::clone(&self.shared.rules.load());
            let new = change(old.clone()).validate()?;
            if new.name() != old.name() {
                let expected = format_args!("{:?}, the name of the room in use", old.name());
                let given = format_args!("{:?}", new.name());
                let kind = ConfigErrorKind::Contradicts;
                return Err(ConfigError::new(kind, "name", given, expected).into());
            }
            let arguments = version.into_iter().chain(rules::encode(&new)).collect();
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
            .field("rules", &self.shared.rules.load())
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// So many visitors are answered in a second without asking; over it, the server is asked.
    const MAX_HEARTBEATS: usize = 65_536;
    /// So many visitors are remembered who may have entered without knowing.
    const MAX_OWED: usize = 4_096;

    /// The arguments of a node that opens the room: as it was configured, or as it was last.
    pub(crate) fn opening(&self) -> Vec<Vec<u8>> {
        let rules = match self.version.load(Ordering::Relaxed) {
            0 => rules::encode(&self.origin),
            _ => rules::encode(&self.rules.load()),
        };
        std::iter::once(Vec::new()).chain(rules).collect()
    }

    /// The arguments of one who knows a version of the rules.
    pub(crate) fn known_version(&self) -> Vec<Vec<u8>> {
        vec![self.version.load(Ordering::Relaxed).to_string().into_bytes()]
    }

    /// Takes note of what every reply begins with.
    pub(crate) fn learn(&self, head: &Head, sent: Instant) {
        self.clock.learn(head.now, sent);
        // A reply may come late; what it says of the past is known by then.
        self.since.fetch_max(head.since.as_nanos(), Ordering::Relaxed);
    }

    pub(crate) fn take_rules(&self, version: u64, json: &[u8]) -> Result<(), StoreError> {
        self.rules.store(Arc::new(rules::decode(json)?));
        self.version.store(version, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn take_snapshot(
        &self,
        head: &Head,
        mut said: Fields,
    ) -> Result<Snapshot, StoreError> {
        let (active, new_in_last_minute, waiting) =
            (said.number()?, said.number()?, said.number()?);
        let first_arrival = u64::try_from(said.signed()?).ok().map(clock::from_micros);
        let changed = said.bytes()?;
        if !changed.is_empty() {
            self.take_rules(head.version, &changed)?;
        }
        self.frontier.store(Frontier::read(head, &mut said)?.map(Arc::new));
        let mut snapshot = Snapshot::empty(head.now, &self.rules.load());
        snapshot.active = active;
        snapshot.new_in_last_minute = new_in_last_minute;
        snapshot.waiting = waiting;
        snapshot.present = head.present;
        snapshot.oldest_wait = first_arrival.map_or(Duration::ZERO, |at| head.now.since(at));
        snapshot.admissions_per_minute = head.per_second * 60.0;
        Ok(snapshot)
    }

    /// The verdict for a visitor so far back that the server need not be asked; it is told later.
    fn answer(&self, ticket: &Ticket) -> Option<Verdict> {
        let frontier = self.frontier.load();
        let verdict = frontier.as_ref()?.check_in(ticket, self.clock.now(), &self.rules.load())?;
        let mut heartbeats = self.heartbeats.lock().unwrap_or_else(PoisonError::into_inner);
        match verdict {
            Verdict::Wait { ticket, .. } if heartbeats.len() < Self::MAX_HEARTBEATS => {
                heartbeats.push(ticket);
                Some(verdict)
            }
            _ => None,
        }
    }

    /// Who was answered since the last time.
    pub(crate) fn take_heartbeats(&self) -> Vec<Ticket> {
        std::mem::take(&mut *self.heartbeats.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn succeeded(&self) {
        if self.breaker.succeeded() {
            tracing::info!(room = self.origin.name(), "the store answers again");
        }
    }

    pub(crate) fn failed(&self, error: &StoreError) {
        if self.breaker.failed() {
            tracing::warn!(room = self.origin.name(), %error, "the store is asked no more for now");
        }
    }

    /// Takes note of a visitor who may have entered without knowing.
    pub(crate) fn owe(&self, enters: Option<VisitorId>) {
        let Some(id) = enters else { return };
        let mut owed = self.owed.lock().unwrap_or_else(PoisonError::into_inner);
        // Over the bound, the slot lapses by itself, as that of one who never comes back.
        if owed.len() < Self::MAX_OWED {
            owed.push(id);
        }
    }

    pub(crate) fn take_owed(&self) -> Vec<VisitorId> {
        std::mem::take(&mut *self.owed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Checks that a server of so much memory evicts nothing.
pub(crate) fn check_eviction(memory: &str, policy: &str) -> Result<(), StoreError> {
    if memory != "0" && policy != "noeviction" {
        let expected = "noeviction: a key that is evicted is a limit that is forgotten";
        let kind = ConfigErrorKind::Contradicts;
        return Err(ConfigError::new(kind, "maxmemory-policy", policy, expected).into());
    }
    Ok(())
}

pub(crate) const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
pub(crate) const BREAKER_IS_OPEN: &str =
    "it has not answered lately, and is asked again every second";
pub(crate) const TOO_MANY_WAIT: &str = "too many calls wait for it";

/// So many calls of one verb wait for those that are under way.
const MAX_WAITING: usize = 4_096;

/// So often an operator's change is tried again because another has changed the rules meanwhile.
const MAX_CHANGES: usize = 8;
