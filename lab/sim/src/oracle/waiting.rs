//! Conclusions from an answer that makes a visitor wait.

use std::time::Duration;

use waiting_room_core::Timestamp;

use super::{
    event::Call,
    judge::Oracle,
    limits::{ShownPosition, Told, VisitorNo},
    order::{Admission, Waiter},
    report::AlarmKind,
    visitor::{Flight, Place, Span, Visitor},
};

impl Oracle {
    /// Records that the visitor has to wait.
    pub(super) fn waiting(
        &mut self,
        visitor: VisitorNo,
        flight: Flight,
        at: Timestamp,
        told: Told,
    ) {
        let decided = Span { from: flight.sent, to: at };
        self.shut_out(visitor, decided);
        self.judge_place(visitor, decided, told);
        let Some(known) = self.visitors.get_mut(&visitor) else { return };
        let kept_for = known.place.map_or(Duration::ZERO, |place| self.limits.kept_for(&place));
        known.arrived = arrival(known, decided, told, kept_for);
        let is_early = known.place.is_some_and(|place| decided.from < place.due_by);
        if !is_early {
            self.judge_order(visitor, decided);
            self.judge_freedom(visitor, flight, decided);
        }
        self.bound.change(-i64::from(flight.counts_slot), -i64::from(flight.counts_new));
        self.take_place(visitor, decided, told, is_early);
    }

    /// Checks whether the place was taken away, or the shown position has risen.
    fn judge_place(&mut self, visitor: VisitorNo, decided: Span, told: Told) {
        let Some(known) = self.visitors.get(&visitor) else { return };
        let Some(place) = known.place.filter(|_| told.returned_ticket) else { return };
        let same = place.waiting_since == told.waiting_since;
        let kept = decided.to < place.kept_from + self.limits.kept_for(&place)
            && known.unresolved_since.is_none();
        let lost = kept && !same && place.waiting_since.is_some() && told.waiting_since.is_some();
        let rises = match (place.position, told.position) {
            (Some(before), ShownPosition::Exact(now)) => now > before,
            _ => false,
        };
        if lost {
            self.alarm(AlarmKind::LostPlace, visitor, decided);
        }
        if rises && same && (kept || told.waiting_since.is_some()) {
            self.alarm(AlarmKind::PositionRise, visitor, decided);
        }
    }

    /// Checks whether a later visitor was admitted first.
    fn judge_order(&mut self, visitor: VisitorNo, decided: Span) {
        let Some(known) = self.visitors.get(&visitor) else { return };
        let Some((place, present)) = known.place.and_then(|place| Some((place, place.present?)))
        else {
            return;
        };
        if !place.second_touch || place.kept_from <= self.forgotten_at {
            return;
        }
        // The slot that was left for the visitor may have been taken back since its last check-in.
        let since = Span { from: place.checked_in_by, to: decided.to };
        if self.event.as_ref().is_some_and(|event| event.takes_back_slots_in(since)) {
            return;
        }
        let waiter = Waiter {
            arrived: known.arrived.to,
            answered: place.checked_in_by,
            decided,
            present_until: present.to,
        };
        let unsettled = |later: &Admission| {
            self.flights.visitors().filter(|&other| other != visitor).any(|other| {
                self.visitors.get(&other).is_some_and(|other| {
                    let present = other.presence_since(self.forgotten_at);
                    leaves_open(other, present, &waiter, later)
                })
            })
        };
        if self.order.was_overtaken(&waiter, unsettled) {
            self.alarm(AlarmKind::OrderInversion, visitor, decided);
        }
    }

    /// Checks whether a slot was free for this visitor all the time.
    fn judge_freedom(&mut self, visitor: VisitorNo, flight: Flight, decided: Span) {
        if !flight.sessionless
            || !flight.counts_new
            || decided.from < self.excused_until
            || self.is_closed_in(decided)
        {
            return;
        }
        let Some(known) = self.visitors.get(&visitor) else { return };
        // The request itself counts as one of those that may have taken a slot.
        let free = self.bound.lowest_since(flight.epoch).saturating_add(1);
        if free > 0
            && self.line.has_fewer_before(free, known.arrived.to, known.standing)
            && self.has_fewer_entrants_before(free, visitor, decided)
        {
            self.alarm(AlarmKind::QueuedWhileFree, visitor, decided);
        }
    }

