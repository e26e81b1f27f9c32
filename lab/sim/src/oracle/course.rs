//! Conclusions about a scheduled event: early admissions, and the drawn order.
//!
//! From the start on, the time of arrival of an entrant is replaced by its place, as a time shortly
//! after the epoch. All entrants are thus ahead of all other visitors, in the order of the draw;
//! everything else is concluded as before.
//!
//! Just after the start, the room reserves slots for entrants that have not checked in yet. Until
//! all of them have had their turn, each entrant with a better place counts as ahead, unless it has
//! certainly been admitted.

use std::time::Duration;

use waiting_room_core::{Timestamp, room::event::Shuffle};

use super::{
    event::{Allowed, Call, Draw, EventPromise, EventWatch},
    judge::Oracle,
    limits::VisitorNo,
    pending::Timer,
    report::{AlarmKind, EventReport},
    visitor::{Flight, Span, Visitor},
};

impl Oracle {
    /// Announces a scheduled event. Call it before the prequeue.
    #[must_use]
    pub fn with_event(mut self, promise: EventPromise) -> Self {
        self.timers.set(promise.prequeue_start, Timer::EventBegins);
        self.timers.set(promise.start, Timer::EventStarts);
        self.timers.set(promise.end, Timer::EventEnds);
        self.event = Some(EventWatch::new(promise));
        self
    }

    /// Records the visitor's number in the draw, and its place if there is one, as an answer to the
    /// visitor states them. Call it before the oracle learns of that answer.
    pub fn numbered(&mut self, visitor: VisitorNo, number: u32, place: Option<u32>) {
        // An answer with a place was given after the start, even if it is the first one.
        let at = place.map_or(Timestamp::ZERO, |_| Timestamp::MAX);
        if self.holds_back(at, Call::Numbered(visitor, number, place)) {
            return;
        }
        let Some(event) = &mut self.event else { return };
        let has_started = self.now >= event.promise.start;
        if let Some(place) = event.numbered(visitor, number, place).filter(|_| has_started) {
            self.takes_order(visitor, at_place(place));
        }
    }

    /// Records the order of the entrants, as answers after the start publish it. Only the first call
    /// has an effect.
    pub fn drawn(&mut self, shuffle: Shuffle) {
        self.ends_wait_for_draw(Draw::Known(Box::new(shuffle)));
    }

    /// Whether the draw has not been published yet, so that nothing after the start is judged.
    #[must_use]
    pub fn awaits_draw(&self) -> bool {
        self.event.as_ref().is_some_and(|event| matches!(event.draw, Draw::Unknown(_)))
    }

    /// Gives up waiting for the draw.
    pub(super) fn goes_undrawn(&mut self) {
        self.ends_wait_for_draw(Draw::None);
    }

    /// Keeps a call until the draw is known, if it belongs to the time after the start.
    pub(super) fn holds_back(&mut self, at: Timestamp, call: Call) -> bool {
        let Some(EventWatch { promise, draw: Draw::Unknown(held), .. }) = &mut self.event else {
            return false;
        };
        let is_after = !held.is_empty() || promise.start <= at;
        if is_after {
            held.push(call);
        }
        is_after
    }

    /// Repeats the calls that were held back.
    fn ends_wait_for_draw(&mut self, draw: Draw) {
        let Some(event) = &mut self.event else { return };
        let Draw::Unknown(held) = &mut event.draw else { return };
        let held = std::mem::take(held);
        event.draw = draw;
        for call in held {
            match call {
                Call::Answered(visitor, at, seen) => self.answered(visitor, at, seen),
                Call::Failed(visitor, at) => self.failed(visitor, at),
                Call::GaveUp(visitor, at) => self.gave_up(visitor, at),
                Call::Left(visitor, sent_at, at) => self.left(visitor, sent_at, at),
                Call::Numbered(visitor, number, place) => self.numbered(visitor, number, place),
                Call::Passed(visitor, at) => self.passed(visitor, at),
                Call::Restarted(at, holds_until) => self.restarted(at, holds_until),
                Call::Sent(visitor, at) => self.sent(visitor, at),
                Call::Shown(visitor, position) => self.shown(visitor, position),
            }
        }
    }

    pub(super) fn event_begins(&mut self) {
        if let Some(EventWatch { promise, .. }) = &self.event {
            self.bound.limit(promise.total_active_users, promise.new_users_per_minute);
        }
    }

    pub(super) fn event_ends(&mut self) {
        self.bound.limit(self.limits.total_active_users, self.limits.new_users_per_minute);
    }

