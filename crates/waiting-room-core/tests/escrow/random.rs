//! Random events in worlds that are too large for every order of them.

use proptest::prelude::*;

use crate::{
    mutant::Mutant,
    world::{Bounds, Roaming, World},
};

const LARGE: Bounds = Bounds {
    limit: 7,
    sites: 4,
    visitors: 10_000,
    session: 9,
    lease: 4,
    margin: 2,
    horizon: u64::MAX,
    site_losses: 2,
    global_losses: 1,
    slow_ticks: 2,
    messages: 24,
    replies: usize::MAX,
    roaming: Roaming::Anywhere,
    mutant: Mutant::None,
};

/// Lets the events happen that were chosen by these numbers. Says how many were active at most.
fn run(bounds: &Bounds, choices: &[u32]) -> (World, u32) {
    let mut world = World::new(bounds);
    let mut most = 0;
    for &choice in choices {
        let events = world.events(bounds);
        let event = &events[choice as usize % events.len()];
        world.apply(bounds, event);
        most = most.max(world.active());
        assert!(world.active() <= bounds.limit, "after {event:?}");
    }
    (world, most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn never_more_are_active_than_the_limit(
        choices in prop::collection::vec(any::<u32>(), 400..1500),
    ) {
        run(&LARGE, &choices);
    }
}
