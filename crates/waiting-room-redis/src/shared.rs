//! The state of a node: its knowledge of the room, and its pending reports.
//!
//! One [`Shared`] serves all handles of a store, the tasks of its operations and its watch task.
//! Readers on the path of a request never wait, because the rules and the frontier are replaced as
//! a whole, and the two locks, which guard a map and a list, are held only for a few instructions
//! each.
//!
//! ```text
//!  every reply ───► clock, start of the room's memory, present, losses
//!  snapshot ──────► rules and events (if they are new), frontier
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

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use tokio::{sync::Notify, time::Instant};
use waiting_room_core::{
    RoomRules, StoreError, Ticket, Verdict, VisitorId,
    error::StoreErrorKind,
    room::{
        EventFigures, RoomSnapshot,
        event::{Commitment, RoomPlan, Schedule},
    },
};

use crate::{
    clock::{self, ServerClock},
    connections::Breaker,
    frontier::Frontier,
    keys::RoomKeys,
    known::{DrawQuestion, KnownPlan, ShownEntrant},
    nodes::Nodes,
    options::RedisStoreOptions,
    phases::{encode_plan, schedule_json},
    reply::{Head, ReplyFields},
    rules::{SlotsOf, rules_json},
    scripts::Scripts,
    sync::unpoisoned,
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
    known: ArcSwap<KnownPlan>,
    /// The maximum time that a script may take. A caller waits only slightly longer for the reply.
    pub(crate) deadline: Duration,
    /// The source of the room's slots.
    pub(crate) slots_of: SlotsOf,
    /// The rules that the node was configured with, even if other rules are now in effect.
    pub(crate) origin: RoomRules,
    /// The events that the node was configured with, or `None` if it adopts the events of the room.
    given_schedule: Option<Schedule>,
    /// The rules and the events that the node was configured with, as the scripts compare them.
    encoded_origin: Vec<u8>,
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

    /// Creates the state of a node that has received no reply yet. The options contain the events of
    /// the room.
    pub(crate) fn new(
        rules: RoomRules,
        RedisStoreOptions { deadline, prefix, clock, schedule, slots_of }: RedisStoreOptions,
    ) -> Self {
        let clock = ServerClock::new(clock);
        let mut encoded_origin = rules_json(&rules);
        encoded_origin.extend(schedule.as_ref().map(schedule_json).unwrap_or_default());
        let plan = RoomPlan::new(rules.clone(), schedule.clone().unwrap_or_default());
        Self {
            scripts: Scripts::new(),
            keys: RoomKeys::new(&prefix, &rules.name),
            nodes: Nodes::new(&prefix, &rules.name),
            known: ArcSwap::from_pointee(KnownPlan::new(0, plan, clock.now())),
            clock,
            deadline,
            slots_of,
            origin: rules,
            given_schedule: schedule,
            encoded_origin,
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

    /// Returns the rules in force, as far as this node knows.
    pub(crate) fn rules(&self) -> Arc<RoomRules> {
        Arc::clone(&self.known().in_force)
    }

    /// Returns what this node knows about the plan of the room. If the phase has changed since the
    /// last call, the rules in force are taken from the plan.
    pub(crate) fn known(&self) -> Guard<Arc<KnownPlan>> {
        let known = self.known.load();
        let Some(until) = known.until else { return known };
        let now = self.clock.now();
        if now < until {
            return known;
        }
        // If a reply has brought a newer plan in the meantime, the newer plan is kept.
        self.known.compare_and_swap(&known, Arc::new(known.at(now)));
        self.known.load()
    }

    /// Returns the version of the room's plan and the plan itself, as far as this node knows.
    pub(crate) fn known_plan(&self) -> (u64, Arc<RoomPlan>) {
        let known = self.known.load();
        (known.version, Arc::clone(known.plan()))
    }

    /// Returns whether this node has learned the rules and events of the room from the server.
    pub(crate) fn knows_room(&self) -> bool {
        self.known.load().version != 0
    }

    /// Returns the arguments of `configure` for a node that opens the room.
    ///
    /// The arguments contain the latest time that this node has seen, because a room on an empty
    /// server must not start before that time. The arguments also contain the configured rules, by
    /// which the script recognizes a new release, and the current rules and events as far as this
    /// node knows.
    ///
    /// # Errors
    ///
    /// Returns an error if the rules of a starting node contradict the events of the room, or if
    /// its events change a fixed part of an event in progress.
    pub(crate) fn opening(&self, opens: Opens) -> Result<Vec<Vec<u8>>, StoreError> {
        let known = self.known();
        let own = |schedule: &Schedule| RoomPlan::new(self.origin.clone(), schedule.clone());
        let (opens, plan) = match (opens, &self.given_schedule) {
            (Opens::Again, _) => ("again".to_owned(), RoomPlan::clone(known.plan())),
            // If the room exists and has other events, the node learns them first.
            (Opens::Start, Some(given)) if known.version == 0 => ("start 0".to_owned(), own(given)),
            (Opens::Start, given) => {
                let plan = own(&known.plan().schedule);
                let plan = match given {
                    Some(given) => plan.follow_release(given, self.clock.now())?,
                    None => plan.validate()?,
                };
                (format!("start {}", known.version), plan)
            }
        };
        let told = clock::micros(self.clock.told()).to_string().into_bytes();
        let head = [opens.into_bytes(), told, self.encoded_origin.clone()];
        let longest_us = self.longest_lifetime_us.load(Ordering::Relaxed);
        let plan =
            encode_plan(&plan, Duration::from_micros(longest_us), known.drawn(), self.slots_of);
        Ok(head.into_iter().chain(plan).collect())
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
        self.known.load().version.to_string().into_bytes()
    }

    /// Updates the node's state from the head of the reply to a call that was sent at `sent`.
    pub(crate) fn learn(&self, head: &Head, sent: Instant) {
        self.clock.learn(head.now, sent);
        // Replies to different operations may overtake each other, and an old reply must not move
        // the start of the room's memory back.
        self.since.fetch_max(head.since.as_nanos(), Ordering::Relaxed);
        self.present.store(head.present, Ordering::Relaxed);
        if self.losses.swap(head.losses, Ordering::Relaxed) < head.losses {
            let room = &self.origin.name;
            tracing::warn!(room, "the store has lost some of the room's keys");
        }
    }

    /// Adopts the given rules, events and draw as the current ones.
    ///
    /// # Errors
    ///
    /// Returns an error if one of them cannot be read. The node then keeps what it knew before.
    pub(crate) fn take_plan(
        &self,
        version: u64,
        rules: &[u8],
        schedule: &[u8],
        draw: ReplyFields,
    ) -> Result<(), StoreError> {
        let known = KnownPlan::read(version, rules, schedule, draw, self.clock.now())?;
        self.learn_lifetime(known.plan().longest_pass_lifetime());
        self.known.store(Arc::new(known));
        Ok(())
    }

    /// Adopts the rules, events and draw in a snapshot. A snapshot contains them only if they have
    /// changed.
    ///
    /// If this release cannot read them, the node logs this once and keeps those that it knows. The
    /// scripts use the fields of the room, so only the values that the node itself derives are out of
    /// date.
    fn take_changed(&self, version: u64, rules: &[u8], schedule: &[u8], draw: ReplyFields) {
        if rules.is_empty() {
            return;
        }
        let taken = self.take_plan(version, rules, schedule, draw);
        if let Err(error) = &taken
            && !self.is_outdated.load(Ordering::Relaxed)
        {
            let source = error.source().map(tracing::field::display);
            let room = &self.origin.name;
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
        let active = said.number()?;
        let new_in_last_minute = said.number()?;
        let waiting = said.number()?;
        let first_arrival = u64::try_from(said.signed()?).ok().map(clock::from_micros);
        let rules = said.bytes()?;
        // Without a frontier in the snapshot, every check-in goes to the server.
        let read = Frontier::read(head, &mut said)?.map(Arc::new);
        // The watch task and a caller of `snapshot` may run at the same time, so the newer reply is
        // kept.
        self.frontier.rcu(|known| match known {
            Some(known) if known.at > head.now => Some(Arc::clone(known)),
            _ => read.clone(),
        });
        let is_more = said.signed()? == 1;
        let first_touches = said.number()?;
        let abandoned = said.number()?;
        self.take_changed(head.version, &rules, &said.bytes()?, said.fields()?);
        let tag: u32 = said.number()?;
        let entrants: u32 = said.number()?;
        let slots_of_one_network = said.number()?;
        let places_of_one_network = said.number()?;
        let known = self.known();
        let mut snapshot = RoomSnapshot::empty(head.now, &known.plan().rules_at(head.now));
        let of_draw = |commitment: Commitment| (commitment.tag() == tag).then_some(entrants);
        let phase = known.plan().phase_at(head.now);
        snapshot.event =
            EventFigures::of(phase, head.now, |draw| of_draw(draw).unwrap_or_default());
        snapshot.active = active;
        snapshot.new_in_last_minute = new_in_last_minute;
        snapshot.waiting = waiting;
        snapshot.present = head.present;
        self.present.store(head.present, Ordering::Relaxed);
        snapshot.oldest_wait = first_arrival.map_or(Duration::ZERO, |at| head.now.since(at));
        snapshot.admissions_per_minute = head.per_second * 60.0;
        snapshot.first_touches_in_last_minute = first_touches;
        snapshot.abandoned = abandoned;
        snapshot.slots_of_one_network = slots_of_one_network;
        snapshot.places_of_one_network = places_of_one_network;
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
        let frontier = frontier.as_ref()?;
        let now = self.clock.now();
        let known = self.known();
        // The frontier reflects the rules that were in effect when it was computed.
        let change = known.plan().next_change(frontier.at);
        if change.is_some_and(|change| change <= now) {
            return None;
        }
        let verdict = frontier.check_in(ticket, known.order(ticket)?, now, &known.in_force)?;
        let mut heartbeats = self.heartbeats();
        match verdict {
            Verdict::Wait { ticket, .. } if heartbeats.len() < Self::MAX_HEARTBEATS => {
                heartbeats.insert(ticket.id, ticket);
                Some(verdict)
            }
            Verdict::Admit { .. } | Verdict::Refuse { .. } | Verdict::Wait { .. } => None,
        }
    }

    /// Returns what the script is told about the entrant with this ticket, or `None` if the visitor
    /// does not take part in a draw.
    pub(crate) fn shown(&self, ticket: &Ticket) -> Option<ShownEntrant> {
        ticket.entrant.and_then(|_| self.known().shown(ticket))
    }

    /// Computes the places that a script has asked for. Returns what the script is told about the
    /// visitor, and the places of departed entrants, or `None` if this node does not know the draw.
    pub(crate) fn places(
        &self,
        question: &DrawQuestion,
        ticket: &Ticket,
    ) -> Option<(ShownEntrant, Vec<(u32, u32)>)> {
        let DrawQuestion { tag, number, entrants, .. } = *question;
        let known = self.known.load();
        let known = match known.with_entrants(tag, entrants, self.clock.now()) {
            None => known,
            Some(next) => {
                self.known.compare_and_swap(&known, Arc::new(next));
                self.known.load()
            }
        };
        let (place, entrants) = known.place_of(tag, number)?;
        let departed = question.departed.iter().map(|&departed| {
            // An entrant without a place is behind all others, and is not asked for again.
            (departed, known.place_of(tag, departed).map_or(u32::MAX, |(place, _)| place))
        });
        let position = ticket.position_after_draw().unwrap_or(0);
        Some((ShownEntrant { number, tag, place, entrants, position }, departed.collect()))
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
    pub(crate) fn log_unreachable(&self, error: &StoreError) {
        let room = &self.origin.name;
        let source = error.source().map(tracing::field::display);
        tracing::warn!(room, %error, source, "the node is starting without its store");
    }

    /// Logs that the room does not adopt this node's configuration.
    pub(crate) fn log_refused(&self, error: &StoreError) {
        let room = &self.origin.name;
        let source = error.source().map(tracing::field::display);
        tracing::warn!(room, %error, source, "the room refuses this node and continues as before");
    }

    /// Records a reply, which closes the breaker.
    pub(crate) fn succeeded(&self) {
        if self.breaker.succeeded() {
            tracing::info!(room = self.origin.name, "the store answers again");
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
            let room = &self.origin.name;
            let source = error.source().map(tracing::field::display);
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