    /// Puts the entrants into the drawn order.
    pub(super) fn event_starts(&mut self, at: Timestamp) {
        let Some(event) = self.event.as_mut().filter(|event| event.promise.is_drawn) else {
            return;
        };
        let begin = event.promise.prequeue_start;
        let mut orders = Vec::new();
        for (&visitor, known) in self.visitors.iter().filter(|(_, known)| known.session.is_none()) {
            match event.place_of(visitor) {
                Some(place) => orders.push((visitor, at_place(place))),
                // Its number, if it has one, is not known, so it may have any place.
                None if may_be_entrant(known, begin) => {
                    orders.push((visitor, Span { from: Timestamp::ZERO, ..known.arrived }));
                }
                None => {}
            }
        }
        for (visitor, order) in orders {
            self.takes_order(visitor, order);
        }
        self.now = self.now.max(at);
    }

    /// Replaces the order of arrival of a visitor.
    fn takes_order(&mut self, visitor: VisitorNo, order: Span) {
        let Some(known) = self.visitors.get_mut(&visitor) else { return };
        known.arrived = order;
        if let Some(standing) = known.standing.take() {
            self.line.step_out(visitor, standing, self.now);
            known.standing = Some(self.line.stand(visitor, order.from, standing.until));
        }
    }

    /// Checks whether a visitor was admitted before the start.
    pub(super) fn judge_start(&mut self, visitor: VisitorNo, flight: Flight, at: Timestamp) {
        let Some(EventWatch { promise, .. }) = &self.event else { return };
        let known = self.visitors.get(&visitor);
        let is_new =
            flight.sessionless && known.is_some_and(|known| known.unresolved_since.is_none());
        if is_new && promise.prequeue_start <= flight.sent && at < promise.start {
            self.alarm(AlarmKind::EventEarly, visitor, Span { from: flight.sent, to: at });
        }
    }

    /// Records that the number of an admitted visitor is used up.
    pub(super) fn leaves_draw(&mut self, visitor: VisitorNo, at: Timestamp) {
        if let Some(event) = self.event.as_mut().filter(|event| event.promise.start <= at) {
            event.leaves(visitor, at);
        }
    }

    /// The limits when a visitor was admitted.
    pub(super) fn allowed_by(&self, visitor: VisitorNo, flight: Flight, at: Timestamp) -> Allowed {
        let own = Allowed::own(&self.limits);
        let Some(event) = &self.event else { return own };
        let unresolved = self.visitors.get(&visitor).and_then(|known| known.unresolved_since);
        // A session may have begun at any time, under any limits.
        let from =
            if flight.sessionless { unresolved.unwrap_or(flight.sent) } else { Timestamp::ZERO };
        event.allowed(Span { from, to: at }, own)
    }

    /// Whether the room may have been closed to all visitors when this was decided.
    pub(super) fn is_closed_in(&self, decided: Span) -> bool {
        self.event.as_ref().is_some_and(|event| event.is_closed_in(decided))
    }

    /// Whether the order of the line may have been unknown when this was decided.
    pub(super) fn will_be_drawn_in(&self, decided: Span) -> bool {
        let event = self.event.as_ref().filter(|event| event.promise.is_drawn);
        event.is_some_and(|event| event.is_closed_in(decided))
    }

    /// Whether fewer than `bound` entrants may count as ahead of a visitor who was told to wait.
    pub(super) fn has_fewer_entrants_before(
        &mut self,
        bound: i64,
        visitor: VisitorNo,
        decided: Span,
    ) -> bool {
        let retention = self.limits.longest_interval() * 3 / 2;
        let Some(event) = self.event.as_mut().filter(|event| event.promise.is_drawn) else {
            return true;
        };
        if decided.from < event.promise.start {
            return true;
        }
        let settled_at = *event.settled_at.get_or_insert(decided.to + retention + SLACK);
        if settled_at <= decided.from {
            return true;
        }
        match event.place_of(visitor) {
            Some(place) => {
                i64::try_from(event.ahead_of(place, decided.from)).is_ok_and(|ahead| ahead < bound)
            }
            None => {
                let known = self.visitors.get(&visitor);
                known.is_some_and(|known| event.promise.start <= known.arrived.from)
            }
        }
    }

    pub(super) fn event_report(&self) -> Option<EventReport> {
        let event_early = self.tally.of_kind(AlarmKind::EventEarly);
        self.event.as_ref().map(|event| EventReport { event_early, ..event.report })
    }
}

/// The order of the entrant at this place. All places are before all times of arrival.
fn at_place(place: u32) -> Span {
    let order = Timestamp::from_nanos(place.into());
    Span { from: order, to: order }
}

/// Whether a visitor may have been assigned a number since `begin` without having been told.
fn may_be_entrant(known: &Visitor, begin: Timestamp) -> bool {
    known.flight.is_some()
        || known.unresolved_since.is_some()
        || known.place.is_some_and(|place| place.second_touch && begin <= place.checked_in_by)
}

/// How much later than the first answer after the start the room may begin to wait for entrants.
const SLACK: Duration = Duration::from_secs(1);
