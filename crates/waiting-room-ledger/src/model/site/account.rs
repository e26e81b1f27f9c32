//! The visitors on the account of a site, and the slots that they have or are owed.

use waiting_room_core::{Timestamp, VisitorId};

use crate::{
    escrow::SitePass,
    model::{
        SiteAction,
        site::{
            demand::Borrower,
            ledger::SiteLedger,
            sessions::{Session, Stage},
        },
    },
};

impl SiteLedger {
    /// Advances the clock, and removes everything that has lapsed by then.
    pub(super) fn advance(&mut self, now: Timestamp) {
        self.clock = self.clock.max(now);
        self.sessions.lapse(self.clock);
        if self.ghosts.until <= self.clock {
            self.ghosts.count = 0;
        }
        if self.is_recalled() {
            // A visitor at another site may have waited longer than any visitor here.
            self.give_back_surplus();
        }
        self.invariants();
    }

    /// Gives back what is not needed, and what was promised to visitors who did not show up.
    pub(super) fn give_back_surplus(&mut self) {
        let unused = self.unused();
        let is_leased = self.is_leased();
        self.line.review(unused, self.borrowers.newcomers(), is_leased, self.clock);
        self.allowance.give_back(self.surplus());
    }

    /// The pass that a visitor was given, if it is valid and the visitor has a slot here.
    pub(super) fn pass_of(&self, visitor: VisitorId) -> Option<SitePass> {
        let session = self.sessions.of(visitor).filter(|session| session.stage != Stage::Ended)?;
        let expires_at = session.pass_until.filter(|until| self.clock < *until)?;
        let home = self.site;
        let epoch = self.epoch;
        self.sessions.holds(visitor).then_some(SitePass { visitor, home, epoch, expires_at })
    }

    /// Begins a session in an unused slot, or continues one whose pass may have been sent.
    pub(super) fn begin(&mut self, borrower: &Borrower) -> SitePass {
        let visitor = borrower.visitor;
        let is_new = self.sessions.of(visitor).is_none();
        self.line.take(borrower.in_line_since.is_some());
        self.hold(visitor, if is_new { Stage::Begun } else { Stage::Sent })
    }

    /// Extends a session that has its slot.
    pub(super) fn extend(&mut self, visitor: VisitorId) -> SitePass {
        self.hold(visitor, Stage::Sent)
    }

    /// Makes a pass, and holds the slot of its visitor until the pass is void.
    fn hold(&mut self, visitor: VisitorId, stage: Stage) -> SitePass {
        debug_assert!(self.is_leased(), "no pass without a lease");
        let expires_at = self.clock + self.rules.session;
        // A pass from elsewhere may be valid for a little longer, because the clock of its home is
        // slower. So the time until which the slot is held never decreases.
        let held_until = self.sessions.of(visitor).map_or(expires_at, |session| session.lapses_at);
        let lapses_at = expires_at.max(held_until);
        self.sessions.hold(visitor, Session { lapses_at, pass_until: Some(expires_at), stage });
        self.borrowers.leave(visitor);
        self.invariants();
        SitePass { visitor, home: self.site, epoch: self.epoch, expires_at }
    }

    /// Adds a visitor without a slot here to the account, or keeps it there for longer.
    ///
    /// This precedes any claim, so that a claimed slot has a user as soon as it arrives. The
    /// visitor may still use its old pass, which is void before this session lapses.
    pub(super) fn take_on(&mut self, pass: &SitePass) {
        let was_here_before_a_loss = pass.home == self.site && pass.epoch < self.epoch;
        if was_here_before_a_loss && self.sessions.of(pass.visitor).is_none() {
            self.ghosts.count = self.ghosts.count.saturating_sub(1);
        }
        let lapses_at = self.clock + self.rules.session + self.rules.margin();
        let session = Session { lapses_at, pass_until: None, stage: Stage::Sent };
        self.sessions.owe(pass.visitor, session);
    }

    /// Assigns slots to the sessions that are owed one, if there are enough for all of them.
    ///
    /// Slots are never assigned to only some of the sessions. A slot that was granted for a claim
    /// belongs to one visitor, but the total of granted slots does not show which.
    pub(super) fn settle(&mut self) {
        if self.used() <= self.allowance() {
            self.sessions.settle();
        }
    }

    /// Admits the waiting visitors for which there are slots now, and gives up on visitors whose
    /// wait has ended. Returns the actions for the caller.
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
            while self.usable() > 0
                && let Some(borrower) = self.borrowers.next_new()
            {
                actions.push(SiteAction::Admit(self.begin(&borrower)));
            }
        }
        actions
    }

    /// The unused slots that are to be given back: those beyond the reserve, and beyond the number
    /// of visitors that wait here. While a visitor is waiting at another site, the visitors that
    /// wait here do not count, but the slots that are promised to visitors in line are still kept.
    pub(super) fn surplus(&self) -> u64 {
        let waiting = if self.is_recalled() {
            0
        } else {
            self.borrowers.new_count().max(self.line.without_slot())
        };
        self.unused().saturating_sub(self.line.promised() + self.reserve.max(waiting))
    }

    /// Returns whether the site may make passes.
    pub(super) const fn is_leased(&self) -> bool {
        self.has_account && self.clock.as_nanos() < self.lease_end.as_nanos()
    }

    /// Checks, in debug builds, that the slots in use do not exceed the allowance.
    fn invariants(&self) {
        debug_assert!(
            self.used() - self.sessions.owed() <= self.allowance() || !self.has_account,
            "each session that is not owed a slot has one",
        );
        debug_assert!(self.allowance.returned <= self.allowance.granted);
    }
}
