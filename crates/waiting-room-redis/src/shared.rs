//! The state of a node: its knowledge of the room, and its pending reports.
//!
//! One [`Shared`] serves all handles of a store, the tasks of its operations and its watch task.
//! Readers on the path of a request never wait, because the rules and the frontier are replaced as
//! a whole, and the two locks, which guard a map and a list, are held only for a few instructions
//! each.
//!
//! ```text
//!  every reply ───► clock, start of the room's memory, present, losses
//!  snapshot ──────► rules (if they are new), frontier
//!  check-in behind the frontier ──► heartbeats ──┐
//!  enter whose caller has gone ───► owed ────────┴─► the watch task reports them each second
//! ```

use std::{
    collections::HashMap,
    error::Error,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::{sync::Notify, time::Instant};
use waiting_room_core::{
    RoomRules, StoreError, Ticket, Verdict, VisitorId, error::StoreErrorKind, room::RoomSnapshot,
};

use crate::{
    clock::{self, ServerClock},
    connections::Breaker,
    frontier::Frontier,
    keys::RoomKeys,
    nodes::Nodes,
    options::RedisStoreOptions,
    reply::{Head, ReplyFields},
    scripts::Scripts,
    sync::unpoisoned,
    verbs::{decode_rules, encode_rules, rules_json},
};

/// The state that all handles and tasks of a store share.
///
/// The atomics are independent of each other, and each reader uses only one of them at a time, so
/// all accesses are relaxed.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) scripts: Scripts,
    pub(crate) keys: RoomKeys,
    pub(crate) nodes: Nodes,
    pub(crate) clock: ServerClock,
    known: ArcSwap<KnownRules>,
    /// The maximum time that a script may take. A caller waits only slightly longer for the reply.
    pub(crate) deadline: Duration,
    /// The rules that the node was configured with, even if other rules are now in effect.
    pub(crate) origin: RoomRules,
    /// Whether the current rules have a form that this release cannot read.
    is_outdated: AtomicBool,
    /// The time at which the room's memory begins, in nanoseconds since the Unix epoch.
    pub(crate) since: AtomicU64,
    /// The longest lifetime of a pass under any rules that this node has seen, in microseconds.
    longest_lifetime_us: AtomicU64,
    /// The number of present visitors in the line, or `u32::MAX` while the number is unknown.
    present: AtomicU32,
    /// The number of times that the room has lost keys, or `u64::MAX` while it is unknown, so that
    /// losses from before the start of this node are not reported.
    losses: AtomicU64,
    /// Whether this node has opened or joined the room on the server.
    pub(crate) is_joined: AtomicBool,
    /// Whether the server's options allow it to evict keys.
    pub(crate) may_evict: AtomicBool,
    pub(crate) breaker: Breaker,
    /// Wakes the watch task when the breaker opens.
    pub(crate) opened: Notify,
    /// Wakes the watch task when a script fails for a reason other than a timeout, because the
    /// connection may be dead.
    pub(crate) broken: Notify,
    /// The current frontier, or `None` while no visitor is behind a frontier.
    frontier: ArcSwapOption<Frontier>,
    /// The latest tickets of visitors whose check-ins this node has answered since the last report.
    heartbeats: Mutex<HashMap<VisitorId, Ticket>>,
    /// Visitors who may have a slot without having received a pass.
    owed: Mutex<Vec<VisitorId>>,
}

/// The current rules, as far as a node knows.
///
/// The version and the rules are replaced together. If a version were paired with rules of another
/// version, an operator's change could overwrite a change that the operator has never seen.
#[derive(Debug)]
struct KnownRules {
    /// The version of the rules, or zero before the first reply.
    version: u64,
    rules: Arc<RoomRules>,
}

/// The reason why a node opens a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opens {
    /// The node is starting. If the rules that it was configured with are those of a new release,
    /// they replace the current rules.
    Start,
    /// The node has found that the room is gone, and restores the last rules that it knew.
    Again,
}

impl Shared {
    /// The maximum number of visitors that a node answers between two reports. The server answers
    /// all further visitors.
    const MAX_HEARTBEATS: usize = 65_536;
    /// The maximum number of visitors that are recorded as having a slot without a pass.
    const MAX_OWED: usize = 65_536;

    /// Creates the state of a node that has received no reply yet.
    pub(crate) fn new(
        rules: RoomRules,
        RedisStoreOptions { deadline, prefix, clock }: RedisStoreOptions,
    ) -> Self {
        Self {
            scripts: Scripts::new(),
            keys: RoomKeys::new(&prefix, rules.name()),
            nodes: Nodes::new(&prefix, rules.name()),
            clock: ServerClock::new(clock),
            known: ArcSwap::from_pointee(KnownRules { version: 0, rules: Arc::new(rules.clone()) }),
            deadline,
            origin: rules,
            is_outdated: AtomicBool::new(false),
            since: AtomicU64::new(0),
            longest_lifetime_us: AtomicU64::new(0),
            present: AtomicU32::new(u32::MAX),
            losses: AtomicU64::new(u64::MAX),
            is_joined: AtomicBool::new(false),
            may_evict: AtomicBool::new(false),
            // The breaker is closed when the node has joined the room.
            breaker: Breaker::opened(),
            opened: Notify::new(),
            broken: Notify::new(),
            frontier: ArcSwapOption::empty(),
            heartbeats: Mutex::default(),
            owed: Mutex::default(),
        }
    }

