//! Provides the operations of a room, each as a script on the server.
//!
//! A [`RedisStore`] is a thin handle. Each operation has a channel to a task that batches its calls
//! (`batches.rs`), and another task reads the room once a second (`watch.rs`). All tasks share the
//! node's state (`shared.rs`).
//!
//! ```text
//!  enter ────► channel ─► task ─┐
//!  check_in ─► channel ─► task ─┼─► one connection ─► server
//!  …                            │
//!                       watch ──┘
//! ```
//!
//! The tasks end when the last handle is dropped, because the channels close and the watch task
//! holds only a weak reference to one of the channels.

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
    room::{
        Renewal, RoomNode, RoomSnapshot,
        event::{RoomPlan, Schedule},
    },
};

use crate::{
    batches::{self, Call, join},
    connections::{Connections, is_away, patience},
    options::RedisStoreOptions,
    reply::{Head, ReplyFields},
    scripts::Verb,
    shared::Shared,
    verbs::{self, CheckInReply, Stays},
    watch,
};

/// A [`Store`] on a Redis or Valkey server that any number of nodes can share.
///
/// The [crate docs](crate) describe which requests make a call to the server. All clones share the
/// connection and the state of the node.
///
/// # Cancel safety
///
/// Dropping the future of an operation does not undo the operation, which may have taken effect.
/// The exception is `enter`: if `enter` has admitted the visitor, the slot is released, because no
/// caller has received the pass.
#[derive(Clone)]
pub struct RedisStore {
    shared: Arc<Shared>,
    /// The channel of each operation, in the order of [`Verb::ALL`].
    lanes: [mpsc::Sender<Call>; Verb::ALL.len()],
}

impl RedisStore {
    /// Joins the room that `rules` names, or opens the room if it does not exist.
    ///
    /// The server stores the rules with which the room was opened. A node that starts with
    /// different rules is treated as a new release, and its rules replace the current rules on all
    /// nodes. A node that starts with the same rules adopts the changes that operators have made
    /// since. A release cannot change what is already fixed about an event in progress, see
    /// [`RedisStoreOptions::schedule`].
    ///
    /// `open` is called immediately, and again when the connection breaks or its calls time out. If
    /// the server cannot be reached within 5 s, the node starts without it. Until the server is
    /// reached, the layer's failure policy applies, and the time comes from the clock of this
    /// machine.
    ///
    /// # Errors
    ///
    /// Returns an error if the rules or options are invalid, if the server is reached but refuses
    /// the node, if the server may evict keys, or if the events contradict the event in progress.
    /// The last of these is a [`Rules`](StoreErrorKind::Rules) error whose source names the event,
    /// the field and both values. The room then continues as before.
    pub async fn connect<C, F>(
        open: impl Fn() -> F + Send + Sync + 'static,
        rules: RoomRules,
        options: RedisStoreOptions,
    ) -> Result<Self, StoreError>
    where
        C: ConnectionLike + Clone + Send + Sync + 'static,
        F: Future<Output = RedisResult<C>> + Send + 'static,
    {
        let (options, rules) = validated(options, rules)?;
        let connections = Connections::opened(open).await?;
        Self::start(connections, rules, options).await
    }

    /// Joins the room over an existing connection, which must reconnect by itself.
    ///
    /// Use this constructor for a cluster, or for a connection that follows Sentinel. The store
    /// cannot replace an existing connection. If the peer vanishes without closing the connection,
    /// calls time out until the connection itself detects the loss, which may never happen without
    /// keep-alives.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`connect`](Self::connect).
    pub async fn with_connection<C>(
        connection: C,
        rules: RoomRules,
        options: RedisStoreOptions,
    ) -> Result<Self, StoreError>
    where
        C: ConnectionLike + Clone + Send + Sync + 'static,
    {
        let (options, rules) = validated(options, rules)?;
        Self::start(Connections::only(connection), rules, options).await
    }

