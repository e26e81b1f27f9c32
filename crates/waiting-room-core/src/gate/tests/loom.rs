//! Tests of every interleaving of two or three threads that use one gate.
//!
//! These tests are compiled only under `cfg(waiting_room_loom)`, and `scripts/loom.sh` runs them. A
//! lost wake-up shows up as a deadlock. At the end of each critical section, the gate checks the
//! invariant that no request waits while a permit is free.

use ::loom::{future::block_on, model::Builder, sync::atomic::AtomicU32, thread};

use super::*;

/// Runs `of` in every interleaving of its threads.
fn each_interleaving(of: impl Fn() + Send + Sync + 'static) {
    Builder::new().check(of);
}

/// Runs `of` in every interleaving with at most `most` preemptions. A switch from a thread that
/// blocks does not count as a preemption.
fn each_with_interruptions(most: usize, of: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(most);
    builder.check(of);
}

fn world(limit: u32) -> World {
    World::new(GateRules::new(limit).queue(2).discipline(Discipline::Fifo))
}

/// Runs both closures concurrently, one of them on a new thread.
fn at_once<A, B>(one: A, other: B)
where
    A: FnOnce() + Send + 'static,
    B: FnOnce(),
{
    let thread = thread::spawn(one);
    other();
    thread.join().unwrap();
}

/// Enters the gate, waits if necessary, and leaves.
fn visits(gate: &Gate) {
    match gate.enter(Arrival::default(), START) {
        Entry::Admitted(permit) => drop(permit),
        Entry::Queued(place) => drop(block_on(place)),
        Entry::Refused(refused) => panic!("not queued: {refused:?}"),
    }
}

/// Asserts that a waiting request was woken exactly once, and returns its permit.
fn is_served(mut waiting: Waiting) -> Permit {
    assert_eq!(waiting.wakes(), 1);
    waiting.permit()
}

#[test]
fn grant_against_cancel() {
    each_interleaving(|| {
        let world = world(1);
        let permit = world.admitted();
        let first = world.queued();
        let second = world.queued();
        at_once(move || drop(permit), move || drop(first));
        assert_eq!(world.counts(), (1, 0));
        drop(is_served(second));
        assert_eq!(world.counts(), (0, 0));
    });
}

#[test]
fn grant_against_time_out() {
    each_interleaving(|| {
        let world = world(1);
        let permit = world.admitted();
        let first = world.queued();
        let second = world.queued();
        at_once(move || drop(permit), move || drop(first.place.time_out()));
        let out = world.snapshot().outcomes;
        assert_eq!(out.granted + out.timed_out, 2);
        drop(is_served(second));
        assert_eq!(world.counts(), (0, 0));
    });
}

#[test]
fn expiry_found_at_a_release_against_time_out() {
    each_interleaving(|| {
        let world = world(1);
        let permit = world.admitted();
        let late = world.queued();
        world.after(NANO);
        let next = world.queued();
        world.clock.advance_to(late.place.deadline() + NANO);
        at_once(
            move || drop(permit),
            move || {
                let refused = late.place.time_out().unwrap_err();
                assert_eq!(refused.because, RefusedBecause::TimedOut);
            },
        );
        assert_eq!(world.snapshot().outcomes.timed_out, 1);
        drop(is_served(next));
        assert_eq!(world.counts(), (0, 0));
    });
}

#[test]
fn release_against_a_lower_limit() {
    each_interleaving(|| {
        let world = world(2);
        let first = world.admitted();
        let second = world.admitted();
        let place = world.queued();
        let gate = world.gate.clone();
        at_once(move || drop(first), move || gate.set_limit(1).unwrap());
        let (in_flight, queued) = world.counts();
        assert_eq!(in_flight + queued, 2);
        drop(second);
        drop(is_served(place));
        assert_eq!(world.counts(), (0, 0));
    });
}

#[test]
fn release_against_a_higher_limit() {
    each_interleaving(|| {
        let world = world(1);
        let permit = world.admitted();
        let first = world.queued();
        let second = world.queued();
        let gate = world.gate.clone();
        at_once(move || drop(permit), move || gate.set_limit(2).unwrap());
        assert_eq!(world.counts(), (2, 0));
        drop((is_served(first), is_served(second)));
        assert_eq!(world.counts(), (0, 0));
    });
}

#[test]
fn release_over_a_lowered_limit_against_its_return() {
    each_interleaving(|| {
        let world = world(2);
        let first = world.admitted();
        let second = world.admitted();
        world.gate.set_limit(1).unwrap();
        let place = world.queued();
        let gate = world.gate.clone();
        at_once(move || drop(first), move || gate.set_limit(2).unwrap());
        assert_eq!(world.counts(), (2, 0));
        drop((second, is_served(place)));
        assert_eq!(world.counts(), (0, 0));
    });
}

#[test]
fn release_against_enter() {
    each_interleaving(|| {
        let world = world(1);
        let permit = world.admitted();
        let gate = world.gate.clone();
        at_once(move || drop(permit), move || visits(&gate));
        assert_eq!(world.counts(), (0, 0));
    });
}

#[test]
fn no_arrival_overtakes_at_a_release() {
    each_interleaving(|| {
        let world = world(1);
        let permit = world.admitted();
        let place = world.queued();
        let gate = world.gate.clone();
        let one = thread::spawn(move || gate.enter(Arrival::default(), START));
        drop(permit);
        let entry = one.join().unwrap();
        assert!(matches!(entry, Entry::Queued(_)), "{entry:?}");
        drop((is_served(place), entry));
        assert_eq!(world.counts(), (0, 0));
    });
}

