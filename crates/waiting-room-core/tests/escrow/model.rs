//! Every order of events, in worlds that are small enough.

use std::{collections::BTreeSet, time::Duration};

use stateright::{Checker, HasDiscoveries, Model, Property};

use crate::{
    mutant::Mutant,
    world::{Bounds, Event, Roaming, World},
};

const TOO_MANY: &str = "never more active than the limit";
const OVERDRAWN: &str = "never more granted than there is";
const FULL: &str = "sometimes as many active as the limit";
const STUCK: &str = "from everywhere to where everything is free";

impl Model for Bounds {
    type State = World;
    type Action = Event;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self)]
    }

    fn actions(&self, world: &World, events: &mut Vec<Event>) {
        events.extend(world.events(self));
    }

    fn next_state(&self, world: &World, event: Event) -> Option<World> {
        let mut next = world.clone();
        next.apply(self, &event);
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(TOO_MANY, |bounds: &Self, world: &World| {
                world.active() <= bounds.limit
            }),
            Property::always(OVERDRAWN, |bounds: &Self, world: &World| {
                bounds.global_losses > 0
                    || bounds.mutant != Mutant::None
                    || world.global.held() <= bounds.limit.into()
            }),
            Property::sometimes(FULL, |bounds: &Self, world: &World| {
                world.active() == bounds.limit
            }),
            Property::always(STUCK, |bounds: &Self, world: &World| {
                if world.tick < bounds.horizon || bounds.mutant != Mutant::None {
                    return true;
                }
                let mut end = world.clone();
                end.release(bounds);
                end.global.free() == u64::from(bounds.limit)
            }),
        ]
    }
}

const SMALL: Bounds = Bounds {
    limit: 1,
    sites: 2,
    visitors: 2,
    session: 2,
    lease: 1,
    margin: 0,
    horizon: 3,
    site_losses: 0,
    global_losses: 0,
    slow_ticks: 0,
    messages: 2,
    replies: 1,
    roaming: Roaming::Nowhere,
    mutant: Mutant::None,
};

#[test]
#[ignore]
fn explore() {
    let get = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
    };
    let mutants = [
        Mutant::None,
        Mutant::Deltas,
        Mutant::EarlyReclaim,
        Mutant::ClaimOfAnyAge,
        Mutant::NoGhosts,
        Mutant::LeaseFromReceipt,
        Mutant::NoEpochCheck,
        Mutant::NoTermCheck,
        Mutant::ReturnInUse,
        Mutant::ClaimBeforeSession,
        Mutant::AdoptAnyLease,
    ];
    let bounds = Bounds {
        limit: get("L", 1) as u32,
        visitors: get("V", 2) as u32,
        horizon: get("H", 3),
        session: get("S", 2),
        lease: get("T", 1),
        messages: get("M", 2) as usize,
        replies: get("P", 1) as usize,
        sites: get("N", 2) as u16,
        roaming: [Roaming::Nowhere, Roaming::AtHome, Roaming::Anywhere][get("R", 0) as usize],
        site_losses: get("SL", 0) as u32,
        global_losses: get("GL", 0) as u32,
        slow_ticks: get("D", 0) as u32,
        margin: get("DM", 0),
        mutant: mutants[get("X", 0) as usize],
    };
    let t = Duration::from_secs(get("SECS", 60));
    let start = std::time::Instant::now();
    let checker = bounds
        .clone()
        .checker()
        .threads(1)
        .finish_when(HasDiscoveries::AnyFailures)
        .timeout(t)
        .spawn_bfs()
        .join();
    println!(
        "{:?} states {} unique {} depth {} done {} in {:?}",
        bounds.mutant,
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth(),
        checker.is_done(),
        start.elapsed()
    );
    for (name, path) in checker.discoveries() {
        println!("  {name}: {} steps", path.clone().into_actions().len());
        if name != FULL {
            for a in path.into_actions() {
                println!("   {a:?}");
            }
        }
    }
    let _ = BTreeSet::<u8>::new();
}
