//! Who is let in: the policies behind one door.

mod slots;

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use waiting_room_core::{ConfigError, WorldSnapshot};

use self::slots::SlotDoor;
use super::scenario::{Policy, Scenario};

/// The door of the world, with the policy that stands at it.
#[derive(Debug)]
pub(super) struct Door {
    guard: Guard,
    rng: Pcg64Mcg,
    site_rtt_ms: [u32; 2],
    wan_rtt_ms: [u32; 2],
    pub(super) trips: Trips,
}

#[derive(Debug)]
enum Guard {
    /// One ledger that knows everything at once: what the others are measured against.
    Ideal,
    Slots(SlotDoor),
}

/// Round trips that visitors waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trips {
    pub(super) site: u64,
    pub(super) wan: u64,
    /// Of visitors with a pass.
    pub(super) returning: u64,
}

/// Where a visitor stands who asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker {
    pub(super) who: u32,
    pub(super) site: u16,
    pub(super) now: u32,
    /// The site can reach the others.
    pub(super) is_connected: bool,
    /// A ledger that knows everything would let it in.
    pub(super) is_next: bool,
}

/// What the door says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Say {
    Admit,
    /// It has to ask somebody, and knows more then.
    Later(u32),
    Queue,
}

impl Door {
    pub(super) fn new(policy: Policy, scenario: &Scenario, seed: u64) -> Result<Self, ConfigError> {
        let guard = match policy {
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
        let Some(slots) = self.guard.slots() else { return ideal(asker) };
        let place = self.rng.random();
        let step = slots.arrive(asker, world, place);
        self.travel(asker, step)
    }

    /// The reply that somebody waited for is there.
    pub(super) fn resume(&mut self, asker: &Asker, world: Option<&Arc<WorldSnapshot>>) -> Say {
        let Some(slots) = self.guard.slots() else { return ideal(asker) };
        let step = slots.resume(asker, world);
        self.travel(asker, step)
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
        Say::Later(asker.now + self.rng.random_range(least..=most))
    }
}

impl Guard {
    const fn slots(&mut self) -> Option<&mut SlotDoor> {
        match self {
            Self::Ideal => None,
            Self::Slots(slots) => Some(slots),
        }
    }
}

/// Where a question goes.
#[derive(Clone, Copy, Debug)]
enum Step {
    Anywhere,
    Say(Say),
    Site,
}

const fn ideal(asker: &Asker) -> Say {
    if asker.is_next { Say::Admit } else { Say::Queue }
}

/// How long a node waits for a counter that it cannot reach, in milliseconds.
const TIMEOUT: u32 = 1_000;