#[test]
fn writes_under_a_permit_are_visible_to_the_next_one() {
    each_interleaving(|| {
        let world = world(1);
        let permit = world.admitted();
        let gate = world.gate.clone();
        let done = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&done);
        at_once(
            move || {
                done.store(1, Ordering::Relaxed);
                drop(permit);
            },
            move || {
                let _permit = match gate.enter(Arrival::default(), START) {
                    Entry::Admitted(permit) => permit,
                    Entry::Queued(place) => block_on(place).unwrap(),
                    Entry::Refused(refused) => panic!("not queued: {refused:?}"),
                };
                assert_eq!(seen.load(Ordering::Relaxed), 1);
            },
        );
    });
}

#[test]
fn release_against_the_poll_of_a_waiter() {
    each_interleaving(|| {
        let world = world(1);
        let (permit, Entry::Queued(place)) = (world.admitted(), world.enter(Arrival::default()))
        else {
            panic!("not queued")
        };
        at_once(move || drop(permit), move || drop(block_on(place).unwrap()));
        assert_eq!(world.counts(), (0, 0));
    });
}

#[test]
fn enter_against_enter() {
    each_with_interruptions(4, || {
        let world = world(1);
        let [one, other] = [(); 2].map(|()| world.gate.clone());
        at_once(move || visits(&one), move || visits(&other));
        assert_eq!(world.counts(), (0, 0));
    });
}

#[test]
fn two_arrivals_at_the_last_place() {
    each_interleaving(|| {
        let world = World::new(GateRules::new(1).queue(1).discipline(Discipline::Fifo));
        let permit = world.admitted();
        let gate = world.gate.clone();
        let one = thread::spawn(move || gate.enter(Arrival::default(), START));
        let other = world.enter(Arrival::default());
        let entries = (one.join().unwrap(), other);
        assert!(matches!(
            entries,
            (Entry::Queued(_), Entry::Refused(_)) | (Entry::Refused(_), Entry::Queued(_))
        ));
        drop((entries, permit));
        assert_eq!(world.counts(), (0, 0));
    });
}

#[test]
fn two_releases_and_two_waiters() {
    each_interleaving(|| {
        let world = world(2);
        let permits = [world.admitted(), world.admitted()];
        let places = [world.queued(), world.queued()];
        let [first, second] = permits;
        at_once(move || drop(first), move || drop(second));
        assert_eq!(world.counts(), (2, 0));
        drop(places.map(is_served));
        assert_eq!(world.counts(), (0, 0));
    });
}

#[test]
fn drain_against_release() {
    each_interleaving(|| {
        let world = world(1);
        let permit = world.admitted();
        let gate = world.gate.clone();
        at_once(move || drop(permit), move || block_on(gate.drain(DrainQueue::Serve)));
        assert_eq!(world.counts(), (0, 0));
    });
}

#[test]
fn drain_against_enter() {
    each_interleaving(|| {
        let world = world(1);
        let [one, other] = [(); 2].map(|()| world.gate.clone());
        at_once(
            move || drop(one.enter(Arrival::default(), START)),
            move || block_on(other.drain(DrainQueue::Refuse)),
        );
        assert_eq!(world.counts(), (0, 0));
    });
}

#[test]
fn drain_against_release_and_cancel() {
    each_with_interruptions(3, || {
        let world = world(1);
        let permit = world.admitted();
        let place = world.queued();
        let gate = world.gate.clone();
        let idle = thread::spawn(move || block_on(gate.drain(DrainQueue::Serve)));
        at_once(move || drop(permit), move || drop(place));
        idle.join().unwrap();
        assert_eq!(world.counts(), (0, 0));
    });
}

#[test]
fn grant_against_cancel_and_time_out() {
    each_with_interruptions(3, || {
        let world = World::new(GateRules::new(1).queue(3).discipline(Discipline::Fifo));
        let permit = world.admitted();
        let [first, second, third] = [(); 3].map(|()| world.queued());
        let time_out = thread::spawn(move || drop(second.place.time_out()));
        at_once(move || drop(permit), move || drop(first));
        time_out.join().unwrap();
        drop(is_served(third));
        assert_eq!(world.counts(), (0, 0));
    });
}

#[test]
fn release_against_a_lower_limit_and_enter() {
    each_with_interruptions(3, || {
        let world = world(2);
        let first = world.admitted();
        let second = world.admitted();
        let [one, other] = [(); 2].map(|()| world.gate.clone());
        let visitor = thread::spawn(move || visits(&one));
        at_once(move || drop(first), move || other.set_limit(1).unwrap());
        drop(second);
        visitor.join().unwrap();
        assert_eq!(world.counts(), (0, 0));
    });
}

#[test]
fn three_arrivals_and_releases() {
    each_with_interruptions(2, || {
        let world = world(1);
        let [one, two, three] = [(); 3].map(|()| world.gate.clone());
        let third = thread::spawn(move || visits(&three));
        at_once(move || visits(&one), move || visits(&two));
        third.join().unwrap();
        assert_eq!(world.counts(), (0, 0));
    });
}

#[test]
fn eviction_against_release() {
    each_interleaving(|| {
        let discipline = Discipline::AdaptiveLifo { interval: ms(1) };
        let world = World::new(GateRules::new(1).queue(1).discipline(discipline));
        let permit = world.admitted();
        let mut first = world.queued();
        let gate = world.gate.clone();
        at_once(
            move || drop(permit),
            move || {
                let Entry::Queued(place) = gate.enter(Arrival::default(), START) else {
                    panic!("not queued")
                };
                drop(place);
            },
        );
        // The first request was either granted the permit before the newcomer arrived, or evicted
        // in favour of the newcomer.
        assert_eq!(first.wakes(), 1);
        drop(first.poll().expect("a request that was woken has an outcome"));
        drop(first);
        assert_eq!(world.counts(), (0, 0));
    });
}
