//! The passage of time: slots lapse, minutes pass, and conclusions are drawn once no request can
//! change them.

use waiting_room_core::Timestamp;

use super::{judge::Oracle, limits::VisitorNo, pending::Timer, visitor::Visitor};

impl Oracle {
    /// Advances the time to `at`, if that is later, and returns the present time.
    pub(super) fn advance(&mut self, at: Timestamp) -> Timestamp {
        self.now = self.now.max(at);
        while let Some((at, timer)) = self.timers.pop_due(self.now) {
            self.expire(at, timer);
        }
        if self.flights.oldest().is_none() {
            self.settle();
        }
        self.now
    }

    fn expire(&mut self, at: Timestamp, timer: Timer) {
        match timer {
            Timer::EventBegins => self.event_begins(),
            Timer::EventEnds => self.event_ends(),
            Timer::EventStarts => self.event_starts(at),
            Timer::LeaveMinute => self.bound.change(0, -1),
            Timer::StraySlot => self.bound.change(-1, 0),
            Timer::MayBeNew(visitor, no) => {
                let flight =
                    self.visitors.get_mut(&visitor).and_then(|known| known.flight.as_mut());
                if let Some(flight) = flight.filter(|flight| flight.no == no && !flight.counts_new)
                {
                    flight.counts_new = true;
                    self.bound.change(0, 1);
                }
            }
            Timer::MayTakeSlot(visitor, no) => {
                let Some(known) = self.visitors.get_mut(&visitor) else { return };
                let Some(session) = known.session else { return };
                let flight =
                    known.flight.as_mut().filter(|flight| flight.no == no && !flight.counts_slot);
                if let Some(flight) = flight.filter(|_| session.may_outlive_its_pass(at)) {
                    flight.counts_slot = true;
                    self.bound.change(1, 0);
                }
            }
            Timer::Session(visitor, serial) => self.lapse(visitor, serial, at),
        }
    }

    /// Ends a session that has certainly lapsed by now; checks again later if the session may
    /// continue.
    fn lapse(&mut self, visitor: VisitorNo, serial: u64, at: Timestamp) {
        let Some(known) = self.visitors.get_mut(&visitor) else { return };
        let Some(session) = known.session.filter(|session| session.serial == serial) else {
            return;
        };
        if session.possible_until > at {
            self.timers.set(session.possible_until, Timer::Session(visitor, serial));
            return;
        }
        known.session = None;
        match known.flight.as_mut() {
            // The request in flight may take the slot that has just become free.
            Some(flight) if !flight.counts_slot => flight.counts_slot = true,
            _ => self.bound.change(-1, 0),
        }
        self.forget_if_over(visitor);
    }

    /// Draws the conclusions that no request in flight can still change.
    pub(super) fn settle(&mut self) {
        let (oldest, epoch) = self
            .flights
            .oldest()
            .map_or((self.now, self.bound.epoch()), |oldest| (oldest.sent, oldest.epoch));
        self.active.settle(oldest);
        self.bound.forget_before(epoch);
        while let Some(lapse) = self.line.pop_lapse(oldest) {
            if lapse.last {
                self.line.remove(&lapse);
                continue;
            }
            let Some(known) = self.visitors.get_mut(&lapse.visitor) else { continue };
            let Some(standing) = known.standing.filter(|standing| standing.key == lapse.key) else {
                continue;
            };
            if standing.until > lapse.at {
                self.line.postpone(lapse, standing.until);
            } else {
                self.line.remove(&lapse);
                known.standing = None;
                self.forget_if_over(lapse.visitor);
            }
        }
    }

    pub(super) fn forget_if_over(&mut self, visitor: VisitorNo) {
        if self.visitors.get(&visitor).is_some_and(Visitor::is_over) {
            self.visitors.remove(&visitor);
        }
    }
}
