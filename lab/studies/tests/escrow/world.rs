//! A small world: a global ledger, the ledgers of some sites, their visitors, and the network
//! between the ledgers.

use std::collections::{BTreeMap, BTreeSet};

use waiting_room_core::{Timestamp, VisitorId};
use waiting_room_ledger::{
    SiteId,
    model::{
        Admission, Changes, Death, GlobalLedger, Heartbeat, Incarnation, Kept, Outgoing, Prolonged,
        SiteAction, SiteLedger, SitePass, Term, ToGlobal, ToSite,
    },
};

use crate::{
    bounds::{Bounds, Event, Roaming},
    faults::Faults,
    mutant::Mutant,
    network::Network,
};

/// The whole state of a world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) tick: u64,
    pub(crate) global: GlobalLedger,
    /// What the keeper of the global ledger has stored.
    pub(crate) kept: Kept,
    /// For `Mutant::AnswerBeforeKeeping` and `AnswerOvertakes`: what it has not stored yet.
    pub(crate) pending: Option<Changes>,
    pub(crate) sites: Vec<SiteLedger>,
    /// The number of ticks by which the clock of each site is behind.
    pub(crate) lags: Vec<u64>,
    /// The number of ticks by which the clock of each site is ahead.
    pub(crate) leads: Vec<u64>,
    pub(crate) faults: Faults,
    /// The number of slots that may be held: the limit, or as many as were held when the limit was
    /// lowered and have not been given back since.
    ceiling: u64,
    pub(crate) minute: u64,
    /// The visitors that were admitted within the last minute, if there is a limit for it.
    pub(crate) new: BTreeMap<VisitorId, u64>,
    pub(crate) visitors: u32,
    /// The newest pass of each visitor from each site, while it is valid by the clock of that site.
    pub(crate) passes: BTreeMap<(VisitorId, SiteId), SitePass>,
    pub(crate) network: Network,
    whims: u32,
    /// For `Mutant::Deltas`: the total that was last sent to each site.
    pub(crate) told: BTreeMap<SiteId, u64>,
}

impl World {
    pub(crate) fn new(bounds: &Bounds) -> Self {
        let rules = bounds.rules();
        let global_rules = bounds.mutant.global_rules(rules);
        let term = Term::new(1);
        let global = GlobalLedger::new(bounds.limit, bounds.site_ids(), term, global_rules);
        let site = |id: SiteId| {
            let life = Incarnation::new(id.number().into());
            let rules = bounds.mutant.site_rules(rules, bounds.session);
            SiteLedger::new(id, life, rules, Timestamp::ZERO).unwrap()
        };
        let mut world = Self {
            tick: 0,
            global: global.unwrap(),
            kept: Kept::new(term, bounds.limit, global_rules),
            pending: None,
            sites: bounds.site_ids().map(site).collect(),
            lags: vec![0; bounds.sites.into()],
            leads: vec![0; bounds.sites.into()],
            faults: Faults::new(bounds.sites),
            ceiling: bounds.limit.into(),
            minute: bounds.minute,
            new: BTreeMap::new(),
            visitors: 0,
            passes: BTreeMap::new(),
            network: Network::default(),
            whims: 0,
            told: BTreeMap::new(),
        };
        world.keep(Mutant::None);
        world.settle(bounds);
        world
    }

    /// Lets all sites report their state, over a network without losses.
    pub(crate) fn settle(&mut self, bounds: &Bounds) {
        for site in 0..self.sites.len() {
            if self.is_on(site) {
                self.apply(bounds, &Event::Beat(site));
            }
        }
        self.deliver(bounds);
    }

    /// Delivers all messages, and the replies to them.
    pub(crate) fn deliver(&mut self, bounds: &Bounds) {
        while !(self.network.up.is_empty() && self.network.down.is_empty()) {
            for (_, message) in std::mem::take(&mut self.network.up) {
                self.apply(bounds, &Event::Hear(message));
            }
            for (_, to, message) in std::mem::take(&mut self.network.down) {
                self.apply(bounds, &Event::Tell(to, message));
            }
        }
    }

    /// The number of visitors that have a pass which its home would honour.
    pub(crate) fn active(&self) -> u32 {
        let visitors: BTreeSet<_> = self.passes.keys().map(|(visitor, _)| visitor).collect();
        u32::try_from(visitors.len()).unwrap()
    }

    /// Whether more visitors are active, or new within a minute, than allowed.
    pub(crate) fn is_above(&self, bounds: &Bounds) -> bool {
        u64::from(self.active()) > self.ceiling || self.new.len() > bounds.limit as usize
    }

    /// Whether more slots are granted than there are.
    pub(crate) fn is_overdrawn(&self) -> bool {
        self.global.held() > self.ceiling
    }

    /// All events that may happen now.
    pub(crate) fn events(&self, bounds: &Bounds) -> Vec<Event> {
        let mut events = Vec::new();
        if self.tick >= bounds.horizon {
            return events;
        }
        events.push(Event::Tick);
        events.extend(self.faults(bounds));
        for site in (0..self.sites.len()).filter(|site| self.is_on(*site)) {
            // The sites are interchangeable until the first visitor arrives, so that visitor can
            // always go to the first site.
            if self.visitors < bounds.visitors && (self.visitors > 0 || site == 0) {
                events.push(Event::Arrive(site));
            }
            if self.sites[site].next_wake() <= self.now_at(site) {
                events.push(Event::Beat(site));
            }
            for (&(visitor, home), pass) in &self.passes {
                if self.whims < bounds.whims {
                    events.push(Event::AskAgain(site, visitor));
                    events.push(Event::AskInVain(site, visitor));
                    events.push(Event::Leave(site, visitor));
                }
                let is_home = usize::from(home.number()) == site;
                if bounds.roaming == Roaming::Anywhere
                    || bounds.roaming == Roaming::AtHome && is_home
                {
                    events.push(Event::Show(site, *pass));
                }
            }
        }
        events.extend(self.network.up.iter().map(|(_, message)| Event::Hear(message.clone())));
        let tell = |(_, to, message): &(_, SiteId, ToSite)| Event::Tell(*to, message.clone());
        let is_on = |to: SiteId| self.is_on(to.number().into());
        events.extend(self.network.down.iter().filter(|(_, to, _)| is_on(*to)).map(tell));
        events
    }

