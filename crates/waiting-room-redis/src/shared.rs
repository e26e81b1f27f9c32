//! What a node knows of its room.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::time::Instant;
use waiting_room_core::{RoomRules, Snapshot, StoreError, Ticket, Verdict, VisitorId};

use crate::{
    breaker::Breaker,
    clock::{self, ServerClock},
    frontier::Frontier,
    keys::RoomKeys,
    options::RedisStoreOptions,
    reply::{Fields, Head},
    rules,
    scripts::Scripts,
};

/// What a node knows of its room.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) scripts: Scripts,
    pub(crate) keys: RoomKeys,
    pub(crate) clock: ServerClock,
    pub(crate) rules: ArcSwap<RoomRules>,
    /// How long a call waits, and how long the server has for a script.
    pub(crate) deadline: Duration,
    /// What the node was configured with.
    origin: RoomRules,
    version: AtomicU64,
    pub(crate) since: AtomicU64,
    pub(crate) breaker: Breaker,
    frontier: ArcSwapOption<Frontier>,
    heartbeats: Mutex<Vec<Ticket>>,
    owed: Mutex<Vec<VisitorId>>,
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
            rules: ArcSwap::from_pointee(rules.clone()),
            deadline,
            origin: rules,
            version: AtomicU64::new(0),
            since: AtomicU64::new(0),
            breaker: Breaker::default(),
            frontier: ArcSwapOption::empty(),
            heartbeats: Mutex::default(),
            owed: Mutex::default(),
        }
    }

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
    pub(crate) fn answer(&self, ticket: &Ticket) -> Option<Verdict> {
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
