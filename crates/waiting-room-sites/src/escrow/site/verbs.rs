//! The verbs of a site: visitors come, stay and go, and time passes.

use waiting_room_core::{Timestamp, VisitorId};

use crate::escrow::{
    Admission, Prolonged, SiteAction, SitePass, sessions::Stage, site::ledger::SiteLedger,
};

impl SiteLedger {
    /// A new visitor came: for the demand, by which reserves are split. Once for each visitor,
    /// whether it is let in or not.
    pub fn arrived(&mut self) {
        self.demand.arrived();
    }

    /// A visitor asks for a slot. Asking again is answered with the same pass.
    pub fn admit(&mut self, visitor: VisitorId, now: Timestamp) -> Admission {
        self.admit_by(visitor, Timestamp::MAX, now)
    }

    /// A visitor asks for a slot that waits for it until `deadline` at most, and no longer than the
    /// [bounded wait](crate::escrow::EscrowRules::borrow_wait): another ledger may have kept it
    /// before.
    pub fn admit_by(
        &mut self,
        visitor: VisitorId,
        deadline: Timestamp,
        now: Timestamp,
    ) -> Admission {
        self.advance(now);
        if let Some(pass) = self.pass_of(visitor) {
            // Whoever asked first may have been sent it, and a withdrawal must not free its slot.
            self.sessions.send(visitor);
            return Admission::Admit(pass);
        }
        self.settle();
        if self.is_leased() {
            if self.sessions.holds(visitor) {
                return Admission::Admit(self.extend(visitor));
            }
            if self.borrowers.is_empty() && self.unused() > 0 {
                return Admission::Admit(self.begin(visitor));
            }
        }
        let until = deadline.min(self.clock + self.rules.borrow_wait);
        let waits = match self.sessions.is_owed(visitor) {
            true => self.borrowers.wait_returning(visitor, until, self.clock),
            false => self.borrowers.wait(visitor, until, self.clock),
        };
        match waits {
            Some(until) => Admission::Borrow { until, ask: self.ask() },
            None => Admission::Full,
        }
    }

    /// A visitor with a pass is still there.
    ///
    /// Who has a pass from elsewhere is put on this site's account, ahead of all who are new. The
    /// caller makes sure that the pass is valid, see [`honours`](Self::honours).
    pub fn prolong(&mut self, pass: &SitePass, now: Timestamp) -> Prolonged {
        self.advance(now);
        let visitor = pass.visitor;
        let session = self.sessions.of(visitor);
        let is_at_home = pass.home == self.site;
        if session.is_some_and(|session| session.stage == Stage::Ended)
            || is_at_home && pass.expires_at <= self.clock
        {
            return Prolonged::End;
        }
        if !self.is_leased() {
            return Prolonged::Keep;
        }
        let lacks_slot = session.is_none() || self.sessions.is_owed(visitor);
        if lacks_slot {
            self.take_on(pass);
        }
        self.settle();
        let is_moving = lacks_slot && !is_at_home;
        if !self.sessions.is_owed(visitor) {
            let renewed = self.extend(visitor);
            let claim = is_moving.then(|| self.claim(pass));
            return Prolonged::Renew { pass: renewed, claim };
        }
        let until = self.clock + self.rules.borrow_wait;
        let Some(until) = self.borrowers.wait_returning(visitor, until, self.clock) else {
            return Prolonged::Keep;
        };
        let death = self.deaths.get(&pass.home).copied();
        let pause = self.rules.pause();
        let claims = is_moving && self.sessions.claim(visitor, death, self.clock, pause);
        let ask = if claims { Some(self.claim(pass)) } else { self.ask() };
        Prolonged::Borrow { until, ask }
    }

    /// A visitor goes. Its pass is void here from now on, unless it is admitted again.
    ///
    /// The slot is free when the pass expires, not before: another site may still honour it.
    pub fn leave(&mut self, visitor: VisitorId, now: Timestamp) {
        self.advance(now);
        self.borrowers.leave(visitor);
        self.sessions.end(visitor);
    }

    /// Takes back an admission whose pass was never sent: the slot is free at once. If the visitor
    /// waits for one, nothing more will be said of it.
    ///
    /// Not if the visitor was admitted more than once, or has a session from before: an earlier pass
    /// may be out there, and its slot is free when it expires.
    pub fn withdraw(&mut self, visitor: VisitorId, now: Timestamp) {
        self.advance(now);
        self.borrowers.leave(visitor);
        if self.sessions.of(visitor).is_some_and(|session| session.stage == Stage::Begun) {
            self.sessions.remove(visitor);
        }
    }

    /// Does what is due: serves those who wait, and says how things stand.
    pub fn tick(&mut self, now: Timestamp) -> Vec<SiteAction> {
        self.advance(now);
        let mut actions = self.serve();
        if self.next_heartbeat <= self.clock {
            actions.push(SiteAction::Send(self.heartbeat()));
        }
        actions
    }

    /// When [`tick`](Self::tick) has something to do.
    #[must_use]
    pub fn next_wake(&self) -> Timestamp {
        if self.borrowers.is_empty() {
            return self.next_heartbeat;
        }
        if self.is_leased() && self.unused() > 0 {
            return self.clock;
        }
        let times = [self.borrowers.next_late(), self.sessions.next_lapse()];
        times.into_iter().flatten().fold(self.next_heartbeat, Timestamp::min)
    }
}
