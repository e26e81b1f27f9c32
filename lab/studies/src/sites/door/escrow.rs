//! The escrow: a ledger at each site and a global ledger, once for active visitors and once for new
//! ones. The ledgers are the code of production; the network between them is simulated.

mod asking;
mod guests;
mod network;

use std::time::Duration;

use waiting_room_core::ConfigError;
use waiting_room_ledger::{
    EscrowRules, SiteId,
    model::{GlobalLedger, Incarnation, SiteLedger, Term, ToGlobal},
};

use self::{
    guests::Guests,
    network::{Limit, Message, Network},
};
use super::question::{Outcome, Trips};
use crate::sites::recent::LastMinute;
use crate::sites::{clock::timestamp, scenario::Scenario, truth::Stranded};

/// All ledgers, and the messages between them.
#[derive(Debug)]
pub(super) struct EscrowDoor {
    worlds: [GlobalLedger; 2],
    sites: Vec<[SiteLedger; 2]>,
    is_dead: Vec<bool>,
    is_cut: Vec<bool>,
    network: Network,
    guests: Guests,
    outcomes: Vec<Outcome>,
    /// The visitors that each site admitted within the last minute.
    let_in: Vec<LastMinute>,
    trips: Trips,
    session: u32,
}

impl EscrowDoor {
    pub(super) fn new(scenario: &Scenario, seed: u64) -> Result<Self, ConfigError> {
        let limits = scenario.limits;
        let session = scenario.pass_ms();
        let kept = Duration::from_millis(u64::from(session + SPARE));
        let wait = Duration::from_millis(DOOR_WAIT.into());
        let active = EscrowRules::new().session(kept);
        let rules = [active, EscrowRules::rolling_minute()].map(|rules| rules.borrow_wait(wait));
        let count = u16::try_from(scenario.sites.nodes.len()).expect("1000 sites at most");
        let site = |number| -> Result<_, ConfigError> {
            let ledger = |rules| {
                let incarnation = Incarnation::new(u64::from(number));
                SiteLedger::new(SiteId::new(number), incarnation, rules, timestamp(0))
            };
            Ok([ledger(rules[0])?, ledger(rules[1])?])
        };
        let world = |limit, rules| {
            GlobalLedger::new(limit, (0..count).map(SiteId::new), Term::new(1), rules)
        };
        let mut door = Self {
            worlds: [
                world(limits.total_active_users, rules[0])?,
                world(limits.new_users_per_minute, rules[1])?,
            ],
            sites: (0..count).map(site).collect::<Result<_, _>>()?,
            is_dead: vec![false; count.into()],
            is_cut: vec![false; count.into()],
            network: Network::new(scenario.network.wan_rtt_ms, seed),
            guests: Guests::default(),
            outcomes: Vec::new(),
            let_in: vec![LastMinute::default(); count.into()],
            trips: Trips::default(),
            session,
        };
        for site in 0..count {
            for limit in [Limit::Active, Limit::New] {
                door.tick(site, limit, 0);
            }
        }
        Ok(door)
    }

    /// Ends a session.
    pub(super) fn lapse(&mut self, who: u32) {
        self.guests.leave(who);
    }

    /// The round trips that visitors waited for, and the messages between ledgers.
    pub(super) fn trips(&self) -> Trips {
        Trips { messages: self.network.messages(), ..self.trips }
    }

    /// The next time at which a message arrives or a ledger has to act.
    pub(super) fn next_wake(&self) -> Option<u32> {
        self.network.next()
    }

    /// Delivers all messages that have arrived, and returns the outcomes for visitors.
    pub(super) fn wake(&mut self, now: u32) -> Vec<Outcome> {
        while let Some(message) = self.network.pop(now) {
            match message {
                Message::Down(limit, outgoing) => {
                    let site = outgoing.to.number();
                    if self.reaches(site) {
                        let ledger = &mut self.sites[usize::from(site)][limit.index()];
                        let actions = ledger.receive(&outgoing.message, timestamp(now));
                        self.act(site, limit, actions, now);
                        self.tick(site, limit, now);
                    }
                }
                Message::Up(limit, message) => {
                    if self.reaches(message.from().number()) {
                        let world = &mut self.worlds[limit.index()];
                        let replies = world.receive(&message, timestamp(now));
                        replies.into_iter().for_each(|reply| self.network.down(limit, reply, now));
                    }
                }
                Message::Tick(limit, site) => self.tick(site, limit, now),
            }
        }
        std::mem::take(&mut self.outcomes)
    }

    /// Cuts off a site: no message reaches it, and none of its messages arrives.
    pub(super) fn cut(&mut self, site: usize) {
        self.is_cut[site] = true;
    }

    /// Reconnects a site.
    pub(super) fn join(&mut self, site: usize) {
        self.is_cut[site] = false;
    }

    /// Kills a site, whose state is lost. Returns the visitors who were waiting for a reply from
    /// it.
    pub(super) fn kill(&mut self, site: usize) -> Vec<u32> {
        self.is_dead[site] = true;
        self.guests.forget_calls_of(site)
    }

    /// The slots that cannot be used: all slots of dead sites, and the unused slots of sites that
    /// are cut off.
    pub(super) fn stranded(&mut self, now: u32) -> Stranded {
        let mut stranded = Stranded::default();
        for site in 0..self.sites.len() {
            if self.reaches_index(site) {
                continue;
            }
            let number = u16::try_from(site).unwrap_or(u16::MAX);
            let unused = |limit: Limit, used: u32| {
                let held = self.worlds[limit.index()].held_by(SiteId::new(number));
                u32::try_from(held).unwrap_or(u32::MAX).saturating_sub(used)
            };
            stranded.active += unused(Limit::Active, self.guests.at_home(number));
            stranded.new += unused(Limit::New, self.let_in[site].count(now));
        }
        stranded
    }

    fn send(&mut self, site: u16, limit: Limit, message: Option<ToGlobal>, now: u32) {
        if let Some(message) = message
            && self.reaches(site)
        {
            self.network.up(limit, message, now);
        }
    }

    /// Lets a ledger do what is due, and schedules its next wake-up.
    fn tick(&mut self, site: u16, limit: Limit, now: u32) {
        if self.is_dead[usize::from(site)] {
            return;
        }
        let ledger = &mut self.sites[usize::from(site)][limit.index()];
        let actions = ledger.tick(timestamp(now));
        let next = ledger.next_wake();
        self.network.wake(limit, site, next, now);
        self.act(site, limit, actions, now);
    }

    fn reaches(&self, site: u16) -> bool {
        self.reaches_index(usize::from(site))
    }

    fn reaches_index(&self, site: usize) -> bool {
        !self.is_dead[site] && !self.is_cut[site]
    }
}

/// The maximum time for which a visitor is held at the door, in milliseconds: the default of
/// `EscrowRules`.
pub(super) const DOOR_WAIT: u32 = 1_200;

/// The time in milliseconds for which a slot is kept beyond the end of its pass. Without it, the
/// order of two events in the same millisecond would matter.
const SPARE: u32 = 1;
