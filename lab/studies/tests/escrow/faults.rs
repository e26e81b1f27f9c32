//! The parts of a world that fail, and its operator.

use waiting_room_core::Timestamp;
use waiting_room_ledger::{
    SiteId,
    model::{GlobalLedger, Incarnation, ListRefused, SiteLedger, Term},
};

use crate::{
    bounds::{Bounds, Event},
    mutant::Mutant,
    world::World,
};

/// The number of times that each kind of fault has happened, and the sites that are off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Faults {
    lives: u64,
    pub(crate) term: u32,
    site_losses: u32,
    global_losses: u32,
    slow_ticks: u32,
    fast_ticks: u32,
    outages: u32,
    restores: u32,
    limit_changes: u32,
    list_changes: u32,
    /// Of each site, whether it is off, and whether it was fenced since.
    off: Vec<Option<bool>>,
}

impl Faults {
    pub(crate) fn new(sites: u16) -> Self {
        Self { lives: sites.into(), term: 1, off: vec![None; sites.into()], ..Self::default() }
    }
}

impl World {
    /// Whether a site is on.
    pub(crate) fn is_on(&self, site: usize) -> bool {
        self.faults.off[site].is_none()
    }

    /// All faults that may happen now, and all that an operator may do.
    pub(crate) fn faults(&self, bounds: &Bounds) -> Vec<Event> {
        let faults = &self.faults;
        let mut events = Vec::new();
        for site in 0..self.sites.len() {
            match faults.off[site] {
                None => {
                    if faults.site_losses < bounds.site_losses {
                        events.push(Event::LoseSite(site));
                    }
                    if faults.outages < bounds.outages {
                        events.push(Event::SwitchOff(site));
                    }
                }
                Some(is_fenced) => {
                    events.push(Event::SwitchOn(site));
                    if !is_fenced && self.global.lists(id(site)) {
                        events.push(Event::Fence(site));
                    }
                }
            }
            if faults.slow_ticks < bounds.slow_ticks {
                events.push(Event::SlowTick(site));
            }
            if faults.fast_ticks < bounds.fast_ticks {
                events.push(Event::FastTick(site));
            }
            if faults.list_changes < bounds.list_changes {
                self.list_changes(site, &mut events);
            }
        }
        if faults.global_losses < bounds.global_losses {
            events.push(Event::LoseGlobal);
        }
        if faults.restores < bounds.restores {
            events.push(Event::RestoreGlobal);
        }
        if faults.limit_changes < bounds.limit_changes {
            let is_lower = self.global.limit() < bounds.limit.into();
            events.push(Event::SetLimit(bounds.limit - u32::from(!is_lower)));
        }
        events
    }

    fn list_changes(&self, site: usize, events: &mut Vec<Event>) {
        let account = self.kept.accounts.get(&id(site));
        if account.is_some_and(|account| !account.is_drained) {
            events.push(Event::Drain(site));
        } else {
            events.push(Event::Add(site));
        }
        if self.global.clone().remove(id(site), self.now()).is_ok() {
            events.push(Event::Remove(site));
        }
    }

