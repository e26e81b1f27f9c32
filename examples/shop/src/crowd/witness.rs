//! What all visitors together saw, in the order in which they saw it.
//!
//! One lock and one clock, read under the lock, make one order of events out of what many visitors
//! do at once: the order in which the oracle must be told.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tower_waiting_room::{Clock, SystemClock, Timestamp};
use waiting_room_sim::{Limits, Oracle, Report, Seen, VisitorNo};

/// Tells the oracle what the visitors do and see.
#[derive(Debug)]
pub(super) struct Witness {
    view: Mutex<View>,
}

#[derive(Debug)]
struct View {
    clock: SystemClock,
    oracle: Oracle,
    people: People,
    under_way: u32,
    /// In ascending order.
    waits: Vec<Duration>,
    refusals: u64,
    failures: u64,
    next_stranger: u64,
}

/// Visitors as people, each counted once: one without cookies is many visitors to the oracle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct People {
    pub(super) came: u64,
    pub(super) admitted: u64,
    pub(super) refused: u64,
    pub(super) abandoned: u64,
}

/// How a visit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It waited in vain.
    Abandoned,
    /// It was let in, at some time.
    Admitted,
    /// It was sent away.
    Refused,
}

/// What is shown while the crowd is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glimpse {
    pub(super) people: People,
    pub(super) wait_p50: Duration,
    pub(super) wait_p95: Duration,
    pub(super) refusals: u64,
    pub(super) failures: u64,
}

/// A request under way. Dropped without an answer, it has failed.
#[derive(Debug)]
pub(super) struct Flight {
    witness: Arc<Witness>,
    visitor: VisitorNo,
    sent: Timestamp,
    is_over: bool,
}

impl Witness {
    /// A witness of a room that promises this.
    pub(super) fn new(limits: Limits) -> Self {
        let view = View {
            clock: SystemClock::new(),
            oracle: Oracle::new(limits),
            people: People::default(),
            under_way: 0,
            waits: Vec::new(),
            refusals: 0,
            failures: 0,
            next_stranger: FIRST_STRANGER,
        };
        Self { view: Mutex::new(view) }
    }

    /// Somebody comes.
    pub(super) fn came(&self) {
        self.lock().people.came += 1;
    }

    /// A number for somebody whom nobody recognizes.
    pub(super) fn stranger(&self) -> VisitorNo {
        let mut view = self.lock();
        view.next_stranger += 1;
        VisitorNo(view.next_stranger)
    }

    /// A request is about to leave.
    pub(super) fn departs(self: &Arc<Self>, visitor: VisitorNo) -> Flight {
        let mut view = self.lock();
        let sent = view.clock.now();
        view.oracle.sent(visitor, sent);
        view.under_way += 1;
        Flight { witness: Arc::clone(self), visitor, sent, is_over: false }
    }

    /// Somebody is let in for the first time, after waiting for so long.
    pub(super) fn waited(&self, wait: Duration) {
        let mut view = self.lock();
        let index = view.waits.partition_point(|other| *other <= wait);
        view.waits.insert(index, wait);
    }

    /// A visitor asks no more.
    pub(super) fn gave_up(&self, visitor: VisitorNo) {
        let mut view = self.lock();
        let now = view.clock.now();
        view.oracle.gave_up(visitor, now);
    }

    /// A visit is over.
    pub(super) fn gone(&self, fate: Fate) {
        let people = &mut self.lock().people;
        match fate {
            Fate::Abandoned => people.abandoned += 1,
            Fate::Admitted => people.admitted += 1,
            Fate::Refused => people.refused += 1,
        }
    }

    /// The room is replaced by one that lets nobody in for so long. Says whether this could be
    /// noted: only while no request is under way, since it might be answered by either room.
    pub(super) fn restarted(&self, hold: Duration) -> bool {
        let mut view = self.lock();
        if view.under_way > 0 {
            return false;
        }
        let now = view.clock.now();
        view.oracle.restarted(now, now + hold);
        true
    }

    /// What has been seen so far.
    pub(super) fn glimpse(&self) -> Glimpse {
        let view = self.lock();
        let quantile = |percent: usize| {
            let index = (view.waits.len() * percent).div_ceil(100).saturating_sub(1);
            view.waits.get(index).copied().unwrap_or_default()
        };
        Glimpse {
            people: view.people,
            wait_p50: quantile(50),
            wait_p95: quantile(95),
            refusals: view.refusals,
            failures: view.failures,
        }
    }

    /// The verdict on everything that was seen.
    pub(super) fn report(&self) -> Report {
        let view = self.lock();
        let mut report = view.oracle.clone().finish(view.clock.now());
        let People { came, admitted, refused, abandoned } = view.people;
        report.visitors = came;
        report.admitted = admitted;
        report.refused = refused;
        report.abandoned = abandoned;
        report
    }

    /// The oracle does not panic, so a poisoned lock says only that somebody else did.
    fn lock(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    /// The answer is here.
    pub(super) fn answered(mut self, seen: Seen) {
        self.land(|oracle, visitor, now| oracle.answered(visitor, now, seen));
        if seen == Seen::Refused {
            self.witness.lock().refusals += 1;
        }
    }

    /// The answer to a checkout is here: the session is over.
    pub(super) fn left(mut self) {
        let sent = self.sent;
        self.land(|oracle, visitor, now| oracle.left(visitor, sent, now));
    }

    fn land(&mut self, tell: impl FnOnce(&mut Oracle, VisitorNo, Timestamp)) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        let mut view = self.witness.lock();
        let now = view.clock.now();
        tell(&mut view.oracle, self.visitor, now);
        view.under_way -= 1;
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if !self.is_over {
            self.land(|oracle, visitor, now| oracle.failed(visitor, now));
            self.witness.lock().failures += 1;
        }
    }
}

/// Numbers from here on are drawn for requests without cookies.
const FIRST_STRANGER: u64 = 1 << 32;
