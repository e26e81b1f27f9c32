//! The messages of the ledger of a site: what it says to the global ledger, and what it hears.

use waiting_room_core::Timestamp;

use crate::escrow::{
    Death, Epoch, EscrowRules, Grant, Heartbeat, Join, SiteAction, SitePass, ToGlobal, ToSite,
    Welcome,
    epoch::Allowance,
    site::ledger::{Ghosts, Question, SiteLedger},
};

impl SiteLedger {
    /// Hears from the global ledger.
    pub fn receive(&mut self, message: &ToSite, now: Timestamp) -> Vec<SiteAction> {
        self.advance(now);
        if message.term() < self.term {
            // What an earlier ledger granted, a later one may have granted to others.
            return Vec::new();
        }
        if message.term() > self.term {
            self.term = message.term();
            self.deaths.clear();
        }
        let is_answered = match message {
            ToSite::Dead { death, .. } => {
                self.hear_death(*death);
                false
            }
            ToSite::Grant(grant) => self.hear_grant(grant),
            ToSite::Report { .. } => true,
            ToSite::Stale { over, current, .. } => self.hear_stale(*over, *current),
            ToSite::Welcome(welcome) => self.hear_welcome(welcome),
        };
        let mut actions = self.serve();
        if is_answered || self.is_recalled() && self.surplus() > 0 {
            actions.push(SiteAction::Send(self.heartbeat()));
        }
        actions
    }

    /// Asks for slots, unless an answer is on its way.
    pub(super) fn ask(&mut self) -> Option<ToGlobal> {
        match self.question {
            Question::Open(at) | Question::Outdated(at) if self.clock < at + self.rules.pause() => {
                self.question = Question::Outdated(at);
                None
            }
            _ => Some(self.heartbeat()),
        }
    }

    /// Asks for the slot that a visitor had elsewhere, if its home is dead.
    pub(super) fn claim(&mut self, pass: &SitePass) -> ToGlobal {
        debug_assert!(self.sessions.of(pass.visitor).is_some(), "first taken on, then claimed");
        let death = self.deaths.get(&pass.home).copied();
        ToGlobal::Claim { heartbeat: self.report(), pass: *pass, death }
    }

    /// Says how things stand, or asks for an account.
    pub(super) fn heartbeat(&mut self) -> ToGlobal {
        if self.has_account {
            return ToGlobal::Heartbeat(self.report());
        }
        self.schedule();
        ToGlobal::Join(Join {
            site: self.site,
            incarnation: self.incarnation,
            after: self.epoch,
            sent_at: self.clock,
        })
    }

    /// Gives back what is over, and says how things stand then.
    ///
    /// In this order: what the global ledger believes a site to hold is never less than it does.
    fn report(&mut self) -> Heartbeat {
        self.schedule();
        self.allowance.give_back(self.surplus());
        let want = self.borrowers.new_count();
        if !self.borrowers.is_empty() {
            self.question = Question::Open(self.clock);
        }
        Heartbeat {
            site: self.site,
            term: self.term,
            epoch: self.epoch,
            sent_at: self.clock,
            lease_end: self.lease_end,
            granted: self.allowance.granted,
            returned: self.allowance.returned,
            used: self.used(),
            want,
            demand: self.demand.rate(self.clock),
        }
    }

    /// Sets when the site speaks again.
    fn schedule(&mut self) {
        let is_hasty = self.is_recalled() || !self.borrowers.is_empty();
        let haste = if is_hasty { EscrowRules::HASTE } else { 1 };
        self.next_heartbeat = self.clock + self.rules.heartbeat / haste;
    }

    /// Of two deaths of a site the later one is true.
    fn hear_death(&mut self, death: Death) {
        let known = self.deaths.entry(death.site).or_insert(death);
        if (known.epoch, known.heard) < (death.epoch, death.heard) {
            *known = death;
        }
    }

    /// More slots, or a longer lease, or both.
    ///
    /// Says, as the others do, whether there is something to say to that.
    fn hear_grant(&mut self, grant: &Grant) -> bool {
        if !self.has_account || grant.epoch != self.epoch {
            return false;
        }
        self.allowance.hear_granted(grant.granted);
        self.lease_end = self.lease_end.max(grant.heard + grant.lease);
        if grant.heard >= self.heard {
            self.heard = grant.heard;
            self.reserve = grant.reserve;
            // A site that hears no more is cut off, and lives on what it holds.
            let again = self.clock + 2 * self.rules.heartbeat;
            self.recalled_until = if grant.recall { again } else { Timestamp::ZERO };
        }
        self.hear_answer(grant.heard)
    }

    /// Whether this answers a question that has to be asked again, for those who came since.
    fn hear_answer(&mut self, heard: Timestamp) -> bool {
        match self.question {
            Question::Open(at) if heard >= at => self.question = Question::None,
            Question::Outdated(at) if heard >= at => {
                self.question = Question::None;
                return true;
            }
            _ => {}
        }
        false
    }

    /// The account is closed, or was never this ledger's.
    fn hear_stale(&mut self, over: Epoch, current: Epoch) -> bool {
        if self.has_account && over != self.epoch {
            return false;
        }
        self.has_account = false;
        let is_news = current > self.epoch;
        self.epoch = self.epoch.max(current);
        is_news
    }

    /// A new account. Nobody has a slot in it yet: those that were inherited may be in use by
    /// visitors whom only the last incarnation knew, until their passes are void.
    fn hear_welcome(&mut self, welcome: &Welcome) -> bool {
        if self.has_account
            || welcome.incarnation != self.incarnation
            || welcome.epoch <= self.epoch
        {
            return false;
        }
        self.has_account = true;
        self.epoch = welcome.epoch;
        self.allowance = Allowance { granted: welcome.inherited, returned: 0 };
        self.heard = welcome.heard;
        self.lease_end = welcome.heard + welcome.lease;
        (self.reserve, self.recalled_until) = (0, Timestamp::ZERO);
        self.sessions.owe_all();
        self.ghosts = Ghosts {
            count: welcome.inherited,
            until: self.clock + self.rules.session + self.rules.margin(),
        };
        true
    }
}
