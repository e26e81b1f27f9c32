//! The messages of the global ledger: those that it receives from sites, and its replies.

use waiting_room_core::Timestamp;

use crate::{
    SiteId,
    escrow::{
        Death, Grant, Heartbeat, Join, KeptClaim, Outgoing, Refusal, Refused, RulesDigest,
        SitePass, Standing, ToGlobal, ToSite, Welcome,
        global::ledger::{GlobalLedger, LaterTerm},
    },
};

impl GlobalLedger {
    /// Handles a message from a site, and returns the messages to send. A message for that site
    /// comes first.
    ///
    /// A [`Tally`](crate::escrow::Tally) that is not refused has no answer here: it is for the
    /// [`Census`](crate::escrow::Census).
    pub fn receive(&mut self, message: &ToGlobal, now: Timestamp) -> Vec<Outgoing> {
        self.advance(now);
        let site = message.from();
        let term = message.known_term();
        let stranger = self.refusal_of_stranger(message);
        if stranger.is_none() && self.term < term && term <= self.most_believed_term() {
            // The site obeys the later term, so there is no answer that it would accept.
            if self.later_term.is_none_or(|later| later.term < term) {
                self.later_term = Some(LaterTerm { site, term });
            }
            return Vec::new();
        }
        if let Some(reason) = stranger.or_else(|| self.refusal(message)) {
            let (incarnation, over) = message.life();
            let term = self.term;
            let refused = Refused { term, incarnation, over, reason };
            return vec![Outgoing { to: site, message: ToSite::Refused(refused) }];
        }
        match message {
            ToGlobal::Claim { heartbeat, pass, death } => {
                self.handle(heartbeat, Some((pass, *death)))
            }
            ToGlobal::Heartbeat(heartbeat) => self.handle(heartbeat, None),
            ToGlobal::Join(join) => self
                .receive_join(join)
                .map(|message| Outgoing { to: site, message })
                .into_iter()
                .collect(),
            ToGlobal::Tally(_) => Vec::new(),
        }
    }

    /// The number of slots that a site reports as granted on its present account, beyond the slots
    /// that this ledger knows of. These slots count from now on, since the greater of two totals is
    /// right.
    ///
    /// No grant is sent before it is stored, so a number above zero means that the keeper has lost
    /// what it had acknowledged: slots of other sites may be missing too, and the room has to be
    /// recovered.
    #[must_use]
    pub fn surplus(&self, message: &ToGlobal) -> u64 {
        let (ToGlobal::Heartbeat(heartbeat) | ToGlobal::Claim { heartbeat, .. }) = message else {
            return 0;
        };
        let Some(member) = self.accounts.of(heartbeat.site) else { return 0 };
        let is_current = member.standing == Standing::Open
            && member.epoch == heartbeat.epoch
            && member.incarnation == Some(heartbeat.incarnation)
            && heartbeat.term == self.term;
        if is_current { heartbeat.granted.saturating_sub(member.allowance.granted) } else { 0 }
    }

    /// The reason to distrust a message as a whole, if there is one.
    fn refusal_of_stranger(&self, message: &ToGlobal) -> Option<Refusal> {
        if self.accounts.of(message.from()).is_none() {
            return Some(Refusal::NotListed);
        }
        let rules = self.rules;
        let digest = RulesDigest::of(&self.rules);
        (message.rules() != digest).then_some(Refusal::Rules { rules, digest })
    }

    /// The reason to refuse a site on the list with the rules of this ledger, if there is one.
    fn refusal(&self, message: &ToGlobal) -> Option<Refusal> {
        let given = message.known_term();
        let most = self.most_believed_term();
        if given > most {
            return Some(Refusal::TermTooHigh { given, most });
        }
        let member = self.accounts.of(message.from())?;
        if let ToGlobal::Tally(_) = message {
            // Visitors of sites that hold slots are not in the snapshots for sites that count.
            return (self.held() > 0).then_some(Refusal::Policy);
        }
        let ToGlobal::Join(join) = message else { return None };
        if member.is_fenced(join.incarnation, None) {
            return Some(Refusal::Fenced);
        }
        let is_over = member.is_drained && member.standing == Standing::Away;
        is_over.then_some(Refusal::Drained)
    }

    /// Reclaims the slots of dead sites, grants them to sites that lack slots, and returns the
    /// messages to send.
    pub fn tick(&mut self, now: Timestamp) -> Vec<Outgoing> {
        self.advance(now);
        let served = self.serve();
        self.notify(served)
    }