    /// Records the place as the answer describes it.
    fn take_place(&mut self, visitor: VisitorNo, decided: Span, told: Told, is_early: bool) {
        let presence = Self::presence(told.interval);
        let forgotten_at = self.forgotten_at;
        let will_be_drawn = self.will_be_drawn_in(decided);
        let Some(known) = self.visitors.get_mut(&visitor) else { return };
        let before = known.place.filter(|_| told.returned_ticket);
        let same_place = before.filter(|place| place.waiting_since == told.waiting_since);
        // A request that failed may have used up the ticket. Then this was a first touch again,
        // unless the answer shows that the place is the old one.
        let is_same = same_place.is_some_and(|place| place.waiting_since.is_some());
        let is_placed =
            told.returned_ticket && !is_early && (known.unresolved_since.is_none() || is_same);
        let second_touch = is_placed || same_place.is_some_and(|place| place.second_touch);
        let certain_until = decided.from + presence;
        let present = match known.presence_since(forgotten_at).filter(|_| told.returned_ticket) {
            Some(old) if is_early => Some(Span { to: old.to.min(certain_until), ..old }),
            Some(old) if decided.to < old.to => Some(Span { from: old.from, to: certain_until }),
            _ if !is_placed || decided.from <= forgotten_at => None,
            _ => Some(Span { from: decided.to, to: certain_until }),
        };
        let early_in = before.filter(|_| is_early);
        known.place = Some(Place {
            waiting_since: told.waiting_since,
            position: match told.position {
                ShownPosition::Approximate => None,
                ShownPosition::Exact(position) => Some(position),
                // The position before a draw says nothing about the one after it.
                ShownPosition::None if will_be_drawn => None,
                ShownPosition::None => same_place.and_then(|place| place.position),
            },
            second_touch,
            checked_in_by: early_in.map_or(decided.to, |place| place.checked_in_by),
            kept_from: early_in.map_or(decided.from, |place| place.kept_from),
            due_by: decided.to + told.interval,
            present,
        });
        known.refused = false;
        if !is_early {
            known.unresolved_since = None;
        }
        if told.returned_ticket {
            self.stands_until(visitor, decided.to + presence);
        }
    }

    /// Records the position in an answer that does not reveal a decision of the room, such as one
    /// from a node that cannot reach its store. Rises are measured from the last position shown.
    pub fn shown(&mut self, visitor: VisitorNo, position: ShownPosition) {
        if self.holds_back(Timestamp::ZERO, Call::Shown(visitor, position)) {
            return;
        }
        let place = self.visitors.get_mut(&visitor).and_then(|known| known.place.as_mut());
        match (place, position) {
            (Some(place), ShownPosition::Approximate) => place.position = None,
            (Some(place), ShownPosition::Exact(position)) => place.position = Some(position),
            (_, ShownPosition::None) | (None, _) => {}
        }
    }

    /// Records that the visitor may be present in the line until `until`.
    pub(super) fn stands_until(&mut self, visitor: VisitorNo, until: Timestamp) {
        let Some(known) = self.visitors.get_mut(&visitor) else { return };
        let arrived = known.arrived.from;
        match known.standing.as_mut() {
            Some(standing) if standing.arrived == arrived => {
                standing.until = standing.until.max(until);
            }
            old => {
                if let Some(old) = old {
                    self.line.step_out(visitor, *old, old.until);
                }
                known.standing = Some(self.line.stand(visitor, arrived, until));
            }
        }
    }
}

/// Returns when the visitor took its present place in the order of arrival.
fn arrival(known: &Visitor, decided: Span, told: Told, kept_for: Duration) -> Span {
    let since = known.unresolved_since.unwrap_or(decided.from);
    let newly = Span { from: since, to: decided.to };
    let Some(place) = known.place.filter(|_| told.returned_ticket) else {
        // Without a ticket, or after a session, it is a new visitor. After a refusal it may have
        // returned with the ticket that the refusal carried.
        return if told.returned_ticket && known.refused {
            Span { to: decided.to, ..known.arrived }
        } else {
            newly
        };
    };
    match (place.waiting_since, told.waiting_since) {
        (Some(before), Some(now)) if before == now => known.arrived,
        (Some(_), Some(_)) => newly,
        _ if decided.to < place.kept_from + kept_for && known.unresolved_since.is_none() => {
            known.arrived
        }
        _ => Span { to: decided.to, ..known.arrived },
    }
}

/// Whether the request that another visitor has in flight may have taken the slot that was left
/// for the waiter at the admission `later`.
fn leaves_open(other: &Visitor, present: Option<Span>, waiter: &Waiter, later: &Admission) -> bool {
    let may_be_let_in = other.flight.is_some_and(|flight| flight.counts_new);
    let was_counted =
        other.arrived.from > waiter.arrived || later.counted(present, waiter.decided.to);
    may_be_let_in && !(waiter.is_attended() && was_counted)
}
