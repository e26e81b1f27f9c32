//! Random events in worlds that are too large for every order of them.

use proptest::prelude::*;

use crate::{
    mutant::Mutant,
    world::{Bounds, Event, Roaming, World},
};

const LARGE: Bounds = Bounds {
    limit: 3,
    sites: 3,
    visitors: 10_000,
    session: 12,
    lease: 6,
    margin: 2,
    horizon: u64::MAX,
    site_losses: 2,
    global_losses: 1,
    slow_ticks: 2,
    messages: 12,
    replies: usize::MAX,
    roaming: Roaming::Anywhere,
    mutant: Mutant::None,
};

/// Lets the events happen that were chosen by these numbers, until more are active than may be.
/// Says how many were active at most.
fn run(bounds: &Bounds, choices: impl IntoIterator<Item = u32>) -> (World, u32) {
    let mut world = World::new(bounds);
    let mut most = 0;
    for choice in choices {
        let event = choose(world.events(bounds), choice);
        world.apply(bounds, &event);
        most = most.max(world.active());
        if most > bounds.limit {
            break;
        }
    }
    (world, most)
}

/// One of these events: first of what kind, then which.
fn choose(events: Vec<Event>, choice: u32) -> Event {
    let kind = match choice % 100 {
        0..4 => |event: &Event| matches!(event, Event::Tick),
        4..30 => |event: &Event| matches!(event, Event::Arrive(_)),
        30..45 => |event: &Event| matches!(event, Event::Show(..)),
        45..60 => |event: &Event| matches!(event, Event::Beat(_)),
        60..75 => |event: &Event| matches!(event, Event::Hear(_)),
        75..98 => |event: &Event| matches!(event, Event::Tell(..)),
        98 => |event: &Event| matches!(event, Event::SlowTick(_)),
        _ => |event: &Event| matches!(event, Event::LoseGlobal | Event::LoseSite(_)),
    };
    let which = (choice / 100) as usize;
    let of_kind: Vec<_> = events.iter().filter(|event| kind(event)).cloned().collect();
    let events = if of_kind.is_empty() { events } else { of_kind };
    events[which % events.len()].clone()
}

/// Numbers that look random and are the same each time (SplitMix64).
fn numbers(seed: u64) -> impl Iterator<Item = u32> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 32) as u32
    })
}

#[test]
fn random_worlds_reach_the_limit_and_are_free_again_in_the_end() {
    let mut full = 0;
    for seed in 0..100 {
        let (mut world, most) = run(&LARGE, numbers(seed).take(1000));
        assert!(most <= LARGE.limit, "of seed {seed}");
        full += u32::from(most == LARGE.limit);
        world.release(&LARGE);
        assert_eq!(world.global.free(), u64::from(LARGE.limit), "of seed {seed}");
    }
    println!("{full} of 100 worlds were full");
    assert!(full > 50, "{full} of 100 worlds were full");
}

#[test]
fn mutants() {
    let g = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
    };
    for mutant in [
        Mutant::None,
        Mutant::ClaimUnaware,
        Mutant::ClaimOfAnyAge,
        Mutant::AdoptAnyLease,
        Mutant::LeaseFromReceipt,
        Mutant::NoGhosts,
    ] {
        let bounds = Bounds {
            mutant,
            limit: g("L", 1) as u32,
            sites: g("N", 2) as u16,
            session: g("S", 3),
            lease: g("T", 1),
            margin: g("DM", 0),
            slow_ticks: g("D", 0) as u32,
            site_losses: g("SL", 0) as u32,
            global_losses: g("GL", 1) as u32,
            messages: g("M", 30) as usize,
            ..LARGE
        };
        let first = (0..g("SEEDS", 20000)).find(|&seed| {
            let (_, most) = run(&bounds, numbers(seed).take(1000));
            most > bounds.limit
        });
        println!("{mutant:?}: {first:?}");
        if mutant == Mutant::None
            && let Some(seed) = first
        {
            let mut world = World::new(&bounds);
            let mut trace = vec![];
            for choice in numbers(seed).take(1000) {
                let event = choose(world.events(&bounds), choice);
                world.apply(&bounds, &event);
                trace.push(event);
                if world.active() > bounds.limit {
                    break;
                }
            }
            let bad = |trace: &[Event]| {
                let mut world = World::new(&bounds);
                for event in trace {
                    if world.events(&bounds).contains(event) {
                        world.apply(&bounds, event);
                    }
                    if world.active() > bounds.limit {
                        return true;
                    }
                }
                false
            };
            assert!(bad(&trace));
            loop {
                let n = trace.len();
                let mut i = 0;
                while i < trace.len() {
                    let mut shorter = trace.clone();
                    shorter.remove(i);
                    if bad(&shorter) {
                        trace = shorter;
                    } else {
                        i += 1;
                    }
                }
                if trace.len() == n {
                    break;
                }
            }
            for event in &trace {
                println!("{event:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn never_more_are_active_than_the_limit(
        choices in prop::collection::vec(any::<u32>(), 400..1500),
    ) {
        let (_, most) = run(&LARGE, choices);
        prop_assert!(most <= LARGE.limit);
    }
}
