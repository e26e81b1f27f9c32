//! The observations of all visitors, in one order.
//!
//! Visitors run concurrently, but the oracle needs one order of events. One lock, and one clock
//! that is read under this lock, establish that order.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tower_waiting_room::time::{Clock, SystemClock, Timestamp};
use waiting_room_sim::{EventPromise, Limits, Oracle, Report, VisitorNo};

use crate::{
    claims::Claims,
    draw::{Draw, EventNotice, Recomputed},
    latencies::Latencies,
    trips::Trips,
};

mod trouble;

pub use trouble::Admissions;
pub(crate) use trouble::Trouble;

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
pub(crate) struct View {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) oracle: Oracle,
    pub(crate) claims: Claims,
    pub(crate) latencies: Latencies,
    pub(crate) trouble: Trouble,
    pub(crate) trips: Trips,
    people: People,
    /// In ascending order.
    waits: Vec<Duration>,
    /// The arrivals of admitted visitors, in the order of their first admissions.
    admitted: Vec<Timestamp>,
    pub(crate) refusals: u64,
    pub(crate) failures: u64,
    next_stranger: u64,
    event: Option<WatchedEvent>,
}

/// A scheduled event to which the visitors come.
#[derive(Debug)]
struct WatchedEvent {
    room: String,
    name: String,
    draw: Draw,
}

/// Visitors, each counted once. For the oracle, a visitor without cookies is many visitors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct People {
    pub(crate) came: u64,
    pub(crate) admitted: u64,
    pub(crate) refused: u64,
    pub(crate) abandoned: u64,
}

/// The outcome of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It gave up waiting.
    Abandoned,
    /// It was admitted at some time.
    Admitted,
    /// It was refused.
    Refused,
}

impl Witness {
    /// A witness of a room that makes these promises.
    pub(crate) fn new(limits: Limits) -> Self {
        let view = View {
            clock: Arc::new(SystemClock::new()),
            oracle: Oracle::new(limits),
            claims: Claims::new(&limits),
            latencies: Latencies::new(),
            trouble: Trouble::default(),
            trips: Trips::default(),
            people: People::default(),
            waits: Vec::new(),
            admitted: Vec::new(),
            refusals: 0,
            failures: 0,
            next_stranger: FIRST_STRANGER,
            event: None,
        };
        Self { view: Mutex::new(view), session: limits.session_duration }
    }

    /// Expects the event with this name in this room, which makes these promises.
    pub(crate) fn expects(&self, room: &str, event: &str, promise: EventPromise) {
        let mut view = self.lock();
        view.oracle = view.oracle.clone().with_event(promise);
        let room = room.to_owned();
        view.event = Some(WatchedEvent { room, name: event.to_owned(), draw: Draw::default() });
    }

    /// Records what an answer to a visitor contains about the event. Call it before the answer is
    /// recorded.
    pub(crate) fn told(&self, visitor: VisitorNo, notice: &EventNotice) {
        let mut view = self.lock();
        let Some(event) = &mut view.event else { return };
        event.draw.told(visitor, notice);
        if let Some(number) = notice.number {
            view.oracle.numbered(visitor, number, notice.place);
        }
    }

    /// The draw of the event, recomputed for each entrant from nothing but what was published.
    #[must_use]
    pub fn recomputed(&self) -> Option<Recomputed> {
        let view = self.lock();
        let WatchedEvent { room, name, draw } = view.event.as_ref()?;
        Some(draw.recompute(room, name))
    }

    /// The time for which a new pass is valid: the session, and the time after which a pass is
    /// renewed.
    pub(crate) fn pass_lifetime(&self) -> Duration {
        self.session + self.session / 8
    }

    /// Records the arrival of a visitor.
    pub(crate) fn came(&self) {
        self.lock().people.came += 1;
    }

    /// Returns a number for a visitor who cannot be recognized.
    pub(crate) fn stranger(&self) -> VisitorNo {
        let mut view = self.lock();
        view.next_stranger += 1;
        VisitorNo(view.next_stranger)
    }

    /// Records the first admission of a visitor, after this wait.
    pub(crate) fn waited(&self, wait: Duration) {
        let mut view = self.lock();
        let index = view.waits.partition_point(|other| *other <= wait);
        view.waits.insert(index, wait);
        let came = view.clock.now().before(wait);
        view.admitted.push(came);
    }

    /// Records that a visitor sends no more requests.
    pub(crate) fn gave_up(&self, visitor: VisitorNo) {
        let mut view = self.lock();
        let now = view.clock.now();
        view.oracle.gave_up(visitor, now);
        view.claims.leaves(visitor);
    }

    /// Records the end of a visit.
    pub(crate) fn gone(&self, fate: Fate) {
        let people = &mut self.lock().people;
        match fate {
            Fate::Abandoned => people.abandoned += 1,
            Fate::Admitted => people.admitted += 1,
            Fate::Refused => people.refused += 1,
        }
    }

    /// The figures so far, in one line.
    pub(crate) fn progress(&self) -> String {
        let view = self.lock();
        let [half, most] = [50, 95].map(|percent| {
            let index = (view.waits.len() * percent).div_ceil(100).saturating_sub(1);
            view.waits.get(index).map_or(0.0, Duration::as_secs_f64)
        });
        let View { people, waits, refusals, failures, .. } = &*view;
        format!(
            "{} came, {} let in, waited p50 {half:.0} s, p95 {most:.0} s, refusals {refusals}, no \
             answer {failures}",
            people.came,
            waits.len(),
        )
    }

    /// The number of requests without an answer.
    pub(crate) fn failures(&self) -> u64 {
        self.lock().failures
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

    /// The longest time by which an admitted visitor arrived later than another one that was
    /// admitted after it.
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

    /// The calls to the store that the nodes have reported.
    #[must_use]
    pub fn trips(&self) -> Trips {
        self.lock().trips
    }

    /// The response times.
    #[must_use]
    pub fn latencies(&self) -> Latencies {
        self.lock().latencies.clone()
    }

    /// The verdict on everything that was seen.
    pub(crate) fn report(&self) -> Report {
        let order = self.recomputed().and_then(|draw| draw.order);
        let view = self.lock();
        let mut oracle = view.oracle.clone();
        order.into_iter().for_each(|order| oracle.drawn(order));
        let mut report = oracle.finish(view.clock.now());
        let People { came, admitted, refused, abandoned } = view.people;
        report.visitors = came;
        report.admitted = admitted;
        report.refused = refused;
        report.abandoned = abandoned;
        report
    }

    /// Locks the view. The oracle never panics while it changes the view. If the lock is poisoned,
    /// a visitor's task has panicked, and the view is still consistent.
    pub(crate) fn lock(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first number for requests without cookies.
const FIRST_STRANGER: u64 = 1 << 32;

#[cfg(test)]
mod tests;
