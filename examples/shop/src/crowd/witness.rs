//! What all visitors together saw, in the order in which they saw it.
//!
//! One lock and one clock, read under the lock, make one order of events out of what many visitors
//! do at once: the order in which the oracle must be told.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tower_waiting_room::time::{Clock, SystemClock, Timestamp};
use waiting_room_sim::{Limits, Oracle, Report, VisitorNo};

use super::{claims::Claims, latencies::Latencies};

/// Tells the oracle what the visitors do and see.
///
/// Whoever troubles the room on purpose says so. Then the witness measures apart, and while the
/// room cannot ask its store, it takes answers for what they are: kept promises, if they are, but
/// no news of what the store has decided.
#[derive(Debug)]
pub struct Witness {
    view: Mutex<View>,
}

#[derive(Debug)]
pub(super) struct View {
    pub(super) clock: SystemClock,
    pub(super) oracle: Oracle,
    pub(super) claims: Claims,
    pub(super) latencies: Latencies,
    pub(super) trouble: Trouble,
    people: People,
    pub(super) under_way: u32,
    /// In ascending order.
    waits: Vec<Duration>,
    /// After how long visitors saw their first position that is exact, in ascending order.
    first_positions: Vec<Duration>,
    limited: u64,
    pub(super) refusals: u64,
    pub(super) failures: u64,
    next_stranger: u64,
}

/// What is the matter with the room, as far as one is told.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trouble {
    /// Something is wrong.
    pub(super) is_on: bool,
    /// Nobody can tell whether what the room answers is what the store has decided.
    pub(super) is_in_doubt: bool,
    healed_at: Option<Timestamp>,
    last_undecided_at: Option<Timestamp>,
    admissions: Admissions,
}

/// How many requests were let in that had no pass, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "there is no other time")]
pub struct Admissions {
    /// Before the trouble.
    pub before: u64,
    /// While something was wrong.
    pub meanwhile: u64,
    /// Once that was over.
    pub after: u64,
}

impl Trouble {
    /// A cluster that was well for so long has come over its trouble; what is slow then is
    /// something else.
    const OVER_AFTER: Duration = Duration::from_secs(5);

    /// An answer says that the store could not be asked.
    pub(super) fn was_undecided(&mut self, now: Timestamp) {
        let Some(healed) = self.healed_at else { return };
        let last = self.last_undecided_at.map_or(healed, |last| last.max(healed));
        if now.since(last) <= Self::OVER_AFTER {
            self.last_undecided_at = Some(now);
        }
    }

    /// A request that had no pass was let in.
    pub(super) fn was_let_in(&mut self) {
        let Admissions { before, meanwhile, after } = &mut self.admissions;
        let now = match (self.is_on, self.healed_at) {
            (true, _) => meanwhile,
            (false, None) => before,
            (false, Some(_)) => after,
        };
        *now += 1;
    }
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

/// What a crowd from one address saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OneAddress {
    /// Requests that a rate limit refused.
    pub(super) limited: u64,
    /// How many visitors were shown an exact position.
    pub(super) placed: usize,
    /// After how long 95 in 100 of them were.
    pub(super) first_position_p95: Duration,
}

/// What is shown while the crowd is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glimpse {
    pub(super) people: People,
    pub(super) let_in: usize,
    pub(super) wait_p50: Duration,
    pub(super) wait_p95: Duration,
    pub(super) refusals: u64,
    pub(super) failures: u64,
}

impl Witness {
    /// A witness of a room that promises this.
    pub(super) fn new(limits: Limits) -> Self {
        let view = View {
            clock: SystemClock::new(),
            oracle: Oracle::new(limits),
            claims: Claims::new(&limits),
            latencies: Latencies::new(),
            trouble: Trouble::default(),
            people: People::default(),
            under_way: 0,
            waits: Vec::new(),
            first_positions: Vec::new(),
            limited: 0,
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

    /// Somebody is let in for the first time, after waiting for so long.
    pub(super) fn waited(&self, wait: Duration) {
        let mut view = self.lock();
        let index = view.waits.partition_point(|other| *other <= wait);
        view.waits.insert(index, wait);
    }

    /// A visitor is shown an exact position for the first time, so long after it came.
    pub(super) fn placed(&self, after: Duration) {
        let mut view = self.lock();
        let index = view.first_positions.partition_point(|other| *other <= after);
        view.first_positions.insert(index, after);
    }

    /// A rate limit refuses a request.
    pub(super) fn limited(&self) {
        self.lock().limited += 1;
    }

    /// What is promised to a crowd from one address.
    pub(super) fn one_address(&self) -> OneAddress {
        let view = self.lock();
        let index = (view.first_positions.len() * 95).div_ceil(100).saturating_sub(1);
        OneAddress {
            limited: view.limited,
            placed: view.first_positions.len(),
            first_position_p95: view.first_positions.get(index).copied().unwrap_or_default(),
        }
    }

    /// A visitor asks no more.
    pub(super) fn gave_up(&self, visitor: VisitorNo) {
        let mut view = self.lock();
        let now = view.clock.now();
        view.oracle.gave_up(visitor, now);
        view.claims.leaves(visitor);
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
            let_in: view.waits.len(),
            wait_p50: quantile(50),
            wait_p95: quantile(95),
            refusals: view.refusals,
            failures: view.failures,
        }
    }

    /// Something goes wrong from now on.
    pub fn trouble_begins(&self) {
        self.lock().trouble.is_on = true;
    }

    /// What was wrong is over.
    pub fn trouble_is_over(&self) {
        let mut view = self.lock();
        view.trouble.is_on = false;
        view.trouble.healed_at = Some(view.clock.now());
    }

    /// From now on the room may not be able to ask its store.
    pub fn store_may_be_away(&self) {
        self.lock().trouble.is_in_doubt = true;
    }

    /// From now on the room can ask its store. A store that has lost its memory lets nobody in for
    /// the time `hold`.
    pub fn store_is_back(&self, hold: Option<Duration>) {
        let mut view = self.lock();
        view.trouble.is_in_doubt = false;
        if let Some(hold) = hold {
            let now = view.clock.now();
            view.oracle.restarted(now, now + hold);
        }
    }

    /// How long after the trouble somebody was still told that the store cannot be asked.
    ///
    /// Only a room with the debug header says so.
    #[must_use]
    pub fn undecided_after(&self) -> Duration {
        let Trouble { healed_at, last_undecided_at, .. } = self.lock().trouble;
        match (healed_at, last_undecided_at) {
            (Some(healed), Some(last)) => last.since(healed),
            _ => Duration::ZERO,
        }
    }

    /// How many were let in before, during and after the trouble.
    #[must_use]
    pub fn admissions(&self) -> Admissions {
        self.lock().trouble.admissions
    }

    /// How often a visitor with a valid pass was kept out.
    #[must_use]
    pub fn passes_interrupted(&self) -> u64 {
        self.lock().claims.interrupted()
    }

    /// How often a place was taken away that was to be kept.
    #[must_use]
    pub fn places_lost(&self) -> u64 {
        self.lock().claims.lost()
    }

    /// How long the answers took.
    #[must_use]
    pub fn latencies(&self) -> Latencies {
        self.lock().latencies.clone()
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
    pub(super) fn lock(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Numbers from here on are drawn for requests without cookies.
const FIRST_STRANGER: u64 = 1 << 32;

#[cfg(test)]
mod tests;
