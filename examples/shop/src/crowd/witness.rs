//! The observations of all visitors, in one order.
//!
//! Visitors run concurrently, but the oracle needs one order of events. One lock, and one clock
//! that is read under this lock, establish that order.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tower_waiting_room::{
    room::event::Shuffle,
    time::{Clock, SystemClock, Timestamp},
};
use waiting_room_sim::{EventPromise, Limits, Oracle, Report, Seen, ShownPosition, VisitorNo};

use super::{
    claims::Claims,
    draw::{Draw, EventNotice, Recomputed},
    idle::{IdleSlots, Sale, SlotLog, Step},
    latencies::Latencies,
    trips::Trips,
};

mod trouble;

pub use trouble::Admissions;
pub(super) use trouble::Trouble;

/// Reports to the oracle what the visitors do and see.
///
/// A program that injects faults reports them to the witness. During a fault, latencies are
/// recorded separately. During an outage of the store, an answer still shows whether passes and
/// places are kept, but proves nothing about what the store has decided.
#[derive(Debug)]
pub struct Witness {
    view: Mutex<View>,
    /// The session duration of the room.
    session: Duration,
}

#[derive(Debug)]
pub(super) struct View {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) oracle: Oracle,
    pub(super) claims: Claims,
    pub(super) latencies: Latencies,
    pub(super) trouble: Trouble,
    pub(super) trips: Trips,
    people: People,
    pub(super) under_way: u32,
    /// In ascending order.
    waits: Vec<Duration>,
    /// The arrivals of admitted visitors, in the order of their first admissions.
    admitted: Vec<Timestamp>,
    /// The times until visitors were first shown an exact position, in ascending order.
    first_positions: Vec<Duration>,
    limited: u64,
    pub(super) refusals: u64,
    pub(super) failures: u64,
    next_stranger: u64,
    pub(super) sale: Option<SaleView>,
}

/// The additional observations of the visitors of a sale.
#[derive(Debug)]
pub(super) struct SaleView {
    promise: EventPromise,
    draw: Draw,
    slots: SlotLog,
    /// The times of arrival.
    came: HashMap<VisitorNo, Timestamp>,
}

impl View {
    /// Records a change in the state of a visitor, if slots are watched.
    pub(super) fn steps(
        &mut self,
        visitor: VisitorNo,
        now: Timestamp,
        step: impl FnOnce(Timestamp) -> Step,
    ) {
        if let Some(sale) = &mut self.sale {
            sale.slots.record(now, visitor, step(now));
        }
    }
}

/// Visitors, each counted once. For the oracle, a visitor without cookies is many visitors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct People {
    pub(super) came: u64,
    pub(super) admitted: u64,
    pub(super) refused: u64,
    pub(super) abandoned: u64,
}

/// The outcome of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It gave up waiting.
    Abandoned,
    /// It was admitted at some time.
    Admitted,
    /// It was refused.
    Refused,
}

/// The observations of a crowd from one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OneAddress {
    /// The number of requests that a rate limit refused.
    pub(super) limited: u64,
    /// The number of visitors who were shown an exact position.
    pub(super) placed: usize,
    /// The time within which 95 in 100 of them were shown it.
    pub(super) first_position_p95: Duration,
}