    /// Joins the room and starts the tasks. The caller has validated the rules and options.
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
            // The breaker stays open, and the watch task joins the room once the server is
            // reachable.
            Err(error) if is_away(&error) => shared.log_unreachable(&error),
            Err(error) => {
                shared.log_refused(&error);
                return Err(error);
            }
        }
        // With one task for each operation, a node has at most eight scripts in flight, and a long
        // batch of one operation does not delay the other operations.
        let lanes = Verb::ALL.map(|verb| {
            let (calls, served) = mpsc::channel(MAX_WAITING);
            let connections = Arc::clone(&connections);
            let shared = Arc::clone(&shared);
            tokio::spawn(batches::serve(verb, served, connections, shared));
            calls
        });
        // A strong reference would keep the channels open, and the tasks running, forever.
        let [lane, ..] = &lanes;
        let watched = lane.downgrade();
        tokio::spawn(watch::watch(connections, Arc::clone(&shared), watched));
        Ok(Self { shared, lanes })
    }

    /// Calls an operation for one visitor, as part of the operation's next batch.
    ///
    /// `enters` is the visitor to admit, if the operation is `enter`, and `None` for all other
    /// operations.
    ///
    /// # Errors
    ///
    /// Returns an error if the breaker is open, the channel is full, or the script fails or takes
    /// too long.
    pub(crate) async fn ask(
        &self,
        verb: Verb,
        arguments: Vec<Vec<u8>>,
        enters: Option<VisitorId>,
    ) -> Result<(Head, ReplyFields), StoreError> {
        // While the server is unreachable, a visitor must not wait for a call that is bound to time
        // out.
        let breaker = &self.shared.breaker;
        if breaker.is_open() {
            return Err(StoreError::new(StoreErrorKind::Unavailable).with_source(BREAKER_IS_OPEN));
        }
        let (reply, replied) = oneshot::channel();
        let call = Call { arguments, reply, enters };
        self.lanes[verb as usize].try_send(call).map_err(|_| breaker.crowded_out())?;
        match timeout(patience(self.shared.deadline), replied).await {
            Ok(Ok(replied)) => replied,
            // The task has dropped the call, because it panicked or the runtime is shutting down.
            Ok(Err(_)) => Err(StoreError::new(StoreErrorKind::Unavailable)),
            // The failure is not recorded here. The batch records it, because a slow script must
            // count as one failure, not as one failure for each visitor that waits for the script.
            Err(_) => Err(breaker.overdue()),
        }
    }

    /// Checks in a visitor.
    ///
    /// Just after the start of an event with a draw, the script may ask for places of entrants, which
    /// only nodes can compute. The call is then repeated with these places.
    async fn ask_for(&self, stays: Stays, ticket: &Ticket) -> Result<Verdict, StoreError> {
        let mut shown = self.shared.shown(ticket);
        let mut departed = Vec::new();
        for _ in 0..MAX_QUESTIONS {
            let arguments = verbs::check_in(ticket, self.now(), stays, shown, &departed);
            let (head, said) = self.ask(Verb::CheckIn, arguments, None).await?;
            match verbs::answer(&head, said, ticket, &self.shared.rules())? {
                CheckInReply::Verdict(verdict) => return Ok(verdict),
                CheckInReply::Draw(question) => match self.shared.places(&question, ticket) {
                    Some((entrant, places)) => (shown, departed) = (Some(entrant), places),
                    // The snapshot contains the seed of the draw.
                    None => _ = self.snapshot().await?,
                },
            }
        }
        Err(StoreError::new(StoreErrorKind::Unavailable).with_source("the draw is unknown"))
    }

    /// Puts a plan into force in place of the plan with this version. Returns false if the version
    /// is no longer current. In either case, this node then knows the current plan.
    async fn replace_plan(&self, version: u64, plan: &RoomPlan) -> Result<bool, StoreError> {
        let arguments = verbs::configure(version, plan, self.shared.slots_of);
        let (head, mut said) = self.ask(Verb::Configure, arguments, None).await?;
        let is_set = said.signed()? == 1;
        let rules = said.bytes()?;
        // The longest lifetime of a pass is only needed by a node that opens the room.
        said.next()?;
        self.shared.take_plan(head.version, &rules, &said.bytes()?, said.fields()?)?;
        Ok(is_set)
    }
}

impl Store for RedisStore {
    fn now(&self) -> Timestamp {
        // The time is an estimate from the last replies, and needs no round trip.
        self.shared.clock.now()
    }

    fn remembers_since(&self) -> Timestamp {
        Timestamp::from_nanos(self.shared.since.load(Ordering::Relaxed))
    }

    fn rules(&self) -> Arc<RoomRules> {
        self.shared.rules()
    }

    fn plan(&self) -> Option<Arc<RoomPlan>> {
        let known = self.shared.known();
        let plan = known.plan();
        (!plan.schedule.events().is_empty()).then(|| Arc::clone(plan))
    }

    fn given_rules(&self) -> Arc<RoomRules> {
        // The layer reads the given rules once, when it is built, so the cost of the copy does not
        // matter.
        Arc::new(self.shared.origin.clone())
    }

    fn may_evict(&self) -> bool {
        self.shared.may_evict.load(Ordering::Relaxed)
    }

    fn present(&self) -> Option<u32> {
        self.shared.present()
    }

    fn nodes(&self) -> Option<Vec<RoomNode>> {
        self.shared.nodes.seen()
    }

