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

use arc_swap::{ArcSwap, Guard};

use crate::{
    ConfigError, Pass, Room, RoomRules, Store, StoreError, Ticket, Timestamp, Verdict, VisitorId,
    room::{
        Renewal, RoomSnapshot,
        event::{RoomPlan, Schedule},
    },
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
    /// The rules with which this store was created.
    given: Arc<RoomRules>,
    room: Mutex<Room>,
    /// A copy of the rules in force, which every request reads without taking the lock. The copy is
    /// written only while the lock is held, so concurrent changes cannot leave it out of date.
    in_force: ArcSwap<RoomCopy>,
}

/// A copy of what every request needs to know about the room.
struct RoomCopy {
    rules: Arc<RoomRules>,
    plan: Option<Arc<RoomPlan>>,
    /// The time at which the phase of the schedule changes, which makes this copy out of date.
    until: Option<Timestamp>,
    revision: u64,
}

impl RoomCopy {
    fn of(room: &Room) -> Self {
        Self {
            rules: Arc::new(room.rules().clone()),
            plan: room.plan().map(Arc::new),
            until: room.next_change(),
            revision: room.revision(),
        }
    }
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
        Self::with_schedule(rules, Schedule::default(), clock)
    }

    /// Creates an empty room that follows these rules and this schedule, and uses the given clock.
    ///
    /// The events may already be running or over, so a process that restarts in the middle of an
    /// event continues with that event.
    ///
    /// # Errors
    ///
    /// Returns an error that names the first invalid rule, or the first event that contradicts the
    /// rules or lacks the seed of its draw.
    pub fn with_schedule(
        rules: RoomRules,
        schedule: Schedule,
        clock: impl Clock,
    ) -> Result<Self, ConfigError> {
        let started = clock.now();
        let mut room = Room::new(rules)?.with_schedule(schedule)?;
        // The process may have restarted with the same sealing key. The store cannot detect a
        // restart, so it always assumes that passes from an earlier process are still in use.
        room.recover(started);
        room.sweep(started);
        let shared = Shared {
            clock: Box::new(clock),
            started,
            given: Arc::new(room.own_rules().clone()),
            in_force: ArcSwap::from_pointee(RoomCopy::of(&room)),
            room: Mutex::new(room),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Runs one operation at one instant.
    ///
    /// The clock is read under the lock, so operations run in the order of their timestamps. If the
    /// clock were read before the lock was taken, an operation could run after an operation with a
    /// later timestamp, and the room would see time run backwards.
    fn at_once<T>(&self, verb: impl FnOnce(&mut Room, Timestamp) -> T) -> T {
        let mut room = self.lock();
        let now = self.shared.clock.now();
        let result = verb(&mut room, now);
        if room.revision() != self.shared.in_force.load().revision {
            self.shared.in_force.store(Arc::new(RoomCopy::of(&room)));
        }
        result
    }

    /// Returns the rules in force now. If the phase of the schedule has changed since the last
    /// operation, the rules are taken from the plan.
    ///
    /// The lock is not taken, because a caller that changes the rules already holds it.
    fn in_force(&self) -> Guard<Arc<RoomCopy>> {
        let copy = self.shared.in_force.load();
        let (Some(until), Some(plan)) = (copy.until, &copy.plan) else { return copy };
        let now = self.shared.clock.now();
        if now < until {
            return copy;
        }
        let next = RoomCopy {
            rules: Arc::new(plan.rules_at(now)),
            plan: Some(Arc::clone(plan)),
            until: plan.next_change(now),
            revision: copy.revision,
        };
        // If an operation has stored a newer copy in the meantime, the newer copy is kept.
        self.shared.in_force.compare_and_swap(&copy, Arc::new(next));
        self.shared.in_force.load()
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
        Arc::clone(&self.in_force().rules)
    }

    fn plan(&self) -> Option<Arc<RoomPlan>> {
        self.in_force().plan.clone()
    }

    fn given_rules(&self) -> Arc<RoomRules> {
        Arc::clone(&self.shared.given)
    }

    fn present(&self) -> Option<u32> {
        // The operation makes sure that visitors who have gone away do not count as present.
        Some(self.at_once(|room, now| {
            room.sweep(now);
            room.present()
        }))
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
        self.at_once(|room, now| room.configure(change(room.own_rules().clone()), now))?;
        Ok(())
    }

    async fn schedule(&self, schedule: Schedule) -> Result<(), StoreError> {
        self.at_once(|room, now| room.schedule(schedule, now))?;
        Ok(())
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("rules", &self.shared.in_force.load().rules)
            .field("started", &self.shared.started)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future,
        pin::pin,
        task::{Context, Poll, Waker},
        time::Duration,
    };

    use super::*;
    use crate::{room::event::Event, time::ManualClock};

    /// Runs an operation of a store that never has to wait.
    fn run<T>(operation: impl Future<Output = Result<T, StoreError>>) -> T {
        match pin!(operation).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result.unwrap(),
            Poll::Pending => panic!("the operation waits"),
        }
    }

    #[test]
    fn each_change_of_the_rules_is_in_force_at_once_and_leaves_the_given_rules() {
        let rules = RoomRules::new("shop", 5);
        let store = MemoryStore::new(rules.clone()).unwrap();
        for users in [9, 12, 7, 8] {
            run(store.configure(|rules| rules.total_active_users(users)));
            assert_eq!(store.rules().total_active_users, users);
            assert_eq!(*store.given_rules(), rules);
        }
        assert_eq!(store.present(), Some(0));
    }

    #[test]
    fn the_given_rules_are_not_those_of_an_event() {
        let start = Timestamp::from_secs(1_000);
        let doors = Event::new("doors", start, start + Duration::from_secs(60))
            .prequeue_start(start.before(Duration::from_secs(60)))
            .limits(9, None);
        let rules = RoomRules::new("shop", 5);
        let schedule = Schedule::new([doors]).unwrap();
        let clock = ManualClock::new(start.before(Duration::from_secs(100)));
        let later = MemoryStore::with_clock(rules.clone(), clock.clone()).unwrap();
        run(later.schedule(schedule.clone()));
        clock.advance_to(start);
        let store = MemoryStore::with_schedule(rules.clone(), schedule, clock).unwrap();
        for store in [store, later] {
            assert_eq!(store.rules().total_active_users, 9);
            assert_eq!(*store.given_rules(), rules);
        }
    }
}
