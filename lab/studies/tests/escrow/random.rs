//! Random events, in worlds that are too large to try all orders.

use proptest::prelude::*;
use waiting_room_ledger::model::{GlobalLedger, Term};

use crate::{
    bounds::{Bounds, Event, Roaming},
    mutant::Mutant,
    world::World,
};

/// A world in which many events may happen, and many of them at once.
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
    fast_ticks: 0,
    minute: 0,
    outages: 3,
    restores: 2,
    limit_changes: 4,
    list_changes: 6,
    whims: 100,
    messages: 12,
    replies: usize::MAX,
    roaming: Roaming::Anywhere,
    mutant: Mutant::None,
};

/// A world with one slot, so that each error shows, and with messages that arrive very late.
const NARROW: Bounds = Bounds {
    limit: 1,
    sites: 2,
    session: 4,
    lease: 2,
    margin: 0,
    site_losses: 0,
    slow_ticks: 0,
    outages: 0,
    restores: 0,
    limit_changes: 0,
    list_changes: 0,
    messages: 30,
    ..LARGE
};

/// A world with a limit of new visitors in any six ticks.
const MINUTE: Bounds = Bounds {
    limit: 2,
    minute: 6,
    session: 7,
    margin: 2,
    slow_ticks: 1,
    fast_ticks: 1,
    whims: 0,
    roaming: Roaming::Nowhere,
    ..LARGE
};

/// A narrow world whose sites are switched off and fenced.
const FENCED: Bounds = Bounds { outages: 4, restores: 1, lease: 6, ..NARROW };

/// Applies the events that these numbers choose, until more visitors are active than allowed.
/// Returns the world, and the largest number of active visitors.
fn run(bounds: &Bounds, choices: impl IntoIterator<Item = u32>) -> (World, u32) {
    let mut world = World::new(bounds);
    let mut most = 0;
    for choice in choices {
        let event = choose(world.events(bounds), choice);
        world.apply(bounds, &event);
        most = most.max(world.active());
        if world.is_above(bounds) {
            break;
        }
    }
    (world, most)
}

/// Chooses one of these events: first its kind, then one of that kind.
fn choose(events: Vec<Event>, choice: u32) -> Event {
    let kind = match choice % 100 {
        0..4 => |event: &Event| matches!(event, Event::Tick),
        4..24 => |event: &Event| matches!(event, Event::Arrive(_)),
        24..30 => |event: &Event| {
            matches!(event, Event::AskAgain(..) | Event::AskInVain(..) | Event::Leave(..))
        },
        30..45 => |event: &Event| matches!(event, Event::Show(..)),
        45..60 => |event: &Event| matches!(event, Event::Beat(_)),
        60..75 => |event: &Event| matches!(event, Event::Hear(_)),
        75..96 => |event: &Event| matches!(event, Event::Tell(..)),
        96 => |event: &Event| matches!(event, Event::SlowTick(_) | Event::FastTick(_)),
        97 => |event: &Event| {
            matches!(event, Event::LoseGlobal | Event::LoseSite(_) | Event::RestoreGlobal)
        },
        98 => |event: &Event| {
            matches!(event, Event::SwitchOff(_) | Event::SwitchOn(_) | Event::Fence(_))
        },
        _ => |event: &Event| {
            matches!(event, Event::Drain(_) | Event::Remove(_) | Event::Add(_) | Event::SetLimit(_))
        },
    };
    let which = (choice / 100) as usize;
    let of_kind: Vec<_> = events.iter().filter(|event| kind(event)).cloned().collect();
    let events = if of_kind.is_empty() { events } else { of_kind };
    events[which % events.len()].clone()
}

/// Pseudo-random numbers, the same for each run (SplitMix64).
fn numbers(seed: u64) -> impl Iterator<Item = u32> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 32) as u32
    })
}

/// Checks `worlds` random worlds, and that all their slots are free again in the end.
fn check(name: &str, bounds: &Bounds, worlds: u64) {
    let mut full = 0;
    for seed in 0..worlds {
        let (mut world, most) = run(bounds, numbers(seed).take(800));
        assert!(!world.is_above(bounds), "{name}, seed {seed}");
        full += u64::from(most == bounds.limit);
        let last = Term::new(u32::MAX);
        let kept = world.kept.clone().take_over(last).unwrap();
        let restored = GlobalLedger::restore(&kept, last, world.now());
        assert_eq!(restored.unwrap().held(), world.global.held(), "{name}, seed {seed}");
        world.release(bounds);
        assert_eq!(world.global.free(), world.global.limit(), "{name}, seed {seed}");
    }
    println!("{name}: {full} of {worlds} random worlds were full, none was more than that");
    assert!(full > worlds / 4, "{full} of {worlds} worlds were full");
}

#[test]
fn random_worlds_reach_the_limit_and_become_free_again() {
    check("large", &LARGE, 40);
    check("narrow", &NARROW, 40);
    check("narrow, with two slots", &Bounds { limit: 2, ..NARROW }, 40);
    check("a minute", &MINUTE, 40);
    check("narrow, and sites are fenced", &FENCED, 40);
}

