//! Tests of one rule each, on a network without delays. The worlds in `lab/studies/tests/escrow` have an
//! unreliable network.

use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};

use waiting_room_core::{Timestamp, VisitorId};

use super::*;
use crate::{
    SiteId,
    model::{Admission, Prolonged, SiteAction, SiteLedger},
};

mod borrow;
mod census;
mod claims;
mod fence;
mod keep;
mod lease;
mod line;
mod list;
mod loss;
mod order;
mod split;
mod wire;

const RULES: EscrowRules = EscrowRules::new()
    .session(Duration::from_secs(300))
    .lease(Duration::from_secs(120))
    .drift_margin(Duration::from_secs(2));

/// A global ledger, its sites, and a network that loses no messages except those of sites that are
/// cut off.
struct Net {
    global: GlobalLedger,
    /// What the keeper of the global ledger has stored.
    kept: Kept,
    sites: Vec<SiteLedger>,
    cut_off: BTreeSet<usize>,
    admitted: Vec<SitePass>,
    gave_up: Vec<VisitorId>,
    warned: Vec<JoinRefused>,
}

impl Net {
    /// Creates a world of `sites` sites, all of which have joined.
    fn new(limit: u32, sites: u16, rules: EscrowRules) -> Self {
        let ids = (0..sites).map(SiteId::new);
        let site = |id: SiteId| {
            SiteLedger::new(id, Incarnation::new(id.number().into()), rules, at(0)).unwrap()
        };
        let mut net = Self {
            global: GlobalLedger::new(limit, ids.clone(), Term::new(1), rules).unwrap(),
            kept: Kept::new(Term::new(1), limit, rules),
            sites: ids.map(site).collect(),
            cut_off: BTreeSet::new(),
            admitted: Vec::new(),
            gave_up: Vec::new(),
            warned: Vec::new(),
        };
        net.beat(at(0));
        net
    }

    /// Calls each site's `tick`.
    fn beat(&mut self, now: Timestamp) {
        for site in 0..self.sites.len() {
            let actions = self.sites[site].tick(now);
            self.carry_out(site, actions, now);
        }
    }

    /// Calls each site's `tick` once a second.
    fn run(&mut self, seconds: std::ops::RangeInclusive<u64>) {
        for second in seconds {
            self.beat(at(second));
        }
    }

    /// Requests a slot for a visitor. Returns a pass if the visitor gets one at once, or after the
    /// site has asked the global ledger.
    fn admit(&mut self, site: usize, visitor: u32, now: Timestamp) -> Option<SitePass> {
        match self.sites[site].admit(id(visitor), now) {
            Admission::Admit(pass) => {
                self.admitted.push(pass);
                Some(pass)
            }
            Admission::Borrow { request, .. } => self.send(site, request, now),
            Admission::Full => None,
        }
    }

    /// Shows the pass of a visitor. Returns a new pass if the site issues one at once, or after it
    /// has asked the global ledger.
    fn prolong(&mut self, site: usize, pass: &SitePass, now: Timestamp) -> Option<SitePass> {
        match self.sites[site].prolong(pass, now) {
            Prolonged::Borrow { request, .. } => self.send(site, request, now),
            Prolonged::End | Prolonged::Keep => None,
            Prolonged::Renew { pass, claim } => {
                self.send(site, claim, now);
                Some(pass)
            }
        }
    }

    fn send(&mut self, site: usize, message: Option<ToGlobal>, now: Timestamp) -> Option<SitePass> {
        let actions = message.into_iter().map(SiteAction::Send).collect();
        self.carry_out(site, actions, now).pop()
    }

    /// Carries out actions, and delivers messages in both directions until there are none. Returns
    /// the passes of visitors that waited.
    fn carry_out(
        &mut self,
        site: usize,
        actions: Vec<SiteAction>,
        now: Timestamp,
    ) -> Vec<SitePass> {
        self.carry_out_by(site, actions, now, now)
    }

