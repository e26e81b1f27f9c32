//! The in-process store, which is exact and needs no setup.
//!
//! ```text
//! request ─► MemoryStore::enter ─► lock ─► Clock::now ─► Room::enter ─► Verdict
//!                                  └──────── one instant ─────────┘
//! ```
//!
//! The store serves only its own process. Nodes that share a room need a store that every node can
//! reach, such as the store in `waiting-room-redis`.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

use arc_swap::ArcSwap;

use crate::{
    ConfigError, Pass, Room, RoomRules, Store, StoreError, Ticket, Timestamp, Verdict, VisitorId,
    room::{Renewal, RoomSnapshot},
    sync::unpoisoned,
    time::{Clock, SystemClock},
};

/// A [`Store`] in the memory of this process.
///
/// A mutex guards the [`Room`]. It is held only for the arithmetic of one operation, which takes
/// less than a millisecond even if the places or sessions of a million visitors have lapsed
/// together. Operations wait for nothing but this mutex. Only [`configure`](Store::configure) can
/// fail: it returns an error if the new rules are invalid. The operations themselves remove lapsed
/// slots and places, so there is no background task to start. Three rules bound the memory: the
/// number of slots, the capacity of the line, and the number of new visitors per minute.
///
/// # After a restart
///
/// A restart loses the state of the room, but passes and tickets issued before the restart stay
/// valid as long as the key that sealed them does not change. A ticket contains its visitor's place
/// in line. A pass is counted again when its visitor next presents it. Until then, the
/// [`Recovery`](crate::room::Recovery) rule determines whether newcomers are admitted.
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Box<dyn Clock>,
    /// The time at which this store was created. The store does not know about passes that were
    /// issued earlier.
    started: Timestamp,
    room: Mutex<Room>,
    /// A copy of the room's rules, which every request reads without taking the lock. The copy is
    /// written only while the lock is held, so concurrent changes cannot leave it out of date.
    rules: ArcSwap<RoomRules>,
}

impl MemoryStore {
    /// Creates an empty room that follows these rules and uses the machine's clock.
    ///
    /// # Errors
    ///
    /// Returns an error that names the first invalid rule.
    pub fn new(rules: RoomRules) -> Result<Self, ConfigError> {
        Self::with_clock(rules, SystemClock::new())
    }

    /// Creates an empty room that follows these rules and uses the given clock, such as a
    /// [`ManualClock`](crate::time::ManualClock) in tests.
    ///
    /// # Errors
    ///
    /// Returns an error that names the first invalid rule.
    pub fn with_clock(rules: RoomRules, clock: impl Clock) -> Result<Self, ConfigError> {
        let started = clock.now();
        let mut room = Room::new(rules)?;
        // The process may have restarted with the same sealing key. The store cannot detect a
        // restart, so it always assumes that passes from an earlier process are still in use.
        room.recover(started);
        let rules = ArcSwap::from_pointee(room.rules().clone());
        let room = Mutex::new(room);
        Ok(Self { shared: Arc::new(Shared { clock: Box::new(clock), started, room, rules }) })
    }

    /// Runs one operation at one instant.
    ///
    /// The clock is read under the lock, so operations run in the order of their timestamps. If the
    /// clock were read before the lock was taken, an operation could run after an operation with a
    /// later timestamp, and the room would see time run backwards.
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

    async fn stay(&self, ticket: Ticket) -> Result<Verdict, StoreError> {
        Ok(self.at_once(|room, now| room.stay(&ticket, now)))
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
        // `change` runs under the lock, so no other change can take effect after the rules have
        // been read and before they are replaced.
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
