//! Tests of the gate in virtual time with hand-written wakers, against a naive model, and with
//! threads.

#![cfg_attr(waiting_room_loom, allow(dead_code, reason = "the loom models use few helpers"))]

#[cfg(not(waiting_room_loom))]
mod cases;
#[cfg(not(waiting_room_loom))]
mod chaos;
#[cfg(not(waiting_room_loom))]
mod drain;
#[cfg(not(waiting_room_loom))]
mod drops;
#[cfg(not(waiting_room_loom))]
mod estimates;
#[cfg(waiting_room_loom)]
mod loom;
#[cfg(not(waiting_room_loom))]
mod oracle;
#[cfg(not(waiting_room_loom))]
mod wakers;

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use super::*;
use crate::{Timestamp, time::ManualClock};

/// A gate and its clock.
struct World {
    gate: Gate,
    clock: ManualClock,
}

/// A request in the queue, polled with a waker that counts its wake-ups.
#[derive(Debug)]
struct Waiting {
    place: Acquire,
    wakes: Arc<WakeList>,
}

/// Counts how often a task has been woken.
#[derive(Debug, Default)]
struct WakeList(AtomicUsize);

impl World {
    fn new(rules: GateRules) -> Self {
        let clock = ManualClock::new(START);
        let gate = Gate::with_clock(rules, 7, clock.clone()).unwrap();
        Self { gate, clock }
    }

    fn enter(&self, arrival: Arrival) -> Entry {
        self.gate.enter(arrival, self.gate.now())
    }

    fn admitted(&self) -> Permit {
        self.admitted_as(Arrival::default())
    }

    fn admitted_as(&self, arrival: Arrival) -> Permit {
        match self.enter(arrival) {
            Entry::Admitted(permit) => permit,
            other @ (Entry::Queued(_) | Entry::Refused(_)) => panic!("not admitted: {other:?}"),
        }
    }

    fn queued(&self) -> Waiting {
        self.queued_as(Arrival::default())
    }

    fn queued_as(&self, arrival: Arrival) -> Waiting {
        match self.enter(arrival) {
            Entry::Queued(place) => Waiting::new(place),
            other @ (Entry::Admitted(_) | Entry::Refused(_)) => panic!("not queued: {other:?}"),
        }
    }

    fn refused(&self) -> GateRefused {
        self.refused_as(Arrival::default())
    }

    fn refused_as(&self, arrival: Arrival) -> GateRefused {
        match self.enter(arrival) {
            Entry::Refused(refused) => refused,
            other @ (Entry::Admitted(_) | Entry::Queued(_)) => panic!("not refused: {other:?}"),
        }
    }

    /// Advances the clock by `duration`.
    fn after(&self, duration: Duration) {
        self.clock.advance(duration);
    }

    fn snapshot(&self) -> GateSnapshot {
        self.gate.snapshot(self.gate.now())
    }

    /// Returns the number of running requests and the number of waiting requests.
    fn counts(&self) -> (u32, u32) {
        let snapshot = self.snapshot();
        (snapshot.in_flight, snapshot.queued)
    }

    /// Serves twenty requests for `hold` each, so that a gate with one permit measures this run
    /// time.
    fn learns(&self, hold: Duration) {
        let mut permit = self.admitted();
        for _ in 0..20 {
            let mut next = self.queued();
            self.after(hold);
            drop(permit);
            permit = next.permit();
        }
    }
}

impl Waiting {
    /// Polls the future of a queued request once, so that the gate stores a waker.
    fn new(place: Acquire) -> Self {
        let mut waiting = Self { place, wakes: Arc::default() };
        assert!(waiting.poll().is_none(), "the request must be waiting");
        waiting
    }

    fn poll(&mut self) -> Option<Result<Permit, GateRefused>> {
        match poll(&mut self.place, &self.wakes) {
            Poll::Ready(told) => Some(told),
            Poll::Pending => None,
        }
    }

    fn permit(&mut self) -> Permit {
        match self.poll() {
            Some(Ok(permit)) => permit,
            other => panic!("no permit: {other:?}"),
        }
    }

    fn refusal(&mut self) -> GateRefused {
        match self.poll() {
            Some(Err(refused)) => refused,
            other => panic!("no refusal: {other:?}"),
        }
    }

    fn wakes(&self) -> usize {
        self.wakes.count()
    }
}

impl WakeList {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for WakeList {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll<F: Future + Unpin>(
    future: &mut F,
    waker: &Arc<impl Wake + Send + Sync + 'static>,
) -> Poll<F::Output> {
    let waker = Waker::from(Arc::clone(waker));
    Pin::new(future).poll(&mut Context::from_waker(&waker))
}

/// Serves the waiting requests one after another, and returns the order in which they are served.
fn order<N: Copy>(permit: Permit, mut waiting: Vec<(N, Waiting)>) -> Vec<N> {
    let mut served = Vec::new();
    let mut running = permit;
    loop {
        drop(running);
        let polled =
            waiting.iter_mut().enumerate().find_map(|(index, (name, place))| match place.poll() {
                Some(Ok(permit)) => Some((index, *name, permit)),
                _ => None,
            });
        let Some((index, name, permit)) = polled else { return served };
        drop(waiting.remove(index));
        served.push(name);
        running = permit;
    }
}

/// The time at the start of each test.
const START: Timestamp = Timestamp::from_secs(1_000);
const NANO: Duration = Duration::from_nanos(1);

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
