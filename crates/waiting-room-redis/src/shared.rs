//! The state of a node: what it knows of its room, and what it still has to report.
//!
//! One [`Shared`] serves all handles of a store, the tasks of its verbs and its watch. Readers on
//! the path of a request never wait: the rules and the frontier are replaced as a whole, and the
//! two locks guard a map and a list for a few instructions each.
//!
//! ```text
//!  every reply ───► clock, start of the room's memory, present, losses
//!  snapshot ──────► rules (if they are new), frontier
//!  check-in behind the frontier ──► heartbeats ──┐
//!  enter whose caller has gone ───► owed ────────┴─► the watch reports them each second
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
    options::RedisStoreOptions,
    reply::{Head, ReplyFields},
    scripts::Scripts,
    sync::unpoisoned,
    verbs::{decode_rules, encode_rules, rules_json},
};

/// The state that all handles and tasks of a store share.
///
/// The atomics are independent of each other, and a reader acts on one of them at a time, so all
/// accesses are relaxed.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) scripts: Scripts,
    pub(crate) keys: RoomKeys,
    pub(crate) clock: ServerClock,
    known: ArcSwap<KnownRules>,
    /// The longest time that a script may take, and about as long a caller waits for it.
    pub(crate) deadline: Duration,
    /// The rules that the node was configured with, whatever is in force since.
    pub(crate) origin: RoomRules,
    /// Whether the rules in force have a form that this release cannot read.
    is_outdated: AtomicBool,
    /// The start of the room's memory, in nanoseconds since the Unix epoch.
    pub(crate) since: AtomicU64,
    /// The longest lifetime of a pass under any rules that this node has seen, in microseconds.
    longest_lifetime_us: AtomicU64,
    /// The number of visitors in the line who are present; `u32::MAX` while it is unknown.
    present: AtomicU32,
    /// How often the room has lost keys; `u64::MAX` while it is unknown, so that losses from before
    /// this node started are not reported.
    losses: AtomicU64,
    /// Whether this node has opened or joined the room on the server.
    pub(crate) is_joined: AtomicBool,
    /// Whether the server's options let it evict keys.
    pub(crate) may_evict: AtomicBool,
    pub(crate) breaker: Breaker,
    /// Wakes the watch when the breaker opens.
    pub(crate) opened: Notify,
    /// Wakes the watch when a script fails other than by a timeout: the connection may be dead.
    pub(crate) broken: Notify,
    /// `None` while no visitor stands behind one.
    frontier: ArcSwapOption<Frontier>,
    /// The latest tickets of visitors whose check-ins this node has answered since the last report.
    heartbeats: Mutex<HashMap<VisitorId, Ticket>>,
    /// Visitors who may hold a slot without having received a pass.
    owed: Mutex<Vec<VisitorId>>,
}

/// The rules in force, as far as a node knows.
///
/// The version and the rules are replaced together: a version that was paired with other rules
/// would let an operator's change overwrite one that it has never seen.
#[derive(Debug)]
struct KnownRules {
    /// Zero before the first reply.
    version: u64,
    rules: Arc<RoomRules>,
}

/// Why a node opens a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opens {
    /// The node starts. The rules that it was configured with may be those of a new release, and
    /// then replace the rules in force.
    Start,
    /// The node has found the room gone, and restores the rules that it knew last.
    Again,
}

impl Shared {
    /// The most visitors that a node answers between two reports; the server decides about others.
    const MAX_HEARTBEATS: usize = 65_536;
    /// The most visitors that are recorded as holding a slot without a pass.
    const MAX_OWED: usize = 4_096;

    /// Creates the state of a node that has received no reply yet.
    pub(crate) fn new(
        rules: RoomRules,
        RedisStoreOptions { deadline, prefix, clock }: RedisStoreOptions,
    ) -> Self {
        Self {
            scripts: Scripts::new(),
            keys: RoomKeys::new(&prefix, rules.name()),
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
            // Joining the room closes it.
            breaker: Breaker::opened(),
            opened: Notify::new(),
            broken: Notify::new(),
            frontier: ArcSwapOption::empty(),
            heartbeats: Mutex::default(),
            owed: Mutex::default(),
        }
    }

    /// The rules in force, as far as this node knows.
    pub(crate) fn rules(&self) -> Arc<RoomRules> {
        self.known().1
    }

    /// The version of the rules in force, and the rules.
    pub(crate) fn known(&self) -> (u64, Arc<RoomRules>) {
        let known = self.known.load();
        (known.version, Arc::clone(&known.rules))
    }

    /// Returns the arguments of `configure` for a node that opens the room.
    ///
    /// They carry the time that this node has seen, behind which a room on an empty server must not
    /// start; the rules of its configuration, by which a new release is recognized; and the rules
    /// that it knows to be in force.
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

