//! Conclusions from an answer that admits a visitor, or refuses it.

use waiting_room_core::Timestamp;

use super::{
    judge::Oracle,
    limits::{Limits, VisitorNo},
    order::{Admission, Fate},
    pending::Timer,
    report::AlarmKind,
    visitor::{Flight, Session, Span},
};

impl Oracle {
    /// Records that the visitor was admitted, or is still active.
    pub(super) fn admitted(&mut self, visitor: VisitorNo, flight: Flight, at: Timestamp) {
        self.judge_start(visitor, flight, at);
        self.leaves_draw(visitor, at);
        let serial = self.next_serial;
        let allowed = self.allowed_by(visitor, flight, at);
        let Some(known) = self.visitors.get_mut(&visitor) else { return };
        if !known.let_in {
            known.let_in = true;
            self.tally.admitted += 1;
            self.tally.waited(at.since(known.first_sent));
        }
        let certain_until = flight.sent + self.limits.session_duration;
        let renewed_by = if at > flight.sent { at + Limits::LATE_RENEWAL } else { at };
        let possible_until = renewed_by + self.limits.longest_hold();
        match known.session.as_mut() {
            Some(session) if !flight.counts_slot => {
                session.certain_until = session.certain_until.max(certain_until);
                session.pass_until = session.pass_until.max(certain_until);
                session.possible_until = session.possible_until.max(possible_until);
            }
            // From now on, the slot that the request counted for is that of the session.
            before => {
                if let Some(before) = before {
                    self.timers.set(before.possible_until, Timer::StraySlot);
                }
                known.session = Some(Session {
                    serial,
                    certain_until,
                    pass_until: certain_until,
                    unheard_until: Timestamp::ZERO,
                    possible_until,
                });
                self.next_serial += 1;
                self.timers.set(possible_until, Timer::Session(visitor, serial));
            }
        }
        known.activity = Some(match known.activity {
            Some(activity) => self.active.extend(activity, at, certain_until, allowed.active),
            None => self.active.begin(at, certain_until, allowed.active),
        });
        if flight.counts_new {
            // The request in flight becomes an admission of this minute.
            self.timers.set(at + Limits::MINUTE, Timer::LeaveMinute);
            let from = known.unresolved_since.unwrap_or(flight.sent);
            let decided = Span { from, to: at };
            let present = known.presence_since(self.forgotten_at);
            let fate = if flight.sessionless { Fate::Certain } else { Fate::Possible };
            if fate == Fate::Certain {
                self.minute.record(decided, allowed.new);
            }
            self.order.record(Admission { decided, arrived: known.arrived.from, present, fate });
        }
        known.place = None;
        known.refused = false;
        known.unresolved_since = None;
        if let Some(standing) = known.standing.take() {
            self.line.step_out(visitor, standing, at);
        }
    }

    /// Records that the visitor was refused.
    pub(super) fn refused(&mut self, visitor: VisitorNo, flight: Flight, at: Timestamp) {
        let decided = Span { from: flight.sent, to: at };
        self.shut_out(visitor, decided);
        let Some(known) = self.visitors.get_mut(&visitor) else { return };
        let kept = known.place.is_some_and(|place| {
            place.second_touch && at < place.kept_from + self.limits.place_retention
        });
        let is_lost = kept && known.unresolved_since.is_none();
        known.refused = true;
        known.place = None;
        // It may return with a ticket that keeps its arrival, or as a new visitor.
        known.arrived.to = at;
        if let Some(standing) = known.standing.take() {
            self.line.step_out(visitor, standing, standing.until.max(at));
        }
        self.bound.change(-i64::from(flight.counts_slot), -i64::from(flight.counts_new));
        if is_lost {
            self.alarm(AlarmKind::LostPlace, visitor, decided);
        }
    }

    /// Raises an alarm if the visitor certainly had a session, since its request must then be
    /// admitted.
    pub(super) fn shut_out(&mut self, visitor: VisitorNo, decided: Span) {
        let Some(known) = self.visitors.get_mut(&visitor) else { return };
        let Some(session) = known.session.as_mut() else { return };
        if decided.to < session.certain_until {
            session.certain_until = decided.from;
            if let Some(activity) = known.activity {
                self.active.cut(activity, decided.from);
            }
            self.alarm(AlarmKind::LostPlace, visitor, decided);
        }
    }
}