    /// Like `carry_out`, at `now` by the clocks of the sites and `global_now` by the global
    /// ledger's.
    fn carry_out_by(
        &mut self,
        site: usize,
        actions: Vec<SiteAction>,
        now: Timestamp,
        global_now: Timestamp,
    ) -> Vec<SitePass> {
        let mut passes = Vec::new();
        let mut todo: VecDeque<_> = actions.into_iter().map(|action| (site, action)).collect();
        while let Some((site, action)) = todo.pop_front() {
            match action {
                SiteAction::Admit(pass) => passes.push(pass),
                SiteAction::GiveUp(visitor) => self.gave_up.push(visitor),
                SiteAction::Send(_) if self.cut_off.contains(&site) => {}
                SiteAction::Warn(reason) => self.warned.push(reason),
                SiteAction::Send(message) => {
                    let answers = self.global.receive(&message, global_now);
                    self.keep();
                    for Outgoing { to, message } in answers {
                        let to = usize::from(to.number());
                        if !self.cut_off.contains(&to) {
                            let actions = self.sites[to].receive(&message, now);
                            todo.extend(actions.into_iter().map(|action| (to, action)));
                        }
                    }
                }
            }
        }
        self.admitted.extend(&passes);
        passes
    }

    /// A site loses its ledger.
    fn lose(&mut self, site: usize, life: u64, now: Timestamp) {
        let id = SiteId::new(u16::try_from(site).unwrap());
        self.sites[site] = SiteLedger::new(id, Incarnation::new(life), RULES, now).unwrap();
    }

    /// An operator declares that a site is switched off.
    fn fence(&mut self, site: u16, now: Timestamp) {
        let site = SiteId::new(site);
        let epoch = self.global.epoch_of(site).unwrap();
        self.global.fence(site, epoch, now).unwrap();
    }

    /// Stores the changes of the global ledger.
    fn keep(&mut self) {
        self.kept.apply(&self.global.changes()).unwrap();
    }

    /// The global ledger is lost, with all accounts.
    fn lose_global(&mut self, term: u32, now: Timestamp) {
        self.keep();
        let sites = (0..u16::try_from(self.sites.len()).unwrap()).map(SiteId::new);
        let term = Term::new(term);
        let kept = self.kept.take_over(term).unwrap();
        let rules = kept.rules;
        self.global = GlobalLedger::recover(&kept, kept.limit, sites, term, rules, now).unwrap();
    }

    /// The global ledger is lost, and another one continues from what was stored.
    fn restore_global(&mut self, term: u32, now: Timestamp) {
        self.keep();
        let kept = self.kept.take_over(Term::new(term)).unwrap();
        self.global = GlobalLedger::restore(&kept, Term::new(term), now).unwrap();
    }

    /// The slots that a site holds, as known to the global ledger.
    fn held_by(&self, site: u16) -> u64 {
        self.global.held_by(SiteId::new(site))
    }
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_secs(seconds)
}

fn id(number: u32) -> VisitorId {
    VisitorId::new(number.into())
}

#[test]
fn impossible_rules_are_refused_by_name() {
    let error = EscrowRules::new().session(Duration::ZERO).validate().unwrap_err();
    assert_eq!(error.to_string(), "session is 0ns, expected more than no time");
    let error = EscrowRules::new().heartbeat(Duration::ZERO).validate().unwrap_err();
    assert_eq!(error.field(), "heartbeat");
    // A fifth of this heartbeat would be rounded to zero, and each reply would be due at once.
    let error = EscrowRules::new().heartbeat(Duration::from_nanos(4)).validate().unwrap_err();
    assert_eq!(error.to_string(), "heartbeat is 4ns, expected at least 10ms");
    assert!(EscrowRules::new().heartbeat(EscrowRules::SHORTEST_HEARTBEAT).validate().is_ok());
    let error = EscrowRules::new().lease(Duration::from_secs(100_000)).validate().unwrap_err();
    assert_eq!(error.to_string(), "lease is 100000s, expected at most 86400s");
    for rules in [
        EscrowRules::new().session(Duration::MAX),
        EscrowRules::new().lease(Duration::MAX),
        EscrowRules::new().drift_margin(Duration::MAX),
    ] {
        assert!(rules.validate().is_err());
        assert_eq!(rules.reclaim_after(), Duration::MAX);
    }
    let error = GlobalLedger::new(1, [], Term::new(1), RULES).unwrap_err();
    assert_eq!(error.to_string(), "sites is empty, expected at least one site");
}