    async fn enter(&self, id: VisitorId) -> Result<Verdict, StoreError> {
        // The script receives the deadline of its call, and does nothing if it runs after the
        // deadline. Otherwise a call that was stuck in the buffer of a dead connection could take a
        // slot after the watch task has released the visitor's slot.
        let waited = Instant::now() + self.shared.deadline;
        loop {
            let until = self.shared.clock.after(waited.saturating_duration_since(Instant::now()));
            let (head, said) = self.ask(Verb::Enter, verbs::enter(id, until), Some(id)).await?;
            match verbs::verdict(&head, said, id, None, &self.shared.rules()) {
                // The script reports that it ran late although the caller is still waiting, so the
                // server's clock must have been set forward. The reply has corrected the node's
                // estimate of the server's clock.
                Err(error) if error.kind() == StoreErrorKind::Busy && Instant::now() < waited => {}
                verdict => return verdict,
            }
        }
    }

    async fn check_in(&self, ticket: Ticket) -> Result<Verdict, StoreError> {
        // Most visitors in a long line are behind the frontier and need no round trip.
        if let Some(verdict) = self.shared.answer(&ticket) {
            return Ok(verdict);
        }
        self.ask_for(Stays::No, &ticket).await
    }

    async fn stay(&self, ticket: Ticket) -> Result<Verdict, StoreError> {
        // A stream at the front asks several times a second, but only the visitors in front of the
        // frontier reach the server. The watch task moves the frontier once a second.
        if let Some(verdict) = self.shared.answer(&ticket) {
            return Ok(verdict);
        }
        self.ask_for(Stays::Yes, &ticket).await
    }

    async fn renew(&self, pass: Pass) -> Result<Renewal, StoreError> {
        let (head, said) = self.ask(Verb::Renew, verbs::renew(&pass), None).await?;
        verbs::renewal(&head, said, pass.id)
    }

    async fn leave(&self, id: VisitorId) -> Result<(), StoreError> {
        self.ask(Verb::Leave, verbs::leave(id), None).await.map(drop)
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        // Each script removes a bounded number of entries, so that it does not block the server.
        while {
            let (_, mut said) = self.ask(Verb::Sweep, Vec::new(), None).await?;
            said.signed()? == 1
        } {}
        Ok(())
    }

    async fn snapshot(&self) -> Result<RoomSnapshot, StoreError> {
        // The reply contains the rules only if their version differs from the known version.
        let known = vec![self.shared.known_version()];
        let (head, said) = self.ask(Verb::Snapshot, known, None).await?;
        self.shared.take_snapshot(&head, said).map(|(snapshot, _)| snapshot)
    }

    async fn configure(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> Result<(), StoreError> {
        // This is a compare-and-set loop: the script rejects a change to rules whose version is no
        // longer current, and returns the current rules. The change is then applied again to the
        // current rules.
        for _ in 0..MAX_CHANGES {
            let (version, plan) = self.shared.known_plan();
            let old = &plan.rules;
            let new = change(old.clone()).validate()?;
            // The name is part of every key, so a different name would mean a different room.
            if new.name != old.name {
                let expected = format!("{:?}, the name of the room in use", old.name);
                let given = format!("{:?}", new.name);
                let kind = ConfigErrorKind::Contradicts;
                return Err(ConfigError::new(kind, "name", given, expected).into());
            }
            let new = RoomPlan::new(new, plan.schedule.clone()).validate()?;
            if self.replace_plan(version, &new).await? {
                return Ok(());
            }
        }
        // Another change preceded every attempt.
        Err(StoreError::new(StoreErrorKind::Unavailable).with_source("the rules change too often"))
    }

    async fn schedule(&self, schedule: Schedule) -> Result<(), StoreError> {
        // A change is refused only if it contradicts the current events, not those of a second ago.
        self.snapshot().await?;
        for _ in 0..MAX_CHANGES {
            let (version, plan) = self.shared.known_plan();
            let next = RoomPlan::clone(&plan).follow(schedule.clone(), self.now())?;
            if self.replace_plan(version, &next).await? {
                return Ok(());
            }
        }
        Err(StoreError::new(StoreErrorKind::Unavailable).with_source("the rules change too often"))
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

/// Checks the options, the rules, and the events against the rules.
fn validated(
    options: RedisStoreOptions,
    rules: RoomRules,
) -> Result<(RedisStoreOptions, RoomRules), StoreError> {
    let options = options.validate()?;
    let plan = RoomPlan::new(rules, options.schedule.clone().unwrap_or_default()).validate()?;
    Ok((options, plan.rules.clone()))
}

/// The source of the errors that calls return while the breaker is open.
pub(crate) const BREAKER_IS_OPEN: &str =
    "recent calls have failed, and no call is sent until a probe succeeds";

/// The maximum number of calls of one operation that wait while a batch is in flight. Further calls
/// fail immediately.
const MAX_WAITING: usize = 4_096;

/// The maximum number of times that one check-in is sent because the script needs places of a draw.
const MAX_QUESTIONS: usize = 5;

/// The maximum number of attempts to make an operator's change to the rules, if each attempt is
/// preceded by another change.
const MAX_CHANGES: usize = 8;