#[test]
#[ignore = "takes a minute or so: lab/scripts/model.sh"]
fn many_random_worlds_are_right() {
    check("large", &LARGE, 5_000);
    check("narrow", &NARROW, 5_000);
    check("narrow, with two slots", &Bounds { limit: 2, ..NARROW }, 5_000);
    check("narrow, and sites are lost", &Bounds { site_losses: 2, ..NARROW }, 5_000);
    check("narrow, and clocks run slow", &Bounds { slow_ticks: 2, margin: 2, ..NARROW }, 5_000);
    check("a minute", &MINUTE, 5_000);
    check("narrow, and sites are fenced", &FENCED, 5_000);
    check("narrow, and restored", &Bounds { restores: 3, global_losses: 0, ..NARROW }, 5_000);
    check("narrow, and other lists", &Bounds { limit: 2, list_changes: 9, ..NARROW }, 5_000);
    check("large, and other limits", &Bounds { limit_changes: 20, ..LARGE }, 5_000);
}

/// Runs random worlds until too many visitors are active in one of them, which must happen.
fn refute(mutant: Mutant, world: Bounds) {
    let bounds = Bounds { mutant, ..world };
    let is_wrong = |seed| run(&bounds, numbers(seed).take(800)).0.is_above(&bounds);
    assert!((0..1_000).any(is_wrong), "nothing is wrong with {mutant:?}");
}

#[test]
fn every_omitted_rule_admits_too_many() {
    let few = Bounds { messages: 8, ..NARROW };
    refute(Mutant::ClaimBeforeSession, few.clone());
    let long = Bounds { lease: 3, session: 6, whims: 0, ..few.clone() };
    refute(Mutant::ClaimUnaware, long);
    refute(Mutant::Deltas, few.clone());
    refute(Mutant::EarlyReclaim, few.clone());
    refute(Mutant::LeaseFromReceipt, few.clone());
    refute(Mutant::NoEpochCheck, Bounds { global_losses: 0, ..NARROW });
    let forgetful = Bounds { site_losses: 2, global_losses: 0, whims: 0, ..few.clone() };
    refute(Mutant::NoGhosts, Bounds { roaming: Roaming::Nowhere, ..forgetful });
    refute(Mutant::NoTermCheck, few.clone());
    refute(Mutant::ReturnInUse, few.clone());
    refute(Mutant::WithdrawSent, few.clone());
    refute(Mutant::AnswerBeforeKeeping, Bounds { restores: 20, global_losses: 0, ..few.clone() });
    refute(Mutant::OtherRules, few);
    refute(Mutant::Resume, FENCED);
    refute(Mutant::ShortMinute, MINUTE);
}

/// The number of active visitors after two losses in combination: a site dies, the slot of its
/// visitor is claimed, the global ledger is lost, and the site returns.
fn active_after_a_claim_that_was_forgotten(mutant: Mutant) -> u32 {
    let bounds = Bounds { mutant, ..NARROW };
    let mut world = World::new(&bounds);
    world.apply(&bounds, &Event::Arrive(0));
    world.deliver(&bounds);
    for _ in 0..bounds.lease {
        world.apply(&bounds, &Event::Tick);
        world.apply(&bounds, &Event::Beat(1));
        world.deliver(&bounds);
    }
    let pass = *world.passes.values().next().unwrap();
    for _ in 0..2 {
        world.apply(&bounds, &Event::Show(1, pass));
        world.deliver(&bounds);
    }
    assert_eq!((world.passes.len(), world.active()), (2, 1), "one visitor with two passes");

    world.apply(&bounds, &Event::LoseGlobal);
    for _ in bounds.lease..bounds.session {
        world.settle(&bounds);
        world.apply(&bounds, &Event::Tick);
    }
    world.apply(&bounds, &Event::Arrive(0));
    world.deliver(&bounds);
    world.active()
}

#[test]
fn a_claim_is_not_undone_by_the_loss_of_the_global_ledger() {
    assert_eq!(active_after_a_claim_that_was_forgotten(Mutant::None), 1);
    assert_eq!(active_after_a_claim_that_was_forgotten(Mutant::AdoptAnyLease), 2);
}

/// The number of active visitors after the counterexample E1 of the review: a site is off and fenced,
/// the slot of its visitor is claimed, the global ledger is lost, and the site is on again.
fn active_after_a_fence_that_was_forgotten(mutant: Mutant) -> u32 {
    let bounds = Bounds { mutant, lease: 10, session: 12, ..NARROW };
    let mut world = World::new(&bounds);
    world.apply(&bounds, &Event::Arrive(0));
    world.deliver(&bounds);
    let pass = *world.passes.values().next().unwrap();
    world.apply(&bounds, &Event::SwitchOff(0));
    world.apply(&bounds, &Event::Fence(0));
    for _ in 0..3 {
        world.apply(&bounds, &Event::Tick);
        world.apply(&bounds, &Event::Show(1, pass));
        world.deliver(&bounds);
    }
    assert_eq!((world.passes.len(), world.active()), (2, 1), "one visitor with two passes");
    world.apply(&bounds, &Event::LoseGlobal);
    world.apply(&bounds, &Event::SwitchOn(0));
    for tick in 3..bounds.session {
        // From tick 6 on, the site is cut off, so that it is no longer asked for its slot.
        if tick < 6 {
            world.settle(&bounds);
        }
        world.apply(&bounds, &Event::Tick);
    }
    world.apply(&bounds, &Event::Arrive(0));
    world.active()
}

#[test]
fn a_fence_is_not_undone_by_the_loss_of_the_global_ledger() {
    assert_eq!(active_after_a_fence_that_was_forgotten(Mutant::None), 1);
    assert_eq!(active_after_a_fence_that_was_forgotten(Mutant::ForgetFences), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn active_visitors_never_exceed_the_limit(
        choices in prop::collection::vec(any::<u32>(), 400..1500),
    ) {
        let (world, _) = run(&LARGE, choices);
        prop_assert!(!world.is_above(&LARGE));
    }
}
