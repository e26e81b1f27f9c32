//! The messages of a site's ledger: those that it sends to the global ledger, and those that it
//! receives.

use waiting_room_core::Timestamp;

use crate::{
    escrow::{
        Death, Epoch, EscrowRules, Grant, Heartbeat, Join, JoinRefused, Refused, RulesDigest,
        SitePass, ToGlobal, ToSite, Welcome, epoch::Allowance,
    },
    model::{
        SiteAction,
        site::ledger::{Ghosts, Question, SiteLedger},
    },
};

impl SiteLedger {
    /// Handles a message from the global ledger, and returns the actions for the caller.
    pub fn receive(&mut self, message: &ToSite, now: Timestamp) -> Vec<SiteAction> {
        self.advance(now);
        if message.term() < self.term {
            // Slots granted by an earlier ledger may have been granted to others by a later one.
            return Vec::new();
        }
        if message.term() > self.term {
            self.term = message.term();
            self.deaths.clear();
        }
        let mut warning = None;
        let is_answered = match message {
            ToSite::Dead { death, .. } => {
                self.receive_death(*death);
                false
            }
            ToSite::Grant(grant) => self.receive_grant(grant),
            ToSite::Refused(refused) => {
                warning = self.receive_refused(refused).map(SiteAction::Warn);
                false
            }
            ToSite::Report { .. } => true,
            ToSite::Stale { over, current, .. } => self.receive_stale(*over, *current),
            // These messages are for sites that count, which have no such ledger.
            ToSite::Tickets(_) | ToSite::World(_) => false,
            ToSite::Welcome(welcome) => self.receive_welcome(welcome),
        };
        let mut actions = self.serve();
        actions.extend(warning);
        if is_answered || self.is_recalled() && self.surplus() > 0 {
            actions.push(SiteAction::Send(self.heartbeat()));
        }
        actions
    }

    /// The request for slots; `None` if one is under way already.
    pub(super) fn request(&mut self) -> Option<ToGlobal> {
        if let Question::Open(at) | Question::Outdated(at) = self.question
            && self.clock < at + self.rules.pause()
        {
            self.question = Question::Outdated(at);
            return None;
        }
        // Without a request, the next heartbeat includes the visitor.
        let is_due = !self.line.is_served_later(self.allowance.granted);
        is_due.then(|| self.heartbeat())
    }

    /// The claim to the slot that a visitor had at its home, in case the home is dead.
    pub(super) fn claim(&mut self, pass: &SitePass) -> ToGlobal {
        debug_assert!(self.sessions.of(pass.visitor).is_some(), "a claim needs a session here");
        let death = self.deaths.get(&pass.home).copied();
        ToGlobal::Claim { heartbeat: self.report(), pass: *pass, death }
    }

    /// The report of the site or, if the site has no account, a request to open one.
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
            rules: RulesDigest::of(&self.rules),
        })
    }

    /// Gives back the surplus, and reports the state afterwards.
    ///
    /// The order matters: the site must have given slots up before it reports them as returned, so
    /// that the global ledger never counts fewer slots for the site than it holds.
    fn report(&mut self) -> Heartbeat {
        self.schedule();
        self.give_back_surplus();
        let (want, front) = self.wants();
        if !self.borrowers.is_empty() {
            self.question = Question::Open(self.clock);
        }
        Heartbeat {
            site: self.site,
            incarnation: self.incarnation,
            term: self.term,
            epoch: self.epoch,
            sent_at: self.clock,
            lease_end: self.lease_end,
            rules: RulesDigest::of(&self.rules),
            granted: self.allowance.granted,
            returned: self.allowance.returned,
            used: self.used() + self.line.promised(),
            want,
            demand: self.demand.rate(self.clock),
            front,
        }
    }

    /// Sets the time of the next heartbeat.
    fn schedule(&mut self) {
        let is_hasty =
            self.is_recalled() || !self.borrowers.is_empty() || self.line.without_slot() > 0;
        let haste = if is_hasty { EscrowRules::HASTE } else { 1 };
        self.next_heartbeat = self.clock + self.rules.heartbeat / haste;
    }

    /// Records the death of a site, unless a later one is known.
    fn receive_death(&mut self, death: Death) {
        let known = self.deaths.entry(death.site).or_insert(death);
        if (known.epoch, known.heard) < (death.epoch, death.heard) {
            *known = death;
        }
    }

    /// Applies a grant: more slots, a longer lease, or both.
    ///
    /// Returns, like the other handlers, whether the site has to send a message in response.
    fn receive_grant(&mut self, grant: &Grant) -> bool {
        if !self.has_account || grant.epoch != self.epoch {
            return false;
        }
        self.allowance.raise_granted(grant.granted);
        self.lease_end = self.lease_end.max(grant.heard + grant.lease);
        self.line.promise(self.unused(), self.clock);
        if grant.heard >= self.heard {
            self.heard = grant.heard;
            self.reserve = grant.reserve;
            // The recall lapses after two heartbeats without another grant. A site that is cut off
            // then keeps the slots that it holds, because it can get no others.
            let again = self.clock + 2 * self.rules.heartbeat;
            self.recalled_until = if grant.recall { again } else { Timestamp::ZERO };
        }
        self.receive_answer(grant.heard)
    }

    /// Records the reply to a request. Returns whether the request has to be repeated, because it
    /// did not include visitors that arrived later.
    fn receive_answer(&mut self, heard: Timestamp) -> bool {
        match self.question {
            Question::Open(at) if heard >= at => self.question = Question::None,
            Question::Outdated(at) if heard >= at => {
                self.question = Question::None;
                return !self.line.is_served_later(self.allowance.granted);
            }
            Question::None | Question::Open(_) | Question::Outdated(_) => {}
        }
        false
    }

    /// Handles the notice that the account is closed, or never belonged to this ledger. Returns
    /// whether the site can join after a newer epoch.
    fn receive_stale(&mut self, over: Epoch, current: Epoch) -> bool {
        if self.has_account && over != self.epoch {
            return false;
        }
        self.has_account = false;
        let is_news = current > self.epoch;
        self.epoch = self.epoch.max(current);
        is_news
    }

    /// Handles a refusal: the site gets no account, or loses its account. Returns the
    /// reason if it is new.
    fn receive_refused(&mut self, refused: &Refused) -> Option<JoinRefused> {
        let is_over = self.has_account && refused.over != self.epoch;
        if refused.incarnation != self.incarnation || is_over {
            return None;
        }
        self.has_account = false;
        let reason = JoinRefused::new(self.site, &self.rules, refused);
        (self.refused.replace(reason) != Some(reason)).then_some(reason)
    }

    /// Opens a new account. No session has a slot in the new account yet: the inherited slots may
    /// be in use by visitors that only the last incarnation knew, until their passes are void.
    fn receive_welcome(&mut self, welcome: &Welcome) -> bool {
        if self.has_account
            || welcome.incarnation != self.incarnation
            || welcome.epoch <= self.epoch
        {
            return false;
        }
        self.has_account = true;
        self.refused = None;
        self.epoch = welcome.epoch;
        self.allowance = Allowance { granted: welcome.inherited, returned: 0 };
        self.heard = welcome.heard;
        self.lease_end = welcome.heard + welcome.lease;
        self.reserve = 0;
        self.recalled_until = Timestamp::ZERO;
        self.line.close();
        self.sessions.owe_all();
        self.ghosts = Ghosts {
            count: welcome.inherited,
            until: self.clock + self.rules.session + self.rules.margin(),
        };
        true
    }
}
