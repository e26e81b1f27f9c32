//! The visitors on the account of a site, and the slots that they have or lack.

use waiting_room_core::{Timestamp, VisitorId};

use crate::escrow::{
    SiteAction, SitePass,
    sessions::{Session, Stage},
    site::ledger::SiteLedger,
};

impl SiteLedger {
    /// The present, at which nothing is left that has lapsed.
    pub(super) fn advance(&mut self, now: Timestamp) {
        self.clock = self.clock.max(now);
        self.sessions.lapse(self.clock);
        if self.ghosts.until <= self.clock {
            self.ghosts.count = 0;
        }
        if self.is_recalled() {
            // Somebody waits elsewhere, perhaps for longer than anybody here.
            self.allowance.give_back(self.surplus());
        }
        self.invariants();
    }

    /// The pass that a visitor was given, if it has its slot here.
    pub(super) fn pass_of(&self, visitor: VisitorId) -> Option<SitePass> {
        let session = self.sessions.of(visitor).filter(|session| session.stage != Stage::Ended)?;
        let expires_at = session.pass_until.filter(|until| self.clock < *until)?;
        let (home, epoch) = (self.site, self.epoch);
        self.sessions.holds(visitor).then_some(SitePass { visitor, home, epoch, expires_at })
    }

    /// Begins a session in an unused slot, or continues one whose pass may be out there.
    pub(super) fn begin(&mut self, visitor: VisitorId) -> SitePass {
        let is_new = self.sessions.of(visitor).is_none();
        self.hold(visitor, if is_new { Stage::Begun } else { Stage::Sent })
    }

    /// Extends a session that has its slot.
    pub(super) fn extend(&mut self, visitor: VisitorId) -> SitePass {
        self.hold(visitor, Stage::Sent)
    }

    fn hold(&mut self, visitor: VisitorId, stage: Stage) -> SitePass {
        debug_assert!(self.is_leased(), "no pass without a lease");
        let expires_at = self.clock + self.rules.session;
        // A pass from elsewhere may be valid for a little longer, by a slower clock.
        let held_until = self.sessions.of(visitor).map_or(expires_at, |session| session.lapses_at);
        let lapses_at = expires_at.max(held_until);
        self.sessions.hold(visitor, Session { lapses_at, pass_until: Some(expires_at), stage });
        self.borrowers.leave(visitor);
        self.invariants();
        SitePass { visitor, home: self.site, epoch: self.epoch, expires_at }
    }

    /// Puts a visitor on the account who has no slot here, or keeps it there for longer.
    ///
    /// This comes before any claim, so that a claimed slot is not free when it arrives: the visitor
    /// may still be using it with the old pass, which is void before this session lapses.
    pub(super) fn take_on(&mut self, pass: &SitePass) {
        let was_here_before_a_loss = pass.home == self.site && pass.epoch < self.epoch;
        if was_here_before_a_loss && self.sessions.of(pass.visitor).is_none() {
            self.ghosts.count = self.ghosts.count.saturating_sub(1);
        }
        let lapses_at = self.clock + self.rules.session + self.rules.margin();
        let session = Session { lapses_at, pass_until: None, stage: Stage::Sent };
        self.sessions.owe(pass.visitor, session);
    }

    /// Gives slots to those who are owed one, if there are enough for all of them.
    ///
    /// Not to some of them: one that came by a claim belongs to one visitor, and the count of all
    /// granted slots does not say to whom.
    pub(super) fn settle(&mut self) {
        if self.used() <= self.allowance() {
            self.sessions.settle();
        }
    }

    /// Lets those in who wait and have a slot now, and sends those away who have waited in vain.
    pub(super) fn serve(&mut self) -> Vec<SiteAction> {
        let mut actions = Vec::new();
        while let Some(visitor) = self.borrowers.pop_late(self.clock) {
            actions.push(SiteAction::GiveUp(visitor));
        }
        self.settle();
        if self.is_leased() {
            if self.sessions.owed() == 0 {
                while let Some(visitor) = self.borrowers.next_returning() {
                    actions.push(match self.sessions.of(visitor) {
                        Some(_) => SiteAction::Admit(self.extend(visitor)),
                        None => SiteAction::GiveUp(visitor),
                    });
                }
            }
            while self.unused() > 0
                && let Some(visitor) = self.borrowers.next_new()
            {
                actions.push(SiteAction::Admit(self.begin(visitor)));
            }
        }
        actions
    }

    /// Slots that are not in use, beyond the reserve and those that somebody waits for here, unless
    /// somebody waits elsewhere as well.
    pub(super) fn surplus(&self) -> u64 {
        let waiting = if self.is_recalled() { 0 } else { self.borrowers.new_count() };
        self.unused().saturating_sub(self.reserve.max(waiting))
    }

    /// Whether slots go back as soon as they are not in use.
    pub(super) fn is_recalled(&self) -> bool {
        self.has_account && self.clock < self.recalled_until
    }

    /// Whether the site may make passes.
    pub(super) const fn is_leased(&self) -> bool {
        self.has_account && self.clock.as_nanos() < self.lease_end.as_nanos()
    }

    fn invariants(&self) {
        debug_assert!(
            self.used() - self.sessions.owed() <= self.allowance() || !self.has_account,
            "whoever is not owed a slot has one",
        );
        debug_assert!(self.allowance.returned <= self.allowance.granted);
    }
}
