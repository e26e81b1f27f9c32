//! Tests of wakers as foreign code. A waker may call any method of the gate, and may panic.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Mutex,
};

use super::*;

/// A waker that calls various methods of the gate when it is woken and when it is dropped.
struct Meddler {
    gate: Gate,
    permit: Mutex<Option<Permit>>,
    meddled: Arc<WakeList>,
}

impl Meddler {
    fn new(gate: &Gate, meddled: &Arc<WakeList>) -> Arc<Self> {
        let gate = gate.clone();
        let meddled = Arc::clone(meddled);
        Arc::new(Self { gate, permit: Mutex::default(), meddled })
    }

    fn meddle(&self) {
        self.meddled.wake_by_ref();
        let now = self.gate.now();
        drop(self.permit.lock().unwrap().take());
        drop(self.gate.enter(Arrival::default(), now));
        _ = self.gate.snapshot(now);
        _ = format!("{:?}", self.gate);
        self.gate.set_limit(1).unwrap();
        self.gate.open();
    }
}

impl Wake for Meddler {
    fn wake(self: Arc<Self>) {
        self.meddle();
    }
}

impl Drop for Meddler {
    fn drop(&mut self) {
        self.meddle();
    }
}

impl WakeList {
    fn wake_by_ref(self: &Arc<Self>) {
        Arc::clone(self).wake();
    }
}

fn world() -> World {
    World::new(
        GateRules::new(1).discipline(Discipline::AdaptiveLifo { interval: ms(1_000) }).queue(2),
    )
}

/// Queues a request with a meddling waker, to which the gate holds the only reference.
fn meddling(world: &World, meddled: &Arc<WakeList>) -> Acquire {
    let Entry::Queued(mut place) = world.enter(Arrival::default()) else { panic!("not queued") };
    assert!(poll(&mut place, &Meddler::new(&world.gate, meddled)).is_pending());
    place
}

#[test]
fn a_waker_may_do_anything_when_a_permit_is_granted() {
    let world = world();
    let meddled = Arc::default();
    let permit = world.admitted();
    let place = meddling(&world, &meddled);
    drop(permit);
    assert_eq!(meddled.count(), 2, "the waker was woken and dropped");
    drop(place);
    assert_eq!(world.counts(), (0, 0));
}

#[test]
fn a_waker_may_return_a_permit_when_it_is_woken() {
    let world = world();
    let meddled = Arc::default();
    world.gate.set_limit(2).unwrap();
    let first = world.admitted();
    let second = world.admitted();
    world.gate.set_limit(2).unwrap();
    let meddler = Meddler::new(&world.gate, &meddled);
    *meddler.permit.lock().unwrap() = Some(second);
    let Entry::Queued(mut place) = world.enter(Arrival::default()) else { panic!("not queued") };
    assert!(poll(&mut place, &meddler).is_pending());
    drop(meddler);
    drop(first);
    drop(place);
    assert_eq!(world.counts(), (0, 0));
}

#[test]
fn a_waker_may_do_anything_when_a_waiter_is_evicted() {
    let world = world();
    let meddled = Arc::default();
    let _permit = world.admitted();
    let place = meddling(&world, &meddled);
    let _others = [(); 4].map(|()| world.enter(Arrival::default()));
    assert_eq!(meddled.count(), 2);
    drop(place);
}

#[test]
fn a_waker_may_do_anything_when_the_gate_is_drained() {
    let world = world();
    let meddled = Arc::default();
    let permit = world.admitted();
    let places = [meddling(&world, &meddled), meddling(&world, &meddled)];
    let mut idle = world.gate.drain(DrainQueue::Refuse);
    assert_eq!(meddled.count(), 4);
    // The wakers of the refused requests have opened the gate again.
    assert!(!world.snapshot().is_draining);
    drop(places);
    assert!(poll(&mut idle, &Meddler::new(&world.gate, &meddled)).is_pending());
    drop(permit);
    drop(world.gate.drain(DrainQueue::Refuse));
    assert_eq!(meddled.count(), 6);
    drop(idle);
}

#[test]
fn a_waker_may_do_anything_when_it_is_replaced_or_dropped() {
    let world = world();
    let meddled = Arc::default();
    let permit = world.admitted();
    let mut place = meddling(&world, &meddled);
    assert!(poll(&mut place, &Meddler::new(&world.gate, &meddled)).is_pending());
    assert_eq!(meddled.count(), 1);
    drop(place);
    assert_eq!(meddled.count(), 2);
    let place = meddling(&world, &meddled);
    assert!(place.time_out().is_err());
    assert_eq!(meddled.count(), 3);

    let mut idle = world.gate.drain(DrainQueue::Serve);
    for count in [3, 4] {
        assert!(poll(&mut idle, &Meddler::new(&world.gate, &meddled)).is_pending());
        assert_eq!(meddled.count(), count);
    }
    drop(idle);
    assert_eq!(meddled.count(), 5);
    drop(permit);
}

#[test]
fn the_last_waker_is_the_one_that_is_woken() {
    let world = world();
    let permit = world.admitted();
    let mut place = world.queued();
    let last = Arc::<WakeList>::default();
    assert!(poll(&mut place.place, &last).is_pending());
    drop(permit);
    assert_eq!((place.wakes(), last.count()), (0, 1));
}

#[test]
fn a_permit_granted_before_the_first_poll_is_found() {
    let world = world();
    let (permit, Entry::Queued(mut place)) = (world.admitted(), world.enter(Arrival::default()))
    else {
        panic!("not queued")
    };
    drop(permit);
    let wakes = Arc::<WakeList>::default();
    assert!(matches!(poll(&mut place, &wakes), Poll::Ready(Ok(_))));
    assert_eq!(wakes.count(), 0);
}

/// A waker that panics when it is woken.
struct Panicking;

impl Wake for Panicking {
    fn wake(self: Arc<Self>) {
        resume_unwind(Box::new(()));
    }
}

/// Queues a request whose waker panics.
fn panicking(world: &World) -> Acquire {
    let Entry::Queued(mut place) = world.enter(Arrival::default()) else { panic!("not queued") };
    assert!(poll(&mut place, &Arc::new(Panicking)).is_pending());
    place
}

#[test]
fn a_panicking_waker_costs_its_successor_no_permit() {
    let world = world();
    let permit = world.admitted();
    let evicted = panicking(&world);
    let other = world.queued();
    drop(catch_unwind(AssertUnwindSafe(|| world.enter(Arrival::default()))));
    drop((evicted, other));
    assert_eq!(world.counts(), (1, 0));
    drop(permit);
    assert_eq!(world.counts(), (0, 0));
}

#[test]
fn a_panicking_waker_does_not_keep_others_from_being_woken() {
    let world = world();
    let permit = world.admitted();
    let first = panicking(&world);
    let mut second = world.queued();
    drop(catch_unwind(AssertUnwindSafe(|| world.gate.set_limit(3))));
    assert_eq!(second.wakes(), 1);
    drop((permit, first, second.permit()));
    assert_eq!(world.counts(), (0, 0));
}

#[test]
fn a_leaving_waiter_is_not_hit_by_a_panicking_waker() {
    let world = world();
    let permit = world.admitted();
    let place = panicking(&world);
    drop(permit);
    drop(place);
    assert_eq!(world.counts(), (0, 0));
}
