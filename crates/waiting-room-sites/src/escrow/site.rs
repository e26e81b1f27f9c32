//! The ledger of one site.

mod account;
mod talk;

use std::collections::BTreeMap;

use waiting_room_core::{ConfigError, Timestamp, VisitorId};

use crate::{
    SiteId,
    escrow::{
        Admission, Death, Epoch, EscrowRules, Incarnation, Prolonged, SiteAction, SitePass, Term,
        allowance::Allowance,
        borrowers::Borrowers,
        demand::Demand,
        sessions::{Sessions, Stage},
        site::talk::Question,
    },
};

/// The ledger of one site: who uses its slots, and how many it may use.
///
/// The times that it is given are those of one clock that never runs back, and that goes on where it
/// stood when a ledger is made anew after a loss. No other clock has to agree with it.
///
/// After each verb, and at [`next_wake`](Self::next_wake), the caller calls [`tick`](Self::tick).
/// See the [module docs](super) for an example.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SiteLedger {
    site: SiteId,
    incarnation: Incarnation,
    rules: EscrowRules,
    clock: Timestamp,
    term: Term,
    /// The epoch of the account, or without one the newest that was heard of.
    epoch: Epoch,
    has_account: bool,
    allowance: Allowance,
    lease_end: Timestamp,
    heard: Timestamp,
    reserve: u64,
    /// Until then somebody waits elsewhere, as far as is known.
    recalled_until: Timestamp,
    sessions: Sessions,
    ghosts: Ghosts,
    borrowers: Borrowers,
    demand: Demand,
    next_heartbeat: Timestamp,
    question: Question,
    /// The newest that was heard of each site that died.
    deaths: BTreeMap<SiteId, Death>,
}

/// Slots that an earlier incarnation may have given to visitors that this one has not met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Ghosts {
    count: u64,
    until: Timestamp,
}

impl SiteLedger {
    /// A ledger that has yet to join. Its first [`tick`](Self::tick) asks.
    ///
    /// # Errors
    ///
    /// The first rule that cannot be obeyed.
    pub fn new(
        site: SiteId,
        incarnation: Incarnation,
        rules: EscrowRules,
        now: Timestamp,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            site,
            incarnation,
            rules: rules.validate()?,
            clock: now,
            term: Term::default(),
            epoch: Epoch::default(),
            has_account: false,
            allowance: Allowance::default(),
            lease_end: Timestamp::ZERO,
            heard: Timestamp::ZERO,
            reserve: 0,
            recalled_until: Timestamp::ZERO,
            sessions: Sessions::default(),
            ghosts: Ghosts::default(),
            borrowers: Borrowers::default(),
            demand: Demand::new(now),
            next_heartbeat: now,
            question: Question::None,
            deaths: BTreeMap::new(),
        })
    }

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
    /// [bounded wait](EscrowRules::borrow_wait): another ledger may have kept it before.
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

    /// Whether a visitor with this pass may go through. Needs no slot and changes nothing.
    ///
    /// `home_now` is the latest time that the clock of the pass's home can show: `now` for a pass of
    /// this site.
    #[must_use]
    pub fn honours(&self, pass: &SitePass, home_now: Timestamp) -> bool {
        let has_left =
            self.sessions.of(pass.visitor).is_some_and(|session| session.stage == Stage::Ended);
        home_now < pass.expires_at && !has_left
    }

    /// How many slots the site may use.
    #[must_use]
    pub const fn allowance(&self) -> u64 {
        self.allowance.held()
    }

    /// How many slots are in use, or owed to a visitor from elsewhere.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.sessions.count() + self.ghosts.count
    }

    /// How many slots are not in use.
    #[must_use]
    pub fn unused(&self) -> u64 {
        self.allowance().saturating_sub(self.used())
    }

    /// The highest term it has heard of.
    #[must_use]
    pub const fn term(&self) -> Term {
        self.term
    }

    /// The epoch of the site's account, or the newest it has heard of.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// When the site has to stop admitting, unless the global ledger is heard from.
    #[must_use]
    pub const fn lease_end(&self) -> Timestamp {
        self.lease_end
    }
}