    /// Returns the current rules, as far as this node knows.
    pub(crate) fn rules(&self) -> Arc<RoomRules> {
        self.known().1
    }

    /// Returns the version of the current rules and the rules themselves, as far as this node
    /// knows.
    pub(crate) fn known(&self) -> (u64, Arc<RoomRules>) {
        let known = self.known.load();
        (known.version, Arc::clone(&known.rules))
    }

    /// Returns the arguments of `configure` for a node that opens the room.
    ///
    /// The arguments contain the latest time that this node has seen, because a room on an empty
    /// server must not start before that time. The arguments also contain the configured rules, by
    /// which the script recognizes a new release, and the current rules as far as this node knows.
    pub(crate) fn opening(&self, opens: Opens) -> Vec<Vec<u8>> {
        let opens: &[u8] = match opens {
            Opens::Start => b"start",
            Opens::Again => b"again",
        };
        let told = clock::micros(self.clock.told()).to_string().into_bytes();
        let head = [opens.to_vec(), told, rules_json(&self.origin)];
        let longest_us = self.longest_lifetime_us.load(Ordering::Relaxed);
        let rules = encode_rules(&self.rules(), Duration::from_micros(longest_us));
        head.into_iter().chain(rules).collect()
    }

    /// Raises the longest lifetime of a pass that the room may have issued, which never decreases.
    ///
    /// A room that is opened again after a loss pauses for the longest lifetime, so that it does
    /// not admit newcomers while earlier passes may still be valid.
    pub(crate) fn learn_lifetime(&self, lifetime: Duration) {
        let micros = u64::try_from(lifetime.as_micros()).unwrap_or(u64::MAX);
        self.longest_lifetime_us.fetch_max(micros, Ordering::Relaxed);
    }

    /// Returns the version of the rules that this node knows, as an argument of a script.
    pub(crate) fn known_version(&self) -> Vec<u8> {
        self.known().0.to_string().into_bytes()
    }

    /// Updates the node's state from the head of the reply to a call that was sent at `sent`.
    pub(crate) fn learn(&self, head: &Head, sent: Instant) {
        self.clock.learn(head.now, sent);
        // Replies to different operations may overtake each other, and an old reply must not move
        // the start of the room's memory back.
        self.since.fetch_max(head.since.as_nanos(), Ordering::Relaxed);
        self.present.store(head.present, Ordering::Relaxed);
        if self.losses.swap(head.losses, Ordering::Relaxed) < head.losses {
            let room = self.origin.name();
            tracing::warn!(room, "the store has lost keys of the room");
        }
    }

    /// Adopts the given rules as the current rules.
    ///
    /// # Errors
    ///
    /// Returns an error if the rules cannot be read. The node then keeps the rules that it knew
    /// before.
    pub(crate) fn take_rules(&self, version: u64, json: &[u8]) -> Result<(), StoreError> {
        let rules = decode_rules(json)?;
        self.learn_lifetime(rules.longest_pass_lifetime());
        self.known.store(Arc::new(KnownRules { version, rules: Arc::new(rules) }));
        Ok(())
    }

    /// Adopts the rules in a snapshot. A snapshot contains the rules only if they have changed.
    ///
    /// If this release cannot read the rules, the node logs this once and keeps the rules that it
    /// knows. The scripts use the fields of the room, so only the values that the node itself
    /// derives from the rules are out of date.
    fn take_changed(&self, version: u64, json: &[u8]) {
        if json.is_empty() {
            return;
        }
        let taken = self.take_rules(version, json);
        if let Err(error) = &taken
            && !self.is_outdated.load(Ordering::Relaxed)
        {
            let source = error.source().map(tracing::field::display);
            let room = self.origin.name();
            tracing::error!(room, %error, source, "this release cannot read the current rules");
        }
        self.is_outdated.store(taken.is_err(), Ordering::Relaxed);
    }