/// The figures that are shown during a run.
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
    /// A witness of a room that makes these promises.
    pub(super) fn new(limits: Limits) -> Self {
        let view = View {
            clock: Arc::new(SystemClock::new()),
            oracle: Oracle::new(limits),
            claims: Claims::new(&limits),
            latencies: Latencies::new(),
            trouble: Trouble::default(),
            trips: Trips::default(),
            people: People::default(),
            under_way: 0,
            waits: Vec::new(),
            admitted: Vec::new(),
            first_positions: Vec::new(),
            limited: 0,
            refusals: 0,
            failures: 0,
            next_stranger: FIRST_STRANGER,
            sale: None,
        };
        Self { view: Mutex::new(view), session: limits.session_duration }
    }

    /// A witness of a room that makes these promises about an event, too.
    pub(super) fn of_sale(limits: Limits, promise: EventPromise) -> Self {
        let witness = Self::new(limits);
        let mut view = witness.lock();
        view.oracle = Oracle::new(limits).with_event(promise);
        let draw = Draw::default();
        let slots = SlotLog::default();
        view.sale = Some(SaleView { promise, draw, slots, came: HashMap::new() });
        drop(view);
        witness
    }

    /// Records what an answer to a visitor contains about the event. Call it before the answer is
    /// recorded.
    pub(super) fn told(&self, visitor: VisitorNo, notice: &EventNotice) {
        let mut view = self.lock();
        let Some(sale) = &mut view.sale else { return };
        sale.draw.told(visitor, notice);
        if let Some(number) = notice.number {
            view.oracle.numbered(visitor, number, notice.place);
        }
    }

    /// Records an event on a push stream, which was decided after `since`.
    pub(super) fn pushed(&self, visitor: VisitorNo, since: Timestamp, seen: Seen) {
        let mut view = self.lock();
        let now = view.clock.now();
        view.oracle.pushed(visitor, since, now, seen);
    }

    /// Records that the next position of a visitor need not be lower than the last one.
    pub(super) fn shown_anew(&self, visitor: VisitorNo) {
        self.lock().oracle.shown(visitor, ShownPosition::Approximate);
    }

    /// Records a change in the state of a visitor.
    pub(super) fn steps(&self, visitor: VisitorNo, step: impl FnOnce(Timestamp) -> Step) {
        let mut view = self.lock();
        let now = view.clock.now();
        view.steps(visitor, now, step);
    }

    /// The time until which a visitor has not been at the shop or, before the start of an event,
    /// could not be told its position: from then on, it is to be told soon.
    pub(super) fn since(&self, came: Timestamp) -> Timestamp {
        self.lock().sale.as_ref().map_or(came, |sale| came.max(sale.promise.start))
    }

    /// Whether the visitors come to a sale.
    pub(super) fn is_sale(&self) -> bool {
        self.lock().sale.is_some()
    }

    /// The time for which a new pass is valid: the session, and the time after which a pass is
    /// renewed.
    pub(super) fn pass_lifetime(&self) -> Duration {
        self.session + self.session / 8
    }

    /// The current time.
    pub(super) fn now(&self) -> Timestamp {
        self.lock().clock.now()
    }

    /// The idle slots of a sale, and the recomputed draw.
    pub(super) fn sale(&self, room: &str, event: &str) -> Option<(IdleSlots, Recomputed)> {
        let view = self.lock();
        let SaleView { promise, draw, slots, came } = view.sale.as_ref()?;
        let recomputed = draw.recompute(room, event);
        let order = |visitor| {
            let place = recomputed.places.get(&visitor).copied();
            let arrival = || came.get(&visitor).copied().unwrap_or(Timestamp::MAX);
            place.map_or_else(arrival, |place| Timestamp::from_nanos(place.into()))
        };
        let sale = Sale {
            slots: promise.total_active_users,
            per_minute: promise.new_users_per_minute.unwrap_or(u32::MAX),
            from: promise.start,
            until: view.clock.now(),
        };
        Some((slots.idle(sale, order), recomputed))
    }

    /// Records the arrival of a visitor.
    pub(super) fn came(&self) {
        self.lock().people.came += 1;
    }

    /// Returns a number for a visitor who cannot be recognized.
    pub(super) fn stranger(&self) -> VisitorNo {
        let mut view = self.lock();
        view.next_stranger += 1;
        VisitorNo(view.next_stranger)
    }

    /// Records the time at which a visitor came.
    pub(super) fn came_at(&self, visitor: VisitorNo) -> Timestamp {
        let mut view = self.lock();
        let now = view.clock.now();
        if let Some(sale) = &mut view.sale {
            sale.came.insert(visitor, now);
        }
        now
    }

    /// Records the first admission of a visitor, after this wait.
    pub(super) fn waited(&self, wait: Duration) {
        let mut view = self.lock();
        let index = view.waits.partition_point(|other| *other <= wait);
        view.waits.insert(index, wait);
        let came = view.clock.now().before(wait);
        view.admitted.push(came);
    }

    /// Records that a visitor was first shown an exact position, this long after its arrival.
    pub(super) fn placed(&self, after: Duration) {
        let mut view = self.lock();
        let index = view.first_positions.partition_point(|other| *other <= after);
        view.first_positions.insert(index, after);
    }

    /// Records that a rate limit refused a request.
    pub(super) fn limited(&self) {
        self.lock().limited += 1;
    }

    /// The figures for a crowd from one address.
    pub(super) fn one_address(&self) -> OneAddress {
        let view = self.lock();
        let index = (view.first_positions.len() * 95).div_ceil(100).saturating_sub(1);
        OneAddress {
            limited: view.limited,
            placed: view.first_positions.len(),
            first_position_p95: view.first_positions.get(index).copied().unwrap_or_default(),
        }
    }

    /// Records that a visitor sends no more requests.
    pub(super) fn gave_up(&self, visitor: VisitorNo) {
        let mut view = self.lock();
        let now = view.clock.now();
        view.oracle.gave_up(visitor, now);
        view.claims.leaves(visitor);
    }

    /// Records the end of a visit.
    pub(super) fn gone(&self, fate: Fate) {
        let people = &mut self.lock().people;
        match fate {
            Fate::Abandoned => people.abandoned += 1,
            Fate::Admitted => people.admitted += 1,
            Fate::Refused => people.refused += 1,
        }
    }

    /// Records that the room was replaced by one that admits no visitor for the time `hold`.
    /// Returns false, and records nothing, while a request is under way, because either room might
    /// answer it.
    pub(super) fn restarted(&self, hold: Duration) -> bool {
        let mut view = self.lock();
        if view.under_way > 0 {
            return false;
        }
        let now = view.clock.now();
        view.oracle.restarted(now, now + hold);
        true
    }

    /// The figures so far.
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

    /// Reports that a fault begins.
    pub fn trouble_begins(&self) {
        self.lock().trouble.is_on = true;
    }

    /// Reports that the fault is over.
    pub fn trouble_is_over(&self) {
        let mut view = self.lock();
        view.trouble.is_on = false;
        view.trouble.healed_at = Some(view.clock.now());
    }

    /// Reports that an outage of the store may begin.
    pub fn store_may_be_away(&self) {
        self.lock().trouble.is_in_doubt = true;
    }

    /// Reports that the store is available again. A store that has lost its state admits no
    /// newcomer for the time `hold`.
    pub fn store_is_back(&self, hold: Option<Duration>) {
        let mut view = self.lock();
        view.trouble.is_in_doubt = false;
        if let Some(hold) = hold {
            let now = view.clock.now();
            view.oracle.restarted(now, now + hold);
        }
    }

    /// Returns how long after the fault an answer still reported an outage or an overload of the
    /// store.
    ///
    /// Only a room with the debug header reports it.
    #[must_use]
    pub fn undecided_after(&self) -> Duration {
        self.lock().trouble.undecided_after()
    }

    /// The number of admissions before, during and after the fault.
    #[must_use]
    pub fn admissions(&self) -> Admissions {
        self.lock().trouble.admissions
    }

    /// The number of times that a visitor with a valid pass was kept out.
    #[must_use]
    pub fn passes_interrupted(&self) -> u64 {
        self.lock().claims.interrupted()
    }

    /// The number of times that a place was taken away within its retention.
    #[must_use]
    pub fn places_lost(&self) -> u64 {
        self.lock().claims.lost()
    }

    /// By how much the latest arrival that was admitted before an earlier one came later than it,
    /// among the visitors that were admitted.
    #[must_use]
    pub fn out_of_order(&self) -> Duration {
        let mut latest = Timestamp::ZERO;
        let mut most = Duration::ZERO;
        for came in &self.lock().admitted {
            latest = latest.max(*came);
            most = most.max(latest.since(*came));
        }
        most
    }

    /// The calls to the store that the nodes have told.
    #[must_use]
    pub fn trips(&self) -> Trips {
        self.lock().trips
    }

    /// The response times.
    #[must_use]
    pub fn latencies(&self) -> Latencies {
        self.lock().latencies.clone()
    }

    /// The verdict on everything that was seen, with the published order of the entrants.
    pub(super) fn report(&self, order: Option<Shuffle>) -> Report {
        let view = self.lock();
        let mut oracle = view.oracle.clone();
        if let Some(order) = order {
            oracle.drawn(order);
        }
        let mut report = oracle.finish(view.clock.now());
        let People { came, admitted, refused, abandoned } = view.people;
        report.visitors = came;
        report.admitted = admitted;
        report.refused = refused;
        report.abandoned = abandoned;
        report
    }

    /// Locks the view. The oracle does not panic, so a poisoned lock means that a visitor's task
    /// did, and the view is consistent.
    pub(super) fn lock(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first number for requests without cookies.
const FIRST_STRANGER: u64 = 1 << 32;

#[cfg(test)]
mod tests;
