//! The oracle: its inputs, and the conclusions that it draws at once.

use std::time::Duration;

use rustc_hash::FxHashMap;
use waiting_room_core::Timestamp;

use super::{
    bound::Bound,
    certain::{Active, Minute},
    event::{Call, EventWatch},
    limits::{Limits, Seen, Told, VisitorNo},
    line::Line,
    order::{Admission, Fate, Order},
    pending::{Departure, Flights, Timer, Timers},
    report::{Alarm, AlarmKind, Report},
    tally::Tally,
    visitor::{Flight, Span, Visitor},
};

/// Judges a room by what its visitors saw.
///
/// The methods must be called in the order of events, with times of one clock: [`sent`](Self::sent)
/// before a request departs, the others after its answer has arrived. A time before that of the
/// last call is replaced by the time of the last call, which is sound because the call itself came
/// later. A visitor has at most one request in flight.
///
/// Memory is bounded by the visitors who have not [given up](Self::gave_up), the sessions and
/// places that others may still hold, and the events since the departure of the oldest request in
/// flight or within `place_retention`. So each request has to be answered, [pass](Self::passed) or
/// [fail](Self::failed) in the end.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_core::Timestamp;
/// use waiting_room_sim::{Limits, Oracle, Seen, VisitorNo};
///
/// let mut oracle = Oracle::new(Limits {
///     total_active_users: 1,
///     new_users_per_minute: None,
///     session_duration: Duration::from_secs(60),
///     place_retention: Duration::from_secs(300),
///     refresh_interval: Duration::from_secs(20),
/// });
/// for visitor in [VisitorNo(1), VisitorNo(2)] {
///     let sent = Timestamp::from_secs(100 + visitor.0);
///     oracle.sent(visitor, sent);
///     oracle.answered(visitor, sent + Duration::from_millis(5), Seen::Admitted);
/// }
/// let report = oracle.finish(Timestamp::from_secs(200));
/// assert_eq!(report.violations(), ["max_active"]);
/// ```
#[derive(Clone, Debug)]
pub struct Oracle {
    pub(super) limits: Limits,
    pub(super) now: Timestamp,
    pub(super) visitors: FxHashMap<VisitorNo, Visitor>,
    pub(super) flights: Flights,
    pub(super) bound: Bound,
    pub(super) timers: Timers,
    pub(super) active: Active,
    pub(super) minute: Minute,
    pub(super) line: Line,
    pub(super) order: Order,
    pub(super) tally: Tally,
    pub(super) next_serial: u64,
    /// When the room last lost its memory.
    pub(super) forgotten_at: Timestamp,
    /// The time until which the room may refuse to admit newcomers.
    pub(super) excused_until: Timestamp,
    /// The scheduled event, if there is one.
    pub(super) event: Option<EventWatch>,
}