    /// Updates the node's state from the reply of `snapshot`. Returns the snapshot, and whether
    /// more entries have to be swept.
    ///
    /// # Errors
    ///
    /// Returns an error if the reply cannot be decoded.
    pub(crate) fn take_snapshot(
        &self,
        head: &Head,
        mut said: ReplyFields,
    ) -> Result<(RoomSnapshot, bool), StoreError> {
        let (active, new_in_last_minute, waiting) =
            (said.number()?, said.number()?, said.number()?);
        let first_arrival = u64::try_from(said.signed()?).ok().map(clock::from_micros);
        self.take_changed(head.version, &said.bytes()?);
        // Without a frontier in the snapshot, every check-in goes to the server.
        let read = Frontier::read(head, &mut said)?.map(Arc::new);
        // The watch task and a caller of `snapshot` may run at the same time, so the newer reply is
        // kept.
        self.frontier.rcu(|known| match known {
            Some(known) if known.at > head.now => Some(Arc::clone(known)),
            _ => read.clone(),
        });
        let mut snapshot = RoomSnapshot::empty(head.now, &self.rules());
        snapshot.active = active;
        snapshot.new_in_last_minute = new_in_last_minute;
        snapshot.waiting = waiting;
        snapshot.present = head.present;
        self.present.store(head.present, Ordering::Relaxed);
        snapshot.oldest_wait = first_arrival.map_or(Duration::ZERO, |at| head.now.since(at));
        snapshot.admissions_per_minute = head.per_second * 60.0;
        let is_more = said.signed()? == 1;
        snapshot.first_touches_in_last_minute = said.number()?;
        snapshot.abandoned = said.number()?;
        Ok((snapshot, is_more))
    }

    /// Returns the number of present visitors in the line according to the last reply, or `None`
    /// before the first reply.
    pub(crate) fn present(&self) -> Option<u32> {
        Some(self.present.load(Ordering::Relaxed)).filter(|present| *present < u32::MAX)
    }

    /// Returns the verdict for a visitor behind the frontier, and records the visitor for the next
    /// report to the server. Returns `None` if the server has to decide.
    ///
    /// If too many visitors are already recorded, the server decides, because a visitor who is
    /// never reported would become away although it checks in.
    pub(crate) fn answer(&self, ticket: &Ticket) -> Option<Verdict> {
        let frontier = self.frontier.load();
        let verdict = frontier.as_ref()?.check_in(ticket, self.clock.now(), &self.rules())?;
        let mut heartbeats = self.heartbeats();
        match verdict {
            Verdict::Wait { ticket, .. } if heartbeats.len() < Self::MAX_HEARTBEATS => {
                heartbeats.insert(ticket.id, ticket);
                Some(verdict)
            }
            _ => None,
        }
    }

    /// Takes the tickets of the visitors who were answered since the last call.
    pub(crate) fn take_heartbeats(&self) -> Vec<Ticket> {
        std::mem::take(&mut *self.heartbeats()).into_values().collect()
    }

    /// Puts back tickets whose report has failed.
    ///
    /// A visitor who has checked in again in the meantime keeps the newer ticket.
    pub(crate) fn put_back(&self, unheard: &[Ticket]) {
        let mut heartbeats = self.heartbeats();
        for ticket in unheard.iter().take(Self::MAX_HEARTBEATS - heartbeats.len()) {
            heartbeats.entry(ticket.id).or_insert(*ticket);
        }
    }

    fn heartbeats(&self) -> MutexGuard<'_, HashMap<VisitorId, Ticket>> {
        unpoisoned(self.heartbeats.lock())
    }

    /// Logs that the node starts without its server.
    pub(crate) fn is_not_there(&self, error: &StoreError) {
        let (room, source) = (self.origin.name(), error.source().map(tracing::field::display));
        tracing::warn!(room, %error, source, "the node starts without its store");
    }

    /// Records a reply, which closes the breaker.
    pub(crate) fn succeeded(&self) {
        if self.breaker.succeeded() {
            tracing::info!(room = self.origin.name(), "the store answers again");
        }
    }

    /// Records a failed script.
    ///
    /// The watch task is woken when the breaker opens, to probe the server, and after an error
    /// other than a timeout, because the connection may be broken. A script that failed because this
    /// node was late does not count.
    pub(crate) fn failed(&self, error: &StoreError) {
        if self.breaker.excuses(error) {
            return;
        }
        if self.breaker.failed() {
            let (room, source) = (self.origin.name(), error.source().map(tracing::field::display));
            tracing::warn!(room, %error, source, "calls to the store are suspended");
            self.opened.notify_one();
        } else if error.kind() == StoreErrorKind::Unavailable {
            self.broken.notify_one();
        }
    }

    /// Records a visitor who may have a slot without a pass, so that the watch task releases the
    /// slot.
    pub(crate) fn owe(&self, enters: Option<VisitorId>) {
        let Some(id) = enters else { return };
        let mut owed = unpoisoned(self.owed.lock());
        // If too many visitors are recorded, the slot stays taken until the pass that was never
        // delivered expires.
        if owed.len() < Self::MAX_OWED {
            owed.push(id);
        }
    }

    /// Takes the visitors who were recorded since the last call.
    pub(crate) fn take_owed(&self) -> Vec<VisitorId> {
        std::mem::take(&mut *unpoisoned(self.owed.lock()))
    }
}