    /// Raises the longest lifetime of a pass that the room may have issued; it never falls.
    ///
    /// A room that is opened again after a loss pauses for that long, so that it does not admit
    /// newcomers while passes from before may still be valid.
    pub(crate) fn learn_lifetime(&self, lifetime: Duration) {
        let micros = u64::try_from(lifetime.as_micros()).unwrap_or(u64::MAX);
        self.longest_lifetime_us.fetch_max(micros, Ordering::Relaxed);
    }

    /// The version of the rules that this node knows, as an argument of a script.
    pub(crate) fn known_version(&self) -> Vec<u8> {
        self.known().0.to_string().into_bytes()
    }

    /// Learns from the head of a reply to a call that was sent at `sent`.
    pub(crate) fn learn(&self, head: &Head, sent: Instant) {
        self.clock.learn(head.now, sent);
        // Replies of different verbs may overtake each other, and an old one must not move the
        // start of the room's memory back.
        self.since.fetch_max(head.since.as_nanos(), Ordering::Relaxed);
        self.present.store(head.present, Ordering::Relaxed);
        if self.losses.swap(head.losses, Ordering::Relaxed) < head.losses {
            let room = self.origin.name();
            tracing::warn!(room, "the store has lost keys of the room");
        }
    }

    /// Adopts rules as those in force.
    ///
    /// # Errors
    ///
    /// The rules cannot be read; those known before stay.
    pub(crate) fn take_rules(&self, version: u64, json: &[u8]) -> Result<(), StoreError> {
        let rules = decode_rules(json)?;
        self.learn_lifetime(rules.longest_pass_lifetime());
        self.known.store(Arc::new(KnownRules { version, rules: Arc::new(rules) }));
        Ok(())
    }

    /// Adopts the rules in a snapshot, if it has any: it carries them only when they have changed.
    ///
    /// If this release cannot read them, the node logs that once and keeps the rules that it knows.
    /// The scripts decide by the fields of the room, so only what the node itself derives from the
    /// rules is out of date.
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
            tracing::error!(room, %error, source, "this release cannot read the rules in force");
        }
        self.is_outdated.store(taken.is_err(), Ordering::Relaxed);
    }

    /// Learns from the reply of `snapshot`. Returns the snapshot, and whether there is more to
    /// sweep.
    ///
    /// # Errors
    ///
    /// The reply cannot be decoded.
    pub(crate) fn take_snapshot(
        &self,
        head: &Head,
        mut said: ReplyFields,
    ) -> Result<(RoomSnapshot, bool), StoreError> {
        let (active, new_in_last_minute, waiting) =
            (said.number()?, said.number()?, said.number()?);
        let first_arrival = u64::try_from(said.signed()?).ok().map(clock::from_micros);
        self.take_changed(head.version, &said.bytes()?);
        // From a snapshot without a frontier it follows that every check-in goes to the server.
        let read = Frontier::read(head, &mut said)?.map(Arc::new);
        // The watch and a caller of `snapshot` may run at the same time; the newer reply stays.
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
        Ok((snapshot, is_more))
    }

    /// The number of visitors in the line who are present, by the last reply; `None` before it.
    pub(crate) fn present(&self) -> Option<u32> {
        Some(self.present.load(Ordering::Relaxed)).filter(|present| *present < u32::MAX)
    }

    /// Returns the verdict for a visitor behind the frontier, and records it for the next report to
    /// the server; `None` if the server has to decide.
    ///
    /// When too many visitors are recorded already, the server decides: a visitor who is never
    /// reported would become away although it checks in.
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
    /// A visitor who has checked in again meanwhile keeps the newer ticket.
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
        tracing::warn!(room, %error, source, "the store is away: the node starts without it");
    }

    /// Records a reply, which closes the breaker.
    pub(crate) fn succeeded(&self) {
        if self.breaker.succeeded() {
            tracing::info!(room = self.origin.name(), "the store answers again");
        }
    }

    /// Records a failed script.
    ///
    /// The watch is woken when the breaker opens, to probe the server, and after an error other
    /// than a timeout, since the connection may be broken.
    pub(crate) fn failed(&self, error: &StoreError) {
        if self.breaker.failed() {
            let (room, source) = (self.origin.name(), error.source().map(tracing::field::display));
            tracing::warn!(room, %error, source, "the store is asked no more for now");
            self.opened.notify_one();
        } else if error.kind() == StoreErrorKind::Unavailable {
            self.broken.notify_one();
        }
    }

    /// Records a visitor who may hold a slot without a pass, so that the watch gives it back.
    pub(crate) fn owe(&self, enters: Option<VisitorId>) {
        let Some(id) = enters else { return };
        let mut owed = unpoisoned(self.owed.lock());
        // Over the bound, the slot stays taken until the pass that was never delivered expires.
        if owed.len() < Self::MAX_OWED {
            owed.push(id);
        }
    }

    /// Takes the visitors recorded since the last call.
    pub(crate) fn take_owed(&self) -> Vec<VisitorId> {
        std::mem::take(&mut *unpoisoned(self.owed.lock()))
    }
}
