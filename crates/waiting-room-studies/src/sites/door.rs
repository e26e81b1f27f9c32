//! Who is let in: the policies behind one door.

mod escrow;
mod question;
mod slots;

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use waiting_room_core::ConfigError;
use waiting_room_sites::WorldSnapshot;

pub(super) use self::question::{Asker, Outcome, Say, Trips};
use self::{escrow::EscrowDoor, question::Step, slots::SlotDoor};
use super::{
    scenario::{Policy, Scenario},
    truth::Stranded,
};

/// The door of the world, with the policy that stands at it.
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
    /// One ledger that knows everything at once: what the others are measured against.
    Ideal,
    Slots(SlotDoor),
}

impl Door {
    pub(super) fn new(policy: Policy, scenario: &Scenario, seed: u64) -> Result<Self, ConfigError> {
        let guard = match policy {
            Policy::Escrow => Guard::Escrow(Box::new(EscrowDoor::new(scenario, seed)?)),
            Policy::Ideal => Guard::Ideal,
            other => Guard::Slots(SlotDoor::new(other, scenario)?),
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

    /// Somebody asks for a slot.
    pub(super) fn ask(&mut self, asker: &Asker, world: Option<&Arc<WorldSnapshot>>) -> Say {
        let place = self.rng.random();
        let step = match &mut self.guard {
            Guard::Escrow(escrow) => {
                return escrow.arrive(asker);
            }
            Guard::Ideal => return ideal(asker),
            Guard::Slots(slots) => slots.arrive(asker, world, place),
        };
        self.travel(asker, step)
    }

    /// The reply that somebody waited for is there.
    pub(super) fn resume(&mut self, asker: &Asker, world: Option<&Arc<WorldSnapshot>>) -> Say {
        let Guard::Slots(slots) = &mut self.guard else { return Say::Queue };
        let step = slots.resume(asker, world);
        self.travel(asker, step)
    }

    /// When the pass ends that somebody has just got.
    pub(super) fn pass_ends(&self, who: u32, now: u32, session: u32) -> u32 {
        match &self.guard {
            Guard::Escrow(escrow) => escrow.pass_ends(who),
            Guard::Ideal | Guard::Slots(_) => now.saturating_add(session),
        }
    }

    /// A visitor with a pass that ends at `ends` asks for a page at a site: when it ends now.
    pub(super) fn prolong(&mut self, asker: &Asker, ends: u32, session: u32) -> u32 {
        match &mut self.guard {
            Guard::Escrow(escrow) => escrow.prolong(asker, ends),
            // The pass alone is proof, and whoever sees it makes a new one.
            Guard::Ideal | Guard::Slots(_) => asker.now.saturating_add(session),
        }
    }

    /// A session is over.
    pub(super) fn lapse(&mut self, who: u32) {
        if let Guard::Escrow(escrow) = &mut self.guard {
            escrow.lapse(who);
        }
    }

    /// When the door has something to do by itself.
    pub(super) fn next_wake(&self) -> Option<u32> {
        match &self.guard {
            Guard::Escrow(escrow) => escrow.next_wake(),
            Guard::Ideal | Guard::Slots(_) => None,
        }
    }

    /// What it has done.
    pub(super) fn wake(&mut self, now: u32) -> Vec<Outcome> {
        match &mut self.guard {
            Guard::Escrow(escrow) => escrow.wake(now),
            Guard::Ideal | Guard::Slots(_) => Vec::new(),
        }
    }

    /// What it has cost so far.
    pub(super) fn trips(&self) -> Trips {
        match &self.guard {
            Guard::Escrow(escrow) => escrow.trips(),
            Guard::Ideal | Guard::Slots(_) => self.trips,
        }
    }

    /// This site cannot reach the others any more.
    pub(super) fn cut(&mut self, site: usize) {
        if let Guard::Escrow(escrow) = &mut self.guard {
            escrow.cut(site);
        }
    }

    /// This site can reach the others again.
    pub(super) fn join(&mut self, site: usize) {
        if let Guard::Escrow(escrow) = &mut self.guard {
            escrow.join(site);
        }
    }

    /// This site is gone: the visitors who were waiting to hear from it.
    pub(super) fn kill(&mut self, site: usize) -> Vec<u32> {
        match (&mut self.guard, u16::try_from(site)) {
            (Guard::Escrow(escrow), Ok(site)) => escrow.kill(site),
            _ => Vec::new(),
        }
    }

    /// Slots that nobody can use, because a site holds them that cannot be reached.
    pub(super) fn stranded(&mut self, now: u32) -> Stranded {
        match &mut self.guard {
            Guard::Escrow(escrow) => escrow.stranded(now),
            Guard::Ideal | Guard::Slots(_) => Stranded::default(),
        }
    }

    /// How long it takes to ask.
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

const fn ideal(asker: &Asker) -> Say {
    if asker.is_next { Say::Admit } else { Say::Queue }
}

/// How long a node waits for a counter, in milliseconds.
const TIMEOUT: u32 = 1_000;
