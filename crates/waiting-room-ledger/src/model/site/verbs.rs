//! The verbs of a site's ledger: visitors arrive, stay and leave, and time passes.

use waiting_room_core::{Timestamp, VisitorId};

use crate::{
    escrow::{LineFront, SitePass},
    model::{
        Admission, Prolonged, SiteAction,
        site::{demand::Borrower, ledger::SiteLedger, sessions::Stage},
    },
};

impl SiteLedger {
    /// Counts a new visitor towards the demand, by which reserves are split. It is called once for
    /// each visitor, whether the visitor is admitted or not.
    pub fn arrived(&mut self) {
        self.demand.arrived();
    }

    /// Requests a slot for a visitor. A visitor that has a slot gets the same pass again.
    pub fn admit(&mut self, visitor: VisitorId, now: Timestamp) -> Admission {
        self.admit_by(visitor, Timestamp::MAX, now)
    }

    /// Requests a slot for a visitor that can wait for it until `deadline`, but no longer than the
    /// [bounded wait](crate::escrow::EscrowRules::borrow_wait).
    ///
    /// The deadline is for visitors that have waited for another ledger before.
    pub fn admit_by(
        &mut self,
        visitor: VisitorId,
        deadline: Timestamp,
        now: Timestamp,
    ) -> Admission {
        self.admit_borrower(Borrower { visitor, in_line_since: None, until: deadline }, now)
    }

    /// Does the same as [`admit_by`](Self::admit_by) for a visitor that has waited in the line of the site `since`
    /// this time. The visitor comes before all visitors, at any site, who have waited for less time
    /// or not at all.
    pub fn admit_from_line(
        &mut self,
        visitor: VisitorId,
        since: Timestamp,
        deadline: Timestamp,
        now: Timestamp,
    ) -> Admission {
        self.admit_borrower(Borrower { visitor, in_line_since: Some(since), until: deadline }, now)
    }

    fn admit_borrower(&mut self, asking: Borrower, now: Timestamp) -> Admission {
        let visitor = asking.visitor;
        self.advance(now);
        if let Some(pass) = self.pass_of(visitor) {
            // The pass may have been sent in reply to the earlier request. So it counts as sent
            // from now on, and a withdrawal must not free its slot.
            self.sessions.send(visitor);
            return Admission::Admit(pass);
        }
        self.settle();
        if self.is_leased() {
            if self.sessions.holds(visitor) {
                return Admission::Admit(self.extend(visitor));
            }
            if self.borrowers.is_empty() && self.usable() > 0 {
                return Admission::Admit(self.begin(&asking));
            }
        }
        let until = asking.until.min(self.clock + self.rules.borrow_wait);
        let waits = if self.sessions.is_owed(visitor) {
            self.borrowers.wait_returning(visitor, until, self.clock)
        } else {
            self.borrowers.wait(Borrower { until, ..asking }, self.clock)
        };
        match waits {
            Some(until) => Admission::Borrow { until, request: self.request() },
            None => Admission::Full,
        }
    }

    /// Extends the session of a visitor with a pass.
    ///
    /// A visitor with a pass from elsewhere is taken on this site's account, ahead of all new
    /// visitors. The caller ensures that the pass is valid, see [`honours`](Self::honours).
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
        let request = if claims { Some(self.claim(pass)) } else { self.request() };
        Prolonged::Borrow { until, request }
    }

    /// Ends the session of a visitor. Its pass is void at this site from now on, unless the visitor
    /// is admitted again.
    ///
    /// The slot is not free before the pass expires: other sites may honour the pass.
    pub fn leave(&mut self, visitor: VisitorId, now: Timestamp) {
        self.advance(now);
        self.borrowers.leave(visitor);
        self.sessions.end(visitor);
    }

    /// Withdraws an admission whose pass was never sent, so that the slot is free at once. If the
    /// visitor waits for a slot, its wait ends without an action.
    ///
    /// A visitor that was admitted more than once, or had a session before, keeps its slot: an
    /// earlier pass may have been sent, and the slot is free when that pass expires.
    pub fn withdraw(&mut self, visitor: VisitorId, now: Timestamp) {
        self.advance(now);
        self.borrowers.leave(visitor);
        if self.sessions.of(visitor).is_some_and(|session| session.stage == Stage::Begun) {
            self.sessions.remove(visitor);
        }
    }

    /// Ends the session of a visitor, and frees its slot at once.
    ///
    /// Call this method only if no site honours the passes of the visitor from now on, for example
    /// because each site has keys of its own and remembers who has left. Otherwise, call
    /// [`leave`](Self::leave).
    pub fn release(&mut self, visitor: VisitorId, now: Timestamp) {
        self.advance(now);
        self.borrowers.leave(visitor);
        self.sessions.remove(visitor);
    }

    /// Does what is due: serves waiting visitors, and sends a heartbeat. Returns the actions for
    /// the caller.
    pub fn tick(&mut self, now: Timestamp) -> Vec<SiteAction> {
        self.advance(now);
        let mut actions = self.serve();
        if self.next_heartbeat <= self.clock {
            actions.push(SiteAction::Send(self.heartbeat()));
        }
        actions
    }

    /// The next time at which [`tick`](Self::tick) has something to do.
    #[must_use]
    pub fn next_wake(&self) -> Timestamp {
        if self.borrowers.is_empty() {
            return self.next_heartbeat;
        }
        if self.is_leased() && self.usable() > 0 {
            return self.clock;
        }
        let times = [self.borrowers.next_late(), self.sessions.next_lapse()];
        times.into_iter().flatten().fold(self.next_heartbeat, Timestamp::min)
    }

    /// Describes the line of the site: its oldest present visitors, including those at the door.
    ///
    /// The site then asks for slots for all of them, and not only for visitors at the door. A slot that is
    /// granted for them is kept for four seconds, until one of them comes to the door. While visitors wait
    /// elsewhere, visitors of this site take no other slots, because the next slot may belong to an
    /// older visitor.
    ///
    /// This method is never called at a site without a line. At a site with a line, the caller
    /// calls it before [`tick`](Self::tick) whenever the line has changed.
    pub fn set_line(&mut self, front: LineFront, now: Timestamp) {
        let is_new = self.line.front().is_empty() && !front.is_empty();
        self.line.describe(front);
        self.advance(now);
        if is_new {
            self.next_heartbeat = self.next_heartbeat.min(self.clock + self.rules.pause());
        }
    }

    /// The number of slots that visitors may take.
    pub(super) fn usable(&self) -> u64 {
        if !self.is_leased() {
            0
        } else if self.is_recalled() && !self.line.is_empty() {
            self.line.promised().min(self.unused())
        } else {
            self.unused()
        }
    }

    /// The slots that the site asks for, and the visitors in line for whom it asks. The first
    /// visitors in line take the slots that the site has.
    pub(super) fn wants(&mut self) -> (u64, LineFront) {
        let usable = self.usable();
        let (want, front) = if self.line.is_empty() {
            (self.borrowers.new_count(), self.borrowers.front())
        } else {
            let front = self.line.front().behind(usable);
            let left = usable.saturating_sub(self.line.front().visitors());
            (front.visitors() + self.borrowers.newcomers().saturating_sub(left), front)
        };
        self.line.record_request(self.allowance.granted, want, usable);
        (want, front)
    }
}
