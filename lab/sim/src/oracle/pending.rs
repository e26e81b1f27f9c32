//! Pending events: requests in flight, and changes that happen at a later time.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use waiting_room_core::Timestamp;

use super::limits::VisitorNo;

/// The requests in flight, in the order of their departures, so that the oldest is in front.
#[derive(Clone, Debug, Default)]
pub(super) struct Flights {
    queue: VecDeque<Option<Departure>>,
    first: u64,
}

/// One request in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub visitor: VisitorNo,
    pub sent: Timestamp,
    pub epoch: u64,
}

impl Flights {
    /// Adds a request, and returns its number, for [`land`](Self::land).
    pub(super) fn depart(&mut self, departure: Departure) -> u64 {
        self.queue.push_back(Some(departure));
        self.first + self.queue.len() as u64 - 1
    }

    /// Removes a request.
    pub(super) fn land(&mut self, no: u64) {
        let index = usize::try_from(no.saturating_sub(self.first)).unwrap_or(usize::MAX);
        if let Some(entry) = self.queue.get_mut(index) {
            *entry = None;
        }
        while self.queue.front().is_some_and(Option::is_none) {
            self.queue.pop_front();
            self.first += 1;
        }
    }

    /// The request that departed first.
    pub(super) fn oldest(&self) -> Option<&Departure> {
        self.queue.front().and_then(Option::as_ref)
    }

    /// The visitors with a request in flight.
    pub(super) fn visitors(&self) -> impl Iterator<Item = VisitorNo> {
        self.queue.iter().flatten().map(|departure| departure.visitor)
    }
}

/// The pending changes, soonest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers(BinaryHeap<Reverse<(Timestamp, Timer)>>);

/// A change at a later time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// The prequeue of the event begins, and its limits apply.
    EventBegins,
    /// The event ends, and its limits no longer apply.
    EventEnds,
    /// The event starts, and the drawn order applies.
    EventStarts,
    /// An admission has left the minute.
    LeaveMinute,
    /// From this time on, the request may be a new admission, if it is still in flight.
    MayBeNew(VisitorNo, u64),
    /// From this time on, the request may take a second slot for its visitor, if it is still in
    /// flight.
    MayTakeSlot(VisitorNo, u64),
    /// This session may have lapsed.
    Session(VisitorNo, u64),
    /// A slot that a visitor may have held, without a proof of it, is certainly free.
    StraySlot,
}

impl Timers {
    pub(super) fn set(&mut self, at: Timestamp, timer: Timer) {
        self.0.push(Reverse((at, timer)));
    }

    /// Takes the next change that is due at `now`.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<(Timestamp, Timer)> {
        if self.0.peek()?.0.0 > now {
            return None;
        }
        self.0.pop().map(|Reverse(due)| due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_in_front_in_any_order_of_landing() {
        let mut flights = Flights::default();
        let depart = |flights: &mut Flights, secs| {
            flights.depart(Departure {
                visitor: VisitorNo(secs),
                sent: Timestamp::from_secs(secs),
                epoch: secs,
            })
        };
        let numbers: Vec<_> = (1..=3).map(|secs| depart(&mut flights, secs)).collect();
        flights.land(numbers[1]);
        assert_eq!(flights.oldest().unwrap().epoch, 1);
        assert_eq!(flights.visitors().count(), 2);
        flights.land(numbers[0]);
        assert_eq!(flights.oldest().unwrap().epoch, 3);
        flights.land(numbers[2]);
        assert!(flights.oldest().is_none());
        let fourth = depart(&mut flights, 4);
        assert_eq!(fourth, 3);
    }
}
