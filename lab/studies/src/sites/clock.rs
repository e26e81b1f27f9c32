//! The time of a run in milliseconds since its start, and a timing wheel.

use waiting_room_core::Timestamp;

/// The start of a run by the simulated clocks: 2023-09-11T00:00:00Z, which is a whole minute.
const START: Timestamp = Timestamp::from_secs(1_694_390_400);

/// Converts a time of the run to a time of the simulated clocks.
pub(super) fn timestamp(now: u32) -> Timestamp {
    Timestamp::from_millis(START.as_millis() + u64::from(now))
}

/// Converts a time of the simulated clocks to a time of the run.
pub(super) fn millis(at: Timestamp) -> u32 {
    u32::try_from(at.as_millis().saturating_sub(START.as_millis())).unwrap_or(u32::MAX)
}

/// Converts seconds to milliseconds, rounded.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
pub(super) fn from_seconds(seconds: f64) -> u32 {
    (1_000.0 * seconds).round() as u32
}

pub(super) const SECOND: u32 = 1_000;
pub(super) const MINUTE: u32 = 60 * SECOND;

/// The times at which visitors are due, in milliseconds: a timing wheel with a slot for each
/// millisecond.
///
/// A visitor is due at one time at most, so one table of links holds the lists of all slots, and no
/// event needs an allocation. A heap would take half a microsecond per event.
#[derive(Debug)]
pub(super) struct Wheel {
    /// The first visitor in each slot. A slot also contains visitors that are due in a later turn
    /// of the wheel.
    slots: Vec<u32>,
    /// The rest of the list of the current slot.
    rest: u32,
    links: Vec<Link>,
    now: u32,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    due: u32,
    next: u32,
}

impl Wheel {
    /// Slightly more than two minutes. Most events are less than one turn away.
    const SLOTS: usize = 1 << 17;
    const NOBODY: u32 = u32::MAX;

    pub(super) fn new() -> Self {
        Self {
            slots: vec![Self::NOBODY; Self::SLOTS],
            rest: Self::NOBODY,
            links: Vec::new(),
            now: 0,
        }
    }

    /// Schedules a visitor for `due`, or for now if that is in the past. A visitor that is already
    /// scheduled must not be scheduled again.
    pub(super) fn schedule(&mut self, who: u32, due: u32) {
        let index = who as usize;
        if index >= self.links.len() {
            self.links.resize(index + 1, Link { due: 0, next: Self::NOBODY });
        }
        let due = due.max(self.now);
        let list = if due == self.now { &mut self.rest } else { &mut self.slots[Self::slot(due)] };
        self.links[index] = Link { due, next: *list };
        *list = who;
    }

    /// Returns the next visitor that is due at `until` or earlier, with its time. If there is none,
    /// advances to `until`.
    pub(super) fn pop(&mut self, until: u32) -> Option<(u32, u32)> {
        loop {
            while self.rest != Self::NOBODY {
                let who = self.rest;
                let link = self.links[who as usize];
                self.rest = link.next;
                if link.due == self.now {
                    return Some((self.now, who));
                }
                let slot = &mut self.slots[Self::slot(link.due)];
                self.links[who as usize].next = *slot;
                *slot = who;
            }
            if self.now >= until {
                return None;
            }
            self.now += 1;
            let slot = &mut self.slots[Self::slot(self.now)];
            self.rest = std::mem::replace(slot, Self::NOBODY);
        }
    }

    const fn slot(due: u32) -> usize {
        due as usize % Self::SLOTS
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_visitor_comes_once_and_when_due(
            dues in proptest::collection::vec((0..500_000_u32, 0..3_000_u32), 1..200),
        ) {
            let mut wheel = Wheel::new();
            for (who, (due, _)) in (0..).zip(&dues) {
                wheel.schedule(who, *due);
            }
            let mut seen = vec![Vec::new(); dues.len()];
            let mut until = 0;
            while until < 600_000 {
                // In strides, like those between other events of a world.
                until += 977;
                while let Some((at, who)) = wheel.pop(until) {
                    prop_assert!(at <= until);
                    let times = &mut seen[who as usize];
                    times.push(at);
                    if times.len() == 1 {
                        wheel.schedule(who, at + dues[who as usize].1);
                    }
                }
            }
            for ((due, again), times) in dues.iter().zip(seen) {
                prop_assert_eq!(times, vec![*due, due + again]);
            }
        }
    }

    #[test]
    fn a_late_visitor_is_due_at_once() {
        let mut wheel = Wheel::new();
        assert_eq!(wheel.pop(100), None);
        wheel.schedule(3, 7);
        assert_eq!(wheel.pop(100), Some((100, 3)));
        assert_eq!(wheel.pop(1_000), None);
    }
}