    /// Handles the report of a site, and the site's claim of a visitor's slot if there is one.
    fn handle(
        &mut self,
        heartbeat: &Heartbeat,
        claim: Option<(&SitePass, Option<Death>)>,
    ) -> Vec<Outgoing> {
        let site = heartbeat.site;
        if heartbeat.term < self.term {
            // The report was sent before the loss of the last ledger, or by a site that does not
            // know about the loss. So the site is asked for a new report.
            return vec![Outgoing { to: site, message: ToSite::Report { term: self.term } }];
        }
        let now = self.clock;
        let lease_end = self.clock + self.rules.lease;
        let heard = self.accounts.change(site, now, |member| {
            if member.standing == Standing::Unknown {
                member.adopt(heartbeat, lease_end, now);
            }
            let is_current = member.standing == Standing::Open && member.epoch == heartbeat.epoch;
            if is_current {
                member.receive(heartbeat, lease_end, now);
            }
            let is_fenced = member.is_fenced(heartbeat.incarnation, None);
            if is_current { Ok(()) } else { Err((member.epoch, is_fenced)) }
        });
        match heard {
            None => return Vec::new(),
            Some(Err((current, is_fenced))) => {
                let term = self.term;
                let over = heartbeat.epoch;
                let incarnation = heartbeat.incarnation;
                let refused = Refused { term, incarnation, over, reason: Refusal::Fenced };
                let message = if is_fenced {
                    ToSite::Refused(refused)
                } else {
                    ToSite::Stale { term, over, current }
                };
                return vec![Outgoing { to: site, message }];
            }
            Some(Ok(())) => {}
        }
        self.advance(now);
        let death = claim.and_then(|(pass, death)| self.receive_claim(site, pass, death));
        let mut served = self.serve();
        self.top_up(site);
        served.retain(|&other| other != site);
        served.insert(0, site);
        let mut answers = self.notify(served);
        answers.extend(death.map(|death| {
            let message = ToSite::Dead { term: self.term, death };
            Outgoing { to: site, message }
        }));
        answers
    }

    /// Handles a site's request for a new account in place of the account that it names.
    fn receive_join(&mut self, join: &Join) -> Option<ToSite> {
        let term = self.term;
        let lease = self.rules.lease;
        let now = self.clock;
        self.accounts.change(join.site, now, |member| {
            let is_newest = join.after == member.epoch;
            // The site has had an account that this ledger does not know: the account belongs to a
            // world that was given up, or was rolled back in the store.
            let is_newer = join.after > member.epoch;
            let is_repeated = Some(join.incarnation) == member.incarnation
                && join.after.next(term) == member.epoch;
            match member.standing {
                Standing::Unknown => return None,
                Standing::Away if is_newer => member.open(term, join, now + lease),
                Standing::Away | Standing::Open if is_newest => {
                    member.open(term, join, now + lease);
                }
                Standing::Open if is_repeated => {}
                Standing::Away | Standing::Closed | Standing::Open => {
                    let over = join.after;
                    let current = member.epoch;
                    return Some(ToSite::Stale { term, over, current });
                }
            }
            Some(ToSite::Welcome(Welcome {
                term,
                epoch: member.epoch,
                incarnation: join.incarnation,
                heard: member.heard(),
                lease,
                inherited: member.allowance.granted,
            }))
        })?
    }

    /// The grants for these sites and, if a site lacks slots, recalls for the sites with unused
    /// slots.
    fn notify(&mut self, mut sites: Vec<SiteId>) -> Vec<Outgoing> {
        if self.is_recalling() {
            sites.extend(self.recall(&sites));
        }
        sites.into_iter().filter_map(|to| self.grant_for(to)).collect()
    }

    /// Moves the slot of a visitor to `claimer`, which has taken the visitor on, if the home of the
    /// visitor is dead and `claimer` knew that. If `claimer` did not know, returns the notice of
    /// the death.
    ///
    /// A site that did not know may have taken the visitor on before the home made its last pass.
    /// That pass could outlive the session at the new site.
    fn receive_claim(
        &mut self,
        claimer: SiteId,
        pass: &SitePass,
        known: Option<Death>,
    ) -> Option<Death> {
        let rules = self.rules;
        let now = self.clock;
        let home = self.accounts.of(pass.home)?;
        let death = home.death(pass.home, &rules, now)?;
        if self.learning_until.is_some() || pass.home == claimer || death.epoch != pass.epoch {
            return None;
        }
        if known != Some(death) {
            return Some(death);
        }
        if home.still_holds(pass, rules.lease) {
            self.accounts.claim(KeptClaim::new(pass.home, pass.epoch, pass.visitor), now);
            self.accounts.change(claimer, now, |claimer| claimer.grant(1, now));
        }
        None
    }

    /// The message with the slots that a site may use at present.
    fn grant_for(&self, to: SiteId) -> Option<Outgoing> {
        let member = self.accounts.of(to)?;
        let grant = Grant {
            term: self.term,
            epoch: member.epoch,
            heard: member.heard(),
            lease: self.rules.lease,
            granted: member.allowance.granted,
            reserve: self.reserve_of(to),
            recall: self.is_recalled(to),
        };
        Some(Outgoing { to, message: ToSite::Grant(grant) })
    }
}
