//! What a node knows of its room.

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
    RoomRules, RoomSnapshot, StoreError, StoreErrorKind, Ticket, Verdict, VisitorId,
};

use crate::{
    clock::{self, ServerClock},
    connections::Breaker,
    frontier::Frontier,
    keys::RoomKeys,
    options::RedisStoreOptions,
    reply::{Fields, Head},
    scripts::Scripts,
    sync::unpoisoned,
    verbs::{decode_rules, encode_rules, rules_json},
};

/// What a node knows of its room.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) scripts: Scripts,
    pub(crate) keys: RoomKeys,
    pub(crate) clock: ServerClock,
    known: ArcSwap<Known>,
    /// How long a call waits, and how long the server has for a script.
    pub(crate) deadline: Duration,
    /// What the node was configured with.
    pub(crate) origin: RoomRules,
    /// Whether the rules in force are of a kind that this node cannot read.
    is_outdated: AtomicBool,
    pub(crate) since: AtomicU64,
    /// The longest that a pass can live under any rules that this node has heard of, in microseconds.
    longest_lifetime_us: AtomicU64,
    /// How many visitors of the line are present; the greatest number before that is known.
    present: AtomicU32,
    /// How often the room has missed keys; the greatest number before that is known.
    losses: AtomicU64,
    /// Whether the room was opened or joined on the server.
    pub(crate) is_joined: AtomicBool,
    /// Whether the server may evict keys, by how it is set up.
    pub(crate) may_evict: AtomicBool,
    pub(crate) breaker: Breaker,
    /// Told when the breaker opens.
    pub(crate) opened: Notify,
    /// Told when a script has failed other than by taking too long: it may be for the connection.
    pub(crate) broken: Notify,
    frontier: ArcSwapOption<Frontier>,
    heartbeats: Mutex<HashMap<VisitorId, Ticket>>,
    owed: Mutex<Vec<VisitorId>>,
}

/// The rules that are in force, as far as a node knows.
#[derive(Debug)]
struct Known {
    /// Zero before the server has been asked.
    version: u64,
    rules: Arc<RoomRules>,
}

/// Why a node opens a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opens {
    /// It starts. The rules that it was configured with may be new.
    Start,
    /// It has found the room gone.
    Again,
}

impl Shared {
    /// So many visitors are answered in a second without asking; over it, the server is asked.
    const MAX_HEARTBEATS: usize = 65_536;
    /// So many visitors are remembered who may have entered without knowing.
    const MAX_OWED: usize = 4_096;

    /// A node that has heard nothing yet.
    pub(crate) fn new(
        rules: RoomRules,
        RedisStoreOptions { deadline, prefix, clock }: RedisStoreOptions,
    ) -> Self {
        Self {
            scripts: Scripts::new(),
            keys: RoomKeys::new(&prefix, rules.name()),
            clock: ServerClock::new(clock),
            known: ArcSwap::from_pointee(Known { version: 0, rules: Arc::new(rules.clone()) }),
            deadline,
            origin: rules,
            is_outdated: AtomicBool::new(false),
            since: AtomicU64::new(0),
            longest_lifetime_us: AtomicU64::new(0),
            present: AtomicU32::new(u32::MAX),
            losses: AtomicU64::new(u64::MAX),
            is_joined: AtomicBool::new(false),
            may_evict: AtomicBool::new(false),
            // Closed by the first answer.
            breaker: Breaker::opened(),
            opened: Notify::new(),
            broken: Notify::new(),
            frontier: ArcSwapOption::empty(),
            heartbeats: Mutex::default(),
            owed: Mutex::default(),
        }
    }

    /// The rules in force.
    pub(crate) fn rules(&self) -> Arc<RoomRules> {
        self.known().1
    }

    /// The rules in force, after their version.
    pub(crate) fn known(&self) -> (u64, Arc<RoomRules>) {
        let known = self.known.load();
        (known.version, Arc::clone(&known.rules))
    }

    /// The arguments of a node that opens the room: with the time and the rules as it knows them, and
    /// the rules that it was configured with.
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

    /// Takes note of how long passes may live that were issued under any rules of the room.
    pub(crate) fn learn_lifetime(&self, lifetime: Duration) {
        let micros = u64::try_from(lifetime.as_micros()).unwrap_or(u64::MAX);
        self.longest_lifetime_us.fetch_max(micros, Ordering::Relaxed);
    }

