//! The real gate in virtual time, and the agenda of events at the gate.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    mem,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Wake, Waker},
};

use rustc_hash::FxHashMap;
use waiting_room_core::{
    Gate, Timestamp,
    gate::{Acquire, Arrival, Entry, GateRefused, GateRules, Permit},
    time::ManualClock,
};

/// A gate, with the running and the waiting requests by their numbers.
///
/// It treats places and permits as a server does: it polls a place once and then whenever it is
/// woken, times it out at its deadline, and drops it when the client has left.
pub(super) struct Door {
    gate: Gate,
    clock: ManualClock,
    places: FxHashMap<usize, Acquire>,
    permits: FxHashMap<usize, Permit>,
    rung: Arc<Mutex<Vec<usize>>>,
}

/// The answer of the gate to a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Said {
    Refused(GateRefused),
    Run,
    /// The request waits, until this deadline at most.
    Wait(Timestamp),
}

/// The waker of a waiting request. It only records the number of the request, because the place
/// must not be polled while the gate wakes it.
struct Bell {
    who: usize,
    rung: Arc<Mutex<Vec<usize>>>,
}

impl Door {
    pub(super) fn new(rules: &GateRules, seed: u64) -> Self {
        let clock = ManualClock::new(Timestamp::ZERO);
        let gate = Gate::with_clock(rules.clone(), seed, clock.clone());
        Self {
            gate: gate.expect("the rules of the study are valid"),
            clock,
            places: FxHashMap::default(),
            permits: FxHashMap::default(),
            rung: Arc::default(),
        }
    }

    /// Advances the clock to `now`.
    pub(super) fn advance_to(&self, now: Timestamp) {
        self.clock.advance_to(now);
    }

    pub(super) fn enter(&mut self, who: usize, arrival: Arrival) -> Said {
        match self.gate.enter(arrival, self.gate.now()) {
            Entry::Admitted(permit) => self.runs(who, permit),
            Entry::Queued(mut place) => {
                let until = place.deadline();
                match self.poll(who, &mut place) {
                    Poll::Pending => {
                        self.places.insert(who, place);
                        Said::Wait(until)
                    }
                    Poll::Ready(told) => self.told(who, told),
                }
            }
            Entry::Refused(refused) => Said::Refused(refused),
        }
    }

    /// Times out a request at its deadline. Returns `None` if the request no longer waits.
    pub(super) fn time_out(&mut self, who: usize) -> Option<Said> {
        let place = self.places.remove(&who)?;
        let told = place.time_out();
        Some(self.told(who, told))
    }

    /// Removes a waiting request. A request that already runs runs to its end.
    pub(super) fn leave(&mut self, who: usize) {
        self.places.remove(&who);
    }

    /// Ends a running request.
    pub(super) fn finish(&mut self, who: usize) {
        self.permits.remove(&who);
    }

    /// Returns the requests that were woken, and the answers to them.
    pub(super) fn called(&mut self) -> Vec<(usize, Said)> {
        let rung = mem::take(&mut *self.rung.lock().unwrap_or_else(PoisonError::into_inner));
        let mut said = Vec::with_capacity(rung.len());
        for who in rung {
            let Some(mut place) = self.places.remove(&who) else { continue };
            match self.poll(who, &mut place) {
                Poll::Pending => _ = self.places.insert(who, place),
                Poll::Ready(told) => said.push((who, self.told(who, told))),
            }
        }
        said
    }

    /// The number of waiting requests.
    pub(super) fn queued(&self) -> u32 {
        self.gate.snapshot(self.gate.now()).queued
    }

    fn poll(&self, who: usize, place: &mut Acquire) -> Poll<Result<Permit, GateRefused>> {
        let waker = Waker::from(Arc::new(Bell { who, rung: Arc::clone(&self.rung) }));
        Future::poll(Pin::new(place), &mut Context::from_waker(&waker))
    }

    fn told(&mut self, who: usize, told: Result<Permit, GateRefused>) -> Said {
        match told {
            Ok(permit) => self.runs(who, permit),
            Err(refused) => Said::Refused(refused),
        }
    }

    fn runs(&mut self, who: usize, permit: Permit) -> Said {
        self.permits.insert(who, permit);
        Said::Run
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner).push(self.who);
    }
}

/// The events to come, the soonest first. Events at the same instant are in the order in which they
/// were set.
pub(super) struct Agenda<T> {
    events: BinaryHeap<Reverse<(Timestamp, u64, T)>>,
    number: u64,
}

impl<T: Ord> Agenda<T> {
    pub(super) const fn new() -> Self {
        Self { events: BinaryHeap::new(), number: 0 }
    }

    pub(super) fn set(&mut self, at: Timestamp, event: T) {
        self.number += 1;
        self.events.push(Reverse((at, self.number, event)));
    }

    /// Removes the next event, and returns it with its time.
    pub(super) fn next(&mut self) -> Option<(Timestamp, T)> {
        self.events.pop().map(|Reverse((at, _, event))| (at, event))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use waiting_room_core::gate::{Discipline, RefusedBecause};

    use super::*;

    fn door() -> Door {
        Door::new(&GateRules::new(1).queue(2).discipline(Discipline::Fifo), 7)
    }

    fn enter(door: &mut Door, who: usize) -> Said {
        door.enter(who, Arrival::default())
    }

    #[test]
    fn a_finished_request_makes_room_for_the_next() {
        let mut door = door();
        assert_eq!(enter(&mut door, 0), Said::Run);
        assert!(matches!(enter(&mut door, 1), Said::Wait(_)));
        assert!(matches!(enter(&mut door, 2), Said::Wait(_)));
        assert!(matches!(enter(&mut door, 3), Said::Refused(_)));
        assert!(door.called().is_empty());
        door.finish(0);
        assert_eq!(door.called(), [(1, Said::Run)]);
        assert_eq!(door.queued(), 1);
    }

    #[test]
    fn a_disconnect_or_a_deadline_ends_the_wait() {
        let mut door = door();
        let until = Timestamp::ZERO + Duration::from_secs(5);
        (0..3).for_each(|who| _ = enter(&mut door, who));
        door.leave(1);
        assert_eq!(enter(&mut door, 3), Said::Wait(until));
        door.advance_to(until);
        let Some(Said::Refused(refused)) = door.time_out(2) else { panic!("it waits") };
        assert_eq!(refused.because, RefusedBecause::TimedOut);
        assert_eq!(door.time_out(2), None);
        door.finish(0);
        assert_eq!(door.called(), [(3, Said::Run)]);
    }

    #[test]
    fn events_come_by_time_and_then_in_the_order_of_insertion() {
        let mut agenda = Agenda::new();
        for (second, event) in [(3, 'c'), (1, 'z'), (1, 'a'), (2, 'b')] {
            agenda.set(Timestamp::from_secs(second), event);
        }
        let events: String = std::iter::from_fn(|| agenda.next()).map(|(_, event)| event).collect();
        assert_eq!(events, "zabc");
    }
}