    /// Applies a fault, or what an operator does. Returns whether the event was one.
    pub(crate) fn apply_fault(&mut self, bounds: &Bounds, event: &Event) -> bool {
        let now = self.now();
        match event {
            Event::LoseGlobal => {
                self.faults.global_losses += 1;
                self.replace_global(bounds, true);
            }
            Event::RestoreGlobal => {
                self.faults.restores += 1;
                self.replace_global(bounds, false);
            }
            Event::LoseSite(site) => {
                self.faults.site_losses += 1;
                let life = self.next_life();
                let now = self.now_at(*site);
                let rules = bounds.mutant.site_rules(bounds.rules(), bounds.session);
                self.sites[*site] = SiteLedger::new(id(*site), life, rules, now).unwrap();
            }
            Event::SwitchOff(site) => {
                self.faults.outages += 1;
                self.faults.off[*site] = Some(false);
            }
            Event::SwitchOn(site) => {
                self.faults.off[*site] = None;
                let life = self.next_life();
                let now = self.now_at(*site);
                if !bounds.mutant.resumes() {
                    self.sites[*site].restart(life, now).unwrap();
                }
            }
            Event::Fence(site) => {
                self.faults.off[*site] = Some(true);
                let site = id(*site);
                let shown = self.global.epoch_of(site).unwrap();
                match self.global.fence(site, shown, now) {
                    // The slots of the account are reclaimed now. The operator tries again.
                    Err(ListRefused::OtherEpoch { current, .. }) => {
                        self.global.fence(site, current, now).unwrap();
                    }
                    fenced => fenced.unwrap(),
                }
            }
            Event::Drain(site) => {
                self.faults.list_changes += 1;
                self.global.drain(id(*site), now).unwrap();
            }
            Event::Remove(site) => {
                self.faults.list_changes += 1;
                self.global.remove(id(*site), now).unwrap();
            }
            Event::Add(site) => {
                self.faults.list_changes += 1;
                self.global.add_site(id(*site), now).unwrap();
            }
            Event::SetLimit(limit) => {
                self.faults.limit_changes += 1;
                self.global.set_limit(*limit);
            }
            Event::SlowTick(site) => {
                self.faults.slow_ticks += 1;
                self.lags[*site] += 1;
                self.pass_time();
            }
            Event::FastTick(site) => {
                self.faults.fast_ticks += 1;
                self.leads[*site] += 1;
                self.pass_time();
            }
            _ => return false,
        }
        true
    }

    /// Stores what has changed in the global ledger.
    pub(crate) fn keep(&mut self, mutant: Mutant) {
        let changes = Some(self.global.changes());
        let changes = match mutant {
            Mutant::AnswerBeforeKeeping => std::mem::replace(&mut self.pending, changes),
            Mutant::AnswerOvertakes => match changes.filter(|changes| !changes.is_empty()) {
                Some(changes) => self.pending.replace(changes),
                None => None,
            },
            _ => changes,
        };
        if let Some(changes) = changes {
            self.kept.apply(&changes).unwrap();
        }
    }

    /// Replaces the global ledger by one of the next term, of which `is_lost` says whether it has to
    /// learn all accounts.
    fn replace_global(&mut self, bounds: &Bounds, is_lost: bool) {
        self.faults.term += 1;
        self.pending = None;
        if bounds.mutant == Mutant::ForgetFences {
            self.kept.accounts.values_mut().for_each(|account| account.fence = None);
        }
        let term = Term::new(self.faults.term);
        let now = self.now();
        let kept = self.kept.take_over(term).unwrap();
        let sites = kept.accounts.keys().copied();
        self.global = if is_lost {
            GlobalLedger::recover(&kept, kept.limit, sites, term, kept.rules, now)
        } else {
            GlobalLedger::restore(&kept, term, now)
        }
        .unwrap();
    }

    fn next_life(&mut self) -> Incarnation {
        self.faults.lives += 1;
        Incarnation::new(self.faults.lives - 1)
    }

    /// The current time by the clock of a site.
    pub(crate) fn now_at(&self, site: usize) -> Timestamp {
        Timestamp::from_secs(self.tick + self.leads[site] - self.lags[site])
    }

    /// The current time by the clock of the global ledger.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_secs(self.tick)
    }

    pub(crate) fn pass_time(&mut self) {
        self.tick += 1;
        let homes: Vec<_> = (0..self.sites.len()).map(|site| self.now_at(site)).collect();
        self.passes.retain(|(_, home), pass| homes[usize::from(home.number())] < pass.expires_at);
        let tick = self.tick;
        let minute = self.minute;
        self.new.retain(|_, admitted| tick - *admitted < minute);
    }
}

pub(crate) fn id(site: usize) -> SiteId {
    SiteId::new(u16::try_from(site).unwrap())
}