impl Oracle {
    /// Creates an oracle that has seen no requests yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            now: Timestamp::ZERO,
            visitors: FxHashMap::default(),
            flights: Flights::default(),
            bound: Bound::new(&limits),
            timers: Timers::default(),
            active: Active::default(),
            minute: Minute::default(),
            line: Line::default(),
            order: Order::new(&limits),
            tally: Tally::new(),
            next_serial: 0,
            forgotten_at: Timestamp::ZERO,
            excused_until: Timestamp::ZERO,
            event: None,
            limits,
        }
    }

    /// Records that a request of a visitor departs; a checkout is a request too.
    pub fn sent(&mut self, visitor: VisitorNo, at: Timestamp) {
        if self.holds_back(at, Call::Sent(visitor, at)) {
            return;
        }
        if self.visitors.get(&visitor).is_some_and(|known| known.flight.is_some()) {
            self.failed(visitor, at);
        }
        let at = self.advance(at);
        self.tally.requests += 1;
        let tally = &mut self.tally;
        let known = self.visitors.entry(visitor).or_insert_with(|| {
            tally.visitors += 1;
            Visitor::new(at)
        });
        let sessionless = known.session.is_none();
        let counts_slot = known.session.is_none_or(|session| session.may_outlive_its_pass(at));
        let certain_until = known.session.map_or(Timestamp::ZERO, |session| session.certain_until);
        let counts_new = certain_until <= at;
        self.bound.change(i64::from(counts_slot), i64::from(counts_new));
        let epoch = self.bound.epoch();
        let no = self.flights.depart(Departure { visitor, sent: at, epoch });
        if !counts_new {
            self.timers.set(certain_until, Timer::MayBeNew(visitor, no));
        }
        if let Some(session) = known.session.filter(|_| !counts_slot) {
            self.timers.set(session.pass_until, Timer::MayTakeSlot(visitor, no));
        }
        known.flight = Some(Flight { no, sent: at, epoch, counts_slot, counts_new, sessionless });
    }

    /// Records that the answer to the visitor's request arrives.
    ///
    /// An answer without a request is ignored.
    pub fn answered(&mut self, visitor: VisitorNo, at: Timestamp, seen: Seen) {
        if self.holds_back(at, Call::Answered(visitor, at, seen)) {
            return;
        }
        let at = self.advance(at);
        let Some(flight) = self.visitors.get(&visitor).and_then(|known| known.flight) else {
            debug_assert!(false, "an answer follows a request");
            return;
        };
        self.tally.answers += 1;
        match seen {
            Seen::Admitted => self.admitted(visitor, flight, at),
            Seen::Refused => self.refused(visitor, flight, at),
            Seen::Waiting { interval, waiting_since, position, returned_ticket } => {
                let told = Told { interval, waiting_since, position, returned_ticket };
                self.waiting(visitor, flight, at, told);
            }
        }
        self.flights.land(flight.no);
        if let Some(known) = self.visitors.get_mut(&visitor) {
            known.flight = None;
        }
        self.settle();
    }

    /// Records that the visitor's request failed or took too long, so that the decision is unknown.
    pub fn failed(&mut self, visitor: VisitorNo, at: Timestamp) {
        if self.holds_back(at, Call::Failed(visitor, at)) {
            return;
        }
        let at = self.advance(at);
        self.may_have_left(visitor);
        self.goes_undecided(visitor, at, Limits::STRAGGLER);
    }

    /// Records that a visitor was let through with its pass, but that the answer does not tell
    /// whether its session was extended. The session certainly lasts as long as it would have
    /// without the request.
    pub fn passed(&mut self, visitor: VisitorNo, at: Timestamp) {
        if self.holds_back(at, Call::Passed(visitor, at)) {
            return;
        }
        let at = self.advance(at);
        let known = self.visitors.get(&visitor);
        self.tally.answers += u64::from(known.is_some_and(|known| known.flight.is_some()));
        self.goes_undecided(visitor, at, Limits::LATE_RENEWAL);
    }

    /// The request in flight may have been a checkout, so the visitor is certainly active only
    /// until the request departed.
    fn may_have_left(&mut self, visitor: VisitorNo) {
        let Some(known) = self.visitors.get_mut(&visitor) else { return };
        let Some(Flight { sent, .. }) = known.flight else { return };
        if let Some(session) = known.session.as_mut() {
            session.certain_until = session.certain_until.min(sent);
        }
        if let Some(activity) = known.activity {
            self.active.cut(activity, sent);
        }
    }

    /// Ends the request in flight. Its decision remains unknown, and may still be made within the
    /// time `stray`.
    fn goes_undecided(&mut self, visitor: VisitorNo, at: Timestamp, stray: Duration) {
        let stray_until = at + stray;
        let held_until = stray_until + self.limits.longest_hold();
        let Some(known) = self.visitors.get_mut(&visitor) else { return };
        let Some(flight) = known.flight.take() else { return };
        self.flights.land(flight.no);
        known.unresolved_since.get_or_insert(flight.sent);
        match known.session.as_mut() {
            Some(session) if !flight.counts_slot => {
                session.possible_until = session.possible_until.max(held_until);
                session.unheard_until = session.unheard_until.max(held_until);
            }
            _ => self.timers.set(held_until, Timer::StraySlot),
        }
        let may_be_new = known.session.is_none_or(|session| session.certain_until < stray_until);
        if may_be_new {
            if !flight.counts_new {
                self.bound.change(0, 1);
            }
            self.timers.set(stray_until + Limits::MINUTE, Timer::LeaveMinute);
            self.order.record(Admission {
                decided: Span { from: flight.sent, to: at },
                arrived: known.arrived.from,
                present: None,
                fate: Fate::Stray,
            });
        } else if flight.counts_new {
            self.bound.change(0, -1);
        }
        if let Some(present) = known.place.as_mut().and_then(|place| place.present.as_mut()) {
            present.to = present.to.min(flight.sent);
        }
        if known.place.is_some() || known.refused {
            let until = stray_until + self.limits.longest_presence();
            self.stands_until(visitor, until);
        }
        self.settle();
    }

    /// Records that a checkout which departed at `sent_at` was answered: the session, or the place,
    /// is over.
    ///
    /// Call it instead of [`answered`](Self::answered). The departure is recorded with
    /// [`sent`](Self::sent), as for any other request.
    pub fn left(&mut self, visitor: VisitorNo, sent_at: Timestamp, at: Timestamp) {
        if self.holds_back(at, Call::Left(visitor, sent_at, at)) {
            return;
        }
        let at = self.advance(at);
        let Some(known) = self.visitors.get_mut(&visitor) else { return };
        let sent_at = known.flight.map_or(sent_at, |flight| flight.sent.min(sent_at));
        let flight = known.flight.take();
        let mut holders = 0;
        if let Some(flight) = flight {
            self.tally.answers += 1;
            self.flights.land(flight.no);
            holders -= i64::from(flight.counts_slot);
            if flight.counts_new {
                // The request may have admitted the visitor again before it ended the session.
                self.timers.set(at + Limits::MINUTE, Timer::LeaveMinute);
                self.order.record(Admission {
                    decided: Span { from: flight.sent, to: at },
                    arrived: known.arrived.from,
                    present: None,
                    fate: Fate::Possible,
                });
            }
        }
        match known.session.take() {
            Some(session) if flight.is_some_and(|flight| flight.counts_slot) => {
                // The pass had lapsed, so the checkout may have ended another slot than this one.
                self.timers.set(session.possible_until, Timer::StraySlot);
            }
            session => holders -= i64::from(session.is_some()),
        }
        if let Some(activity) = known.activity {
            self.active.cut(activity, sent_at);
        }
        known.place = None;
        known.unresolved_since = None;
        if let Some(standing) = known.standing.take() {
            self.line.step_out(visitor, standing, at);
        }
        self.bound.change(holders, 0);
        self.settle();
    }

    /// Records that the visitor closes the tab for good, without a checkout.
    pub fn gave_up(&mut self, visitor: VisitorNo, at: Timestamp) {
        if self.holds_back(at, Call::GaveUp(visitor, at)) {
            return;
        }
        self.failed(visitor, at);
        let Some(known) = self.visitors.get_mut(&visitor) else { return };
        if !known.gave_up && !known.let_in {
            self.tally.refused += u64::from(known.refused);
            self.tally.abandoned += u64::from(!known.refused);
        }
        known.gave_up = true;
        self.forget_if_over(visitor);
    }

    /// Records that the room was replaced by one without memory, which admits no newcomers until
    /// `holds_until`.
    ///
    /// Call it when the new room begins to answer and the old one no longer does. The limits are
    /// judged as before, and so are the places and sessions of visitors who return. But the new
    /// room knows that a visitor is present in the line only after its next check-in.
    pub fn restarted(&mut self, at: Timestamp, holds_until: Timestamp) {
        if self.holds_back(at, Call::Restarted(at, holds_until)) {
            return;
        }
        self.forgotten_at = self.advance(at);
        self.excused_until = holds_until;
    }

    /// Ends the observation and returns the report. Requests in flight count as
    /// [failed](Self::failed).
    #[must_use]
    pub fn finish(mut self, at: Timestamp) -> Report {
        self.goes_undrawn();
        let under_way: Vec<_> = self.flights.visitors().collect();
        for visitor in under_way {
            self.failed(visitor, at);
        }
        self.advance(at);
        self.active.settle(Timestamp::MAX);
        let event = self.event_report();
        Report { event, ..self.tally.report(&self.limits, &self.active, &self.minute) }
    }

    pub(super) fn alarm(&mut self, kind: AlarmKind, visitor: VisitorNo, decided: Span) {
        let Span { from: sent, to: answered } = decided;
        self.tally.alarm(Alarm { kind, visitor, sent, answered });
    }

    /// Returns for how long a visitor counts as present: one and a half intervals.
    pub(super) fn presence(interval: Duration) -> Duration {
        interval * 3 / 2
    }
}
