//! What is to happen, and when.

use std::{cmp::Reverse, collections::BinaryHeap};

use waiting_room_core::Timestamp;

/// The events to come, soonest first; of those at one instant, in the order in which they were set.
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

    /// The next event, and when it is.
    pub(super) fn next(&mut self) -> Option<(Timestamp, T)> {
        self.events.pop().map(|Reverse((at, _, event))| (at, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_as_they_were_set() {
        let mut agenda = Agenda::new();
        for (second, event) in [(3, 'c'), (1, 'z'), (1, 'a'), (2, 'b')] {
            agenda.set(Timestamp::from_secs(second), event);
        }
        let events: String = std::iter::from_fn(|| agenda.next()).map(|(_, event)| event).collect();
        assert_eq!(events, "zabc");
    }
}