    /// Applies an event.
    pub(crate) fn apply(&mut self, bounds: &Bounds, event: &Event) {
        match event {
            Event::Arrive(site) => {
                let visitor = VisitorId::new(self.visitors.into());
                self.visitors += 1;
                self.request(*site, visitor);
            }
            Event::AskAgain(site, visitor) => {
                self.whims += 1;
                self.request(*site, *visitor);
            }
            Event::AskInVain(site, visitor) => {
                self.whims += 1;
                self.ask_in_vain(bounds, *site, *visitor);
            }
            Event::Beat(site) => {
                let now = self.now_at(*site);
                let actions = self.sites[*site].tick(now);
                self.act(actions);
            }
            Event::Hear(message) => {
                let message = bounds.mutant.rewrite_up(message, self);
                let now = self.now();
                let replies = self.global.receive(&message, now);
                let is_held_back = bounds.mutant == Mutant::AnswerOvertakes
                    && !self.global.clone().changes().is_empty();
                if !is_held_back {
                    self.send_down(bounds, replies);
                }
            }
            Event::Leave(site, visitor) => {
                self.whims += 1;
                let now = self.now_at(*site);
                self.sites[*site].leave(*visitor, now);
            }
            Event::Show(site, pass) => self.show(bounds, *site, pass),
            Event::Tell(to, message) => {
                let site = usize::from(to.number());
                if !self.is_on(site) {
                    return;
                }
                let now = self.now_at(site);
                let message = bounds.mutant.rewrite_down(message, &self.sites[site], now);
                let actions = self.sites[site].receive(&message, now);
                self.act(actions);
            }
            Event::Tick => self.pass_time(),
            event => assert!(self.apply_fault(bounds, event), "{event:?}"),
        }
        self.keep(bounds.mutant);
        if !self.global.is_learning() {
            self.ceiling = self.ceiling.min(self.global.held()).max(self.global.limit());
        }
        self.network.forget(bounds.messages);
    }

    /// Lets time pass on a network without losses, until everything that was granted has expired.
    pub(crate) fn release(&mut self, bounds: &Bounds) {
        let quiet = Bounds { messages: usize::MAX, replies: usize::MAX, ..bounds.clone() };
        self.network = Network::default();
        // One period is needed until a site learns that its epoch has ended, and a second one until
        // the slots that it inherits then are free.
        for _ in 0..2 * (bounds.lease + bounds.margin + bounds.session + 1) {
            self.pass_time();
            self.settle(&quiet);
        }
    }

    /// The notice of death that a site would get now for a claim of the slot of this pass.
    pub(crate) fn death_for(&self, heartbeat: &Heartbeat, pass: &SitePass) -> Option<Death> {
        let claim = ToGlobal::Claim { heartbeat: *heartbeat, pass: *pass, death: None };
        let answers = self.global.clone().receive(&claim, self.now());
        answers.into_iter().find_map(|answer| match answer.message {
            ToSite::Dead { death, .. } => Some(death),
            _ => None,
        })
    }

    fn request(&mut self, site: usize, visitor: VisitorId) {
        let now = self.now_at(site);
        match self.sites[site].admit(visitor, now) {
            Admission::Admit(pass) => self.hand_out(pass),
            Admission::Borrow { request, .. } => self.network.send_up(request),
            _ => {}
        }
    }

    fn ask_in_vain(&mut self, bounds: &Bounds, site: usize, visitor: VisitorId) {
        let now = self.now_at(site);
        if bounds.mutant != Mutant::WithdrawSent {
            let _not_sent = self.sites[site].admit(visitor, now);
        }
        self.sites[site].withdraw(visitor, now);
    }

    fn show(&mut self, bounds: &Bounds, site: usize, pass: &SitePass) {
        let now = self.now_at(site);
        let before = self.sites[site].clone();
        match self.sites[site].prolong(pass, now) {
            Prolonged::Borrow { request, .. } => {
                if bounds.mutant == Mutant::ClaimBeforeSession {
                    self.sites[site] = before;
                }
                self.network.send_up(request);
            }
            Prolonged::Renew { pass, claim } => {
                self.hand_out(pass);
                self.network.send_up(claim);
            }
            _ => {}
        }
    }

    fn act(&mut self, actions: Vec<SiteAction>) {
        for action in actions {
            match action {
                SiteAction::Admit(pass) => self.hand_out(pass),
                SiteAction::Send(message) => self.network.send_up(message),
                _ => {}
            }
        }
    }

    fn hand_out(&mut self, pass: SitePass) {
        self.passes.insert((pass.visitor, pass.home), pass);
        if self.minute > 0 {
            self.new.entry(pass.visitor).or_insert(self.tick);
        }
    }

    fn send_down(&mut self, bounds: &Bounds, messages: Vec<Outgoing>) {
        let now = self.now();
        for Outgoing { to, message, .. } in messages.into_iter().take(bounds.replies) {
            let message = bounds.mutant.rewrite_sent(message, to, self);
            self.network.down.insert((now, to, message));
        }
    }
}
