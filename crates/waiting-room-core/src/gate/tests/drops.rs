//! Tests that dropped permits and dropped queued requests are released immediately.

use super::*;
use crate::time::Clock;

fn world() -> World {
    World::new(GateRules::new(1).discipline(Discipline::Fifo))
}

#[test]
fn a_place_that_was_never_polled_passes_its_permit_on_too() {
    let world = world();
    let (permit, Entry::Queued(place)) = (world.admitted(), world.enter(Arrival::default())) else {
        panic!("not queued")
    };
    drop(permit);
    assert_eq!(world.counts(), (1, 0));
    drop(place);
    assert_eq!(world.counts(), (0, 0));
}

#[test]
fn a_finished_place_gives_back_nothing_more() {
    let world = world();
    let permit = world.admitted();
    let mut place = world.queued();
    drop(permit);
    let permit = place.permit();
    drop(place);
    assert_eq!(world.counts(), (1, 0));
    drop(permit);
    assert_eq!(world.counts(), (0, 0));
}

#[test]
fn a_refused_place_gives_back_nothing() {
    let world = world();
    let permit = world.admitted();
    let told = world.queued();
    let untold = world.queued();
    let _idle = world.gate.drain(DrainQueue::Refuse);
    drop((told, untold));
    assert_eq!(world.counts(), (1, 0));
    drop(permit);
    assert_eq!((world.counts(), world.snapshot().outcomes.cancelled), ((0, 0), 0));
}

#[test]
fn a_panic_returns_the_permit() {
    let world = world();
    let permit = world.admitted();
    let mut next = world.queued();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _permit = permit;
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(panicked.is_err());
    drop(next.permit());
}

#[test]
#[should_panic(expected = "polled after completion")]
fn a_finished_place_cannot_time_out() {
    let world = world();
    let permit = world.admitted();
    let mut place = world.queued();
    drop(permit);
    drop(place.permit());
    drop(place.place.time_out());
}

#[test]
fn a_gate_is_gone_with_its_last_permit_and_place() {
    #[derive(Clone, Debug)]
    struct Owned(Arc<()>);

    impl Clock for Owned {
        fn now(&self) -> Timestamp {
            START
        }
    }

    let owned = Owned(Arc::new(()));
    let gate = Gate::with_clock(GateRules::new(1), 7, owned.clone()).unwrap();
    let permit = gate.enter(Arrival::default(), START);
    let place = gate.enter(Arrival::default(), START);
    drop(gate);
    drop(permit);
    assert_eq!(Arc::strong_count(&owned.0), 2);
    drop(place);
    assert_eq!(Arc::strong_count(&owned.0), 1);
}
