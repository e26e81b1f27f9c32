//! Admission: all policies behind one interface.

mod escrow;
mod ideal;
mod question;
mod slots;

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use waiting_room_core::ConfigError;
use waiting_room_ledger::model::WorldSnapshot;

pub(super) use self::question::{Asker, Outcome, Say, Trips};
use self::{
    escrow::{DOOR_WAIT, EscrowDoor},
    ideal::IdealDoor,
    question::Step,
    slots::SlotDoor,
};
use super::{
    scenario::{Policy, Scenario},
    truth::Stranded,
};

/// The door of a world, with its policy.
#[derive(Debug)]
pub(super) struct Door {
    guard: Guard,
    rng: Pcg64Mcg,
    site_rtt_ms: [u32; 2],
    wan_rtt_ms: [u32; 2],
    trips: Trips,
}

#[derive(Debug)]
enum Guard {
    Escrow(Box<EscrowDoor>),
    Ideal(IdealDoor),
    Slots(SlotDoor),
}

impl Door {
    pub(super) fn new(policy: Policy, scenario: &Scenario, seed: u64) -> Result<Self, ConfigError> {
        let guard = match policy {
            Policy::Escrow => Guard::Escrow(Box::new(EscrowDoor::new(scenario, seed)?)),
            Policy::Ideal => Guard::Ideal(IdealDoor::new(0)),
            Policy::IdealHolds => Guard::Ideal(IdealDoor::new(DOOR_WAIT)),
            other @ (Policy::Counters | Policy::Curve | Policy::Even) => {
                Guard::Slots(SlotDoor::new(other, scenario)?)
            }
        };
        let network = scenario.network;
        Ok(Self {
            guard,
            rng: Pcg64Mcg::seed_from_u64(seed),
            site_rtt_ms: network.site_rtt_ms,
            wan_rtt_ms: network.wan_rtt_ms,
            trips: Trips::default(),
        })
    }

    /// Requests a slot for a visitor.
    pub(super) fn request(&mut self, asker: &Asker, world: Option<&Arc<WorldSnapshot>>) -> Say {
        let place = self.rng.random();
        let step = match &mut self.guard {
            Guard::Escrow(escrow) => return escrow.arrive(asker),
            Guard::Ideal(ideal) => return ideal.arrive(asker),
            Guard::Slots(slots) => slots.arrive(asker, world, place),
        };
        self.travel(asker, step)
    }

    /// Continues a request after the reply that its visitor waited for has arrived.
    pub(super) fn resume(&mut self, asker: &Asker, world: Option<&Arc<WorldSnapshot>>) -> Say {
        let Guard::Slots(slots) = &mut self.guard else { return Say::Queue };
        let step = slots.resume(asker, world);
        self.travel(asker, step)
    }

    /// Returns the end of the pass that a visitor has just been given.
    pub(super) fn pass_ends(&self, who: u32, now: u32, session: u32) -> u32 {
        match &self.guard {
            Guard::Escrow(escrow) => escrow.pass_ends(who),
            Guard::Ideal(_) | Guard::Slots(_) => now.saturating_add(session),
        }
    }

    /// Extends a pass that ends at `ends`, because its visitor requests a page. Returns the new
    /// end.
    pub(super) fn prolong(&mut self, asker: &Asker, ends: u32, session: u32) -> u32 {
        match &mut self.guard {
            Guard::Escrow(escrow) => escrow.prolong(asker, ends),
            // The pass is sufficient proof, so every node that sees it issues a new one.
            Guard::Ideal(_) | Guard::Slots(_) => asker.now.saturating_add(session),
        }
    }

    /// Ends a session.
    pub(super) fn lapse(&mut self, who: u32) {
        if let Guard::Escrow(escrow) = &mut self.guard {
            escrow.lapse(who);
        }
    }

    /// Whether visitors stand at an ideal door, which gives them each slot that becomes free.
    pub(super) fn holds_for_a_slot(&self) -> bool {
        matches!(&self.guard, Guard::Ideal(ideal) if !ideal.is_empty())
    }

    /// Removes the visitor who is first at an ideal door.
    pub(super) fn take_first(&mut self) -> Option<u32> {
        match &mut self.guard {
            Guard::Ideal(ideal) => ideal.take_first(),
            Guard::Escrow(_) | Guard::Slots(_) => None,
        }
    }

    /// The next time at which the door has to act by itself.
    pub(super) fn next_wake(&self) -> Option<u32> {
        match &self.guard {
            Guard::Escrow(escrow) => escrow.next_wake(),
            Guard::Ideal(ideal) => ideal.next_wake(),
            Guard::Slots(_) => None,
        }
    }

    /// Acts, and returns the outcomes.
    pub(super) fn wake(&mut self, now: u32) -> Vec<Outcome> {
        match &mut self.guard {
            Guard::Escrow(escrow) => escrow.wake(now),
            Guard::Ideal(ideal) => ideal.wake(now),
            Guard::Slots(_) => Vec::new(),
        }
    }

    /// The round trips so far.
    pub(super) fn trips(&self) -> Trips {
        match &self.guard {
            Guard::Escrow(escrow) => escrow.trips(),
            Guard::Ideal(_) | Guard::Slots(_) => self.trips,
        }
    }

    /// Disconnects a site from the others.
    pub(super) fn cut(&mut self, site: usize) {
        if let Guard::Escrow(escrow) = &mut self.guard {
            escrow.cut(site);
        }
    }

    /// Reconnects a site to the others.
    pub(super) fn join(&mut self, site: usize) {
        if let Guard::Escrow(escrow) = &mut self.guard {
            escrow.join(site);
        }
    }

    /// Kills a site. Returns the visitors who were waiting for a reply from it. The ideal ledger is at
    /// no site.
    pub(super) fn kill(&mut self, site: usize) -> Vec<u32> {
        match &mut self.guard {
            Guard::Escrow(escrow) => escrow.kill(site),
            Guard::Ideal(_) | Guard::Slots(_) => Vec::new(),
        }
    }

    /// The number of slots held by unreachable sites, which no site can use.
    pub(super) fn stranded(&mut self, now: u32) -> Stranded {
        match &mut self.guard {
            Guard::Escrow(escrow) => escrow.stranded(now),
            Guard::Ideal(_) | Guard::Slots(_) => Stranded::default(),
        }
    }

    /// Turns a step into a decision. A question takes the time of a round trip.
    fn travel(&mut self, asker: &Asker, step: Step) -> Say {
        let [least, most] = match step {
            Step::Say(say) => return say,
            Step::Anywhere if !asker.is_connected => return Say::Later(asker.now + TIMEOUT),
            Step::Anywhere => {
                self.trips.wan += 1;
                self.wan_rtt_ms
            }
            Step::Site => {
                self.trips.site += 1;
                self.site_rtt_ms
            }
        };
        let takes = self.rng.random_range(least..=most);
        if takes > TIMEOUT
            && let Guard::Slots(slots) = &mut self.guard
        {
            slots.lose_patience(asker.who);
        }
        Say::Later(asker.now + takes.min(TIMEOUT))
    }
}

/// The time for which a node waits for a counter, in milliseconds.
const TIMEOUT: u32 = 1_000;
