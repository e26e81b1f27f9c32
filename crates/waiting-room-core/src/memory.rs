//! The store of one process: exact, and nothing to set up.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

use arc_swap::ArcSwap;

use crate::{
    Clock, ConfigError, Pass, Renewal, Room, RoomRules, RoomSnapshot, Store, StoreError,
    SystemClock, Ticket, Timestamp, Verdict, VisitorId, sync::unpoisoned,
};

/// A [`Store`] in the memory of this process.
///
/// One short lock guards one [`Room`]; no verb waits for anything else, and none fails. What has
/// lapsed is dropped inside the verbs, so there is no background task to start. Memory is bounded
/// by the rules: the slots, the capacity of the line, the new visitors of a minute.
///
/// # After a restart
///
/// The memory is gone, but the passes and tickets of before are valid as long as the key is the
/// same. Tickets bring their place along. Passes are counted again when they are seen; what to do
/// until then is the rule [`Recovery`](crate::Recovery).
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Box<dyn Clock>,
    started: Timestamp,
    room: Mutex<Room>,
    /// The rules of the room, to be read without the lock. Written under it.
    rules: ArcSwap<RoomRules>,
}

impl MemoryStore {
    /// An empty room under these rules, on the machine's clock.
    ///
    /// # Errors
    ///
    /// The first rule that cannot be obeyed.
    pub fn new(rules: RoomRules) -> Result<Self, ConfigError> {
        Self::with_clock(rules, SystemClock::new())
    }

    /// The same on another clock.
    ///
    /// # Errors
    ///
    /// The first rule that cannot be obeyed.
    pub fn with_clock(rules: RoomRules, clock: impl Clock) -> Result<Self, ConfigError> {
        let started = clock.now();
        let mut room = Room::new(rules)?;
        room.recover(started);
        let rules = ArcSwap::from_pointee(room.rules().clone());
        let room = Mutex::new(room);
        Ok(Self { shared: Arc::new(Shared { clock: Box::new(clock), started, room, rules }) })
    }

    /// Runs one verb at one instant: the time is read under the lock, so that the order of the
    /// verbs is the order of their times.
    fn at_once<T>(&self, verb: impl FnOnce(&mut Room, Timestamp) -> T) -> T {
        let mut room = self.lock();
        let now = self.shared.clock.now();
        verb(&mut room, now)
    }

    fn lock(&self) -> MutexGuard<'_, Room> {
        unpoisoned(self.shared.room.lock())
    }
}

impl Store for MemoryStore {
    fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    fn remembers_since(&self) -> Timestamp {
        self.shared.started
    }

    fn rules(&self) -> Arc<RoomRules> {
        self.shared.rules.load_full()
    }

    fn present(&self) -> Option<u32> {
        Some(self.lock().present())
    }

    async fn enter(&self, id: VisitorId) -> Result<Verdict, StoreError> {
        Ok(self.at_once(|room, now| room.enter(id, now)))
    }

    async fn check_in(&self, ticket: Ticket) -> Result<Verdict, StoreError> {
        Ok(self.at_once(|room, now| room.check_in(&ticket, now)))
    }

    async fn renew(&self, pass: Pass) -> Result<Renewal, StoreError> {
        Ok(self.at_once(|room, now| room.renew(&pass, now)))
    }

    async fn leave(&self, id: VisitorId) -> Result<(), StoreError> {
        self.at_once(|room, now| room.leave(id, now));
        Ok(())
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        self.at_once(Room::sweep);
        Ok(())
    }

    async fn snapshot(&self) -> Result<RoomSnapshot, StoreError> {
        Ok(self.at_once(Room::snapshot))
    }

    async fn configure(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> Result<(), StoreError> {
        let mut room = self.lock();
        let rules = change(room.rules().clone());
        room.configure(rules, self.shared.clock.now())?;
        self.shared.rules.store(Arc::new(room.rules().clone()));
        Ok(())
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("rules", &self.shared.rules)
            .field("started", &self.shared.started)
            .finish_non_exhaustive()
    }
}