    /// The version of the rules that are known here.
    pub(crate) fn known_version(&self) -> Vec<u8> {
        self.known().0.to_string().into_bytes()
    }

    /// Takes note of what every reply begins with.
    pub(crate) fn learn(&self, head: &Head, sent: Instant) {
        self.clock.learn(head.now, sent);
        // A reply may come late; what it says of the past is known by then.
        self.since.fetch_max(head.since.as_nanos(), Ordering::Relaxed);
        self.present.store(head.present, Ordering::Relaxed);
        if self.losses.swap(head.losses, Ordering::Relaxed) < head.losses {
            let room = self.origin.name();
            tracing::warn!(room, "the store has lost keys of the room");
        }
    }

    pub(crate) fn take_rules(&self, version: u64, json: &[u8]) -> Result<(), StoreError> {
        let rules = decode_rules(json)?;
        self.learn_lifetime(rules.longest_pass_lifetime());
        self.known.store(Arc::new(Known { version, rules: Arc::new(rules) }));
        Ok(())
    }

    /// Takes the rules of a newer release, or goes on with those that it can read.
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
            tracing::error!(room, %error, source, "rules in force that this release cannot read");
        }
        self.is_outdated.store(taken.is_err(), Ordering::Relaxed);
    }

    /// Takes note of the room in numbers. Says too whether there is more to be swept.
    pub(crate) fn take_snapshot(
        &self,
        head: &Head,
        mut said: Fields,
    ) -> Result<(RoomSnapshot, bool), StoreError> {
        let (active, new_in_last_minute, waiting) =
            (said.number()?, said.number()?, said.number()?);
        let first_arrival = u64::try_from(said.signed()?).ok().map(clock::from_micros);
        self.take_changed(head.version, &said.bytes()?);
        let read = Frontier::read(head, &mut said)?.map(Arc::new);
        // A reply that was long on its way says less than the one that has overtaken it.
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

    /// How many visitors of the line are present, by the last that was heard.
    pub(crate) fn present(&self) -> Option<u32> {
        Some(self.present.load(Ordering::Relaxed)).filter(|present| *present < u32::MAX)
    }

    /// The verdict for a visitor so far back that the server need not be asked; it is told later.
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

    /// Who was answered since the last time.
    pub(crate) fn take_heartbeats(&self) -> Vec<Ticket> {
        std::mem::take(&mut *self.heartbeats()).into_values().collect()
    }

    /// The server has not heard of these.
    pub(crate) fn put_back(&self, unheard: &[Ticket]) {
        let mut heartbeats = self.heartbeats();
        for ticket in unheard.iter().take(Self::MAX_HEARTBEATS - heartbeats.len()) {
            heartbeats.entry(ticket.id).or_insert(*ticket);
        }
    }

    fn heartbeats(&self) -> MutexGuard<'_, HashMap<VisitorId, Ticket>> {
        unpoisoned(self.heartbeats.lock())
    }

    /// The server was not reached when the node started.
    pub(crate) fn is_not_there(&self, error: &StoreError) {
        let (room, source) = (self.origin.name(), error.source().map(tracing::field::display));
        tracing::warn!(room, %error, source, "the store is away: the node starts without it");
    }

    pub(crate) fn succeeded(&self) {
        if self.breaker.succeeded() {
            tracing::info!(room = self.origin.name(), "the store answers again");
        }
    }

    pub(crate) fn failed(&self, error: &StoreError) {
        if self.breaker.failed() {
            let (room, source) = (self.origin.name(), error.source().map(tracing::field::display));
            tracing::warn!(room, %error, source, "the store is asked no more for now");
            self.opened.notify_one();
        } else if error.kind() == StoreErrorKind::Unavailable {
            self.broken.notify_one();
        }
    }

    /// Takes note of a visitor who may have entered without knowing.
    pub(crate) fn owe(&self, enters: Option<VisitorId>) {
        let Some(id) = enters else { return };
        let mut owed = unpoisoned(self.owed.lock());
        // Over the bound, the slot lapses by itself, as that of one who never comes back.
        if owed.len() < Self::MAX_OWED {
            owed.push(id);
        }
    }

    pub(crate) fn take_owed(&self) -> Vec<VisitorId> {
        std::mem::take(&mut *unpoisoned(self.owed.lock()))
    }
}
