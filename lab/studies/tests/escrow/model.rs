//! All orders of events, in worlds that are small enough for that.

use stateright::{Checker, HasDiscoveries, Model, Property};

use crate::{
    bounds::{Bounds, Event, Roaming},
    mutant::Mutant,
    world::World,
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
            Property::always(TOO_MANY, |bounds: &Self, world: &World| !world.is_above(bounds)),
            Property::always(OVERDRAWN, |bounds: &Self, world: &World| {
                bounds.global_losses > 0 || bounds.mutant != Mutant::None || !world.is_overdrawn()
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
                end.global.free() == end.global.limit()
            }),
        ]
    }
}

/// Two sites and one slot. Each test adds the kinds of events that it is about.
const SMALL: Bounds = Bounds {
    limit: 1,
    sites: 2,
    visitors: 2,
    session: 2,
    lease: 1,
    margin: 0,
    horizon: 2,
    site_losses: 0,
    global_losses: 0,
    slow_ticks: 0,
    fast_ticks: 0,
    minute: 0,
    outages: 0,
    restores: 0,
    limit_changes: 0,
    list_changes: 0,
    whims: 0,
    messages: 2,
    replies: 1,
    roaming: Roaming::Nowhere,
    mutant: Mutant::None,
};

/// A world with one new visitor in any two ticks. A slot is held for one tick more, since the clock
/// of a site may be ahead by one.
const MINUTE: Bounds = Bounds { minute: 2, session: 3, fast_ticks: 1, margin: 1, ..SMALL };

/// Checks all states of a world, and prints their number.
fn check(name: &str, bounds: Bounds) {
    let checker = bounds.checker().spawn_bfs().join();
    let states = checker.unique_state_count();
    let depth = checker.max_depth();
    println!("{name}: {states} states, {depth} events deep");
    checker.assert_properties();
}

/// Searches the states of a world for one with too many active visitors, which must exist.
fn refute(name: &str, bounds: Bounds) {
    let failures = HasDiscoveries::AnyFailures;
    let checker = bounds.checker().finish_when(failures).spawn_bfs().join();
    let path = checker.assert_any_discovery(TOO_MANY);
    let states = checker.unique_state_count();
    let events = path.into_actions().len();
    println!("{name}: wrong after {events} events, found in {states} states");
}

#[test]
fn lost_doubled_and_late_messages_are_harmless() {
    check("messages", SMALL);
}

#[test]
fn a_clock_that_runs_slow_is_harmless() {
    check("a slow clock", Bounds { slow_ticks: 1, margin: 1, ..SMALL });
}

#[test]
fn a_site_that_loses_its_ledger_is_harmless() {
    let prolonged = Bounds { visitors: 1, roaming: Roaming::AtHome, ..SMALL };
    check("a lost site", Bounds { site_losses: 1, ..prolonged });
}

#[test]
fn a_global_ledger_that_is_lost_is_harmless() {
    let prolonged = Bounds { visitors: 1, roaming: Roaming::AtHome, ..SMALL };
    check("a lost global ledger", Bounds { global_losses: 1, ..prolonged });
}

#[test]
fn a_global_ledger_that_is_restored_is_harmless() {
    check("a restored global ledger", Bounds { restores: 1, messages: 1, ..SMALL });
}

#[test]
fn a_site_that_is_switched_off_and_fenced_is_harmless() {
    check("an outage", Bounds { outages: 1, session: 1, lease: 2, messages: 1, ..SMALL });
}

#[test]
fn a_limit_that_is_changed_is_kept() {
    check("another limit", Bounds { limit_changes: 1, messages: 1, ..SMALL });
}

#[test]
fn sites_that_are_drained_removed_and_added_are_harmless() {
    check("another list", Bounds { list_changes: 2, messages: 1, ..SMALL });
}

#[test]
fn a_fast_clock_admits_no_more_within_a_minute() {
    check("a fast clock", MINUTE);
}

#[test]
fn a_minute_by_a_fast_clock_admits_too_many() {
    refute("a short minute", Bounds { mutant: Mutant::ShortMinute, ..MINUTE });
}

#[test]
fn answers_before_their_storage_admit_too_many() {
    let mutant = Mutant::AnswerBeforeKeeping;
    refute("answers before they are kept", Bounds { restores: 1, mutant, ..SMALL });
}

#[test]
fn answers_that_overtake_earlier_changes_admit_too_many() {
    let mutant = Mutant::AnswerOvertakes;
    refute("answers that overtake", Bounds { restores: 1, mutant, ..SMALL });
}

#[test]
fn a_site_that_resumes_after_an_outage_admits_too_many() {
    let quick = Bounds { session: 1, lease: 2, ..SMALL };
    refute("a site that resumes", Bounds { outages: 1, mutant: Mutant::Resume, ..quick });
}

#[test]
fn roaming_visitors_are_harmless() {
    check("roaming", Bounds { visitors: 1, roaming: Roaming::Anywhere, ..SMALL });
}

#[test]
fn leaving_and_asking_again_is_harmless() {
    check("whims", Bounds { whims: 1, ..SMALL });
}

#[test]
fn grants_of_differences_admit_too_many() {
    refute("differences", Bounds { mutant: Mutant::Deltas, ..SMALL });
}

#[test]
fn returning_slots_in_use_admits_too_many() {
    refute("returns", Bounds { mutant: Mutant::ReturnInUse, ..SMALL });
}

#[test]
#[ignore = "takes a minute or so: lab/scripts/model.sh"]
fn larger_worlds_are_right() {
    let three = Bounds { horizon: 3, ..SMALL };
    check("messages", three.clone());
    check("two slots", Bounds { limit: 2, visitors: 3, ..SMALL });
    check("three sites", Bounds { sites: 3, ..SMALL });
    check("sessions that are prolonged", Bounds { roaming: Roaming::AtHome, ..three.clone() });
    check("a slow clock", Bounds { slow_ticks: 1, margin: 1, visitors: 1, ..three.clone() });
    check("a lost site", Bounds { site_losses: 1, ..SMALL });
    check("a lost global ledger", Bounds { global_losses: 1, ..SMALL });
    check("roaming", Bounds { roaming: Roaming::Anywhere, ..SMALL });
    check("whims", Bounds { whims: 2, ..SMALL });
    check("a restored global ledger", Bounds { restores: 1, ..SMALL });
    check("an outage", Bounds { outages: 1, session: 1, lease: 2, ..SMALL });
    check("another limit", Bounds { limit_changes: 2, ..SMALL });
    check("another list", Bounds { list_changes: 3, visitors: 1, ..SMALL });
    check("roaming for long", Bounds { roaming: Roaming::Anywhere, visitors: 1, ..three });
}

#[test]
#[ignore = "takes a minute or so: lab/scripts/model.sh"]
fn larger_worlds_with_an_omitted_rule_admit_too_many() {
    let three = Bounds { horizon: 3, ..SMALL };
    let late = Bounds { session: 4, lease: 2, horizon: 4, mutant: Mutant::EarlyReclaim, ..SMALL };
    refute("a reclaim at the end of the lease", late);
    let long = Bounds { session: 1, mutant: Mutant::LeaseFromReceipt, ..three.clone() };
    refute("a lease from the receipt", long);
    let forgetful = Bounds { global_losses: 1, mutant: Mutant::NoTermCheck, ..three };
    refute("no terms", forgetful);
}
