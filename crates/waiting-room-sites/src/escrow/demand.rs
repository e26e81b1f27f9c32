//! The demand at a site: the rate of new visitors, as a moving average, and the visitors that wait
//! because no slot is left.

use std::{collections::VecDeque, time::Duration};

use waiting_room_core::{Timestamp, VisitorId};

use crate::escrow::EscrowRules;

/// An exponentially weighted moving average of arrivals per 1000 seconds.
///
/// It is an integer, because only the proportions between sites matter, and because ledgers are
/// compared and hashed by the model checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Demand {
    per_1000_s: u64,
    /// The arrivals that the average does not contain yet.
    arrivals: u64,
    /// The time of the last update of the average.
    since: Timestamp,
}

/// Visitors that are held for a moment while a slot is requested from elsewhere, in the order of
/// arrival. Returning visitors come before new ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Borrowers {
    new: VecDeque<Borrower>,
    returning: VecDeque<Borrower>,
}

/// A visitor that waits, and the time at which its wait ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Borrower {
    visitor: VisitorId,
    until: Timestamp,
}

impl Demand {
    /// The time constant of the average: an arrival counts for about this long.
    const MEMORY: Duration = Duration::from_secs(10);
    /// The shortest interval between two updates. Shorter ones would lose precision by rounding.
    const SHORTEST: Duration = Duration::from_millis(100);

    pub(super) const fn new(now: Timestamp) -> Self {
        Self { per_1000_s: 0, arrivals: 0, since: now }
    }

    /// Records an arrival.
    pub(super) const fn arrived(&mut self) {
        self.arrivals = self.arrivals.saturating_add(1);
    }

    /// Updates the average if enough time has passed, and returns it as arrivals per 1000 seconds.
    pub(super) fn rate(&mut self, now: Timestamp) -> u64 {
        let elapsed = now.since(self.since);
        if elapsed >= Self::SHORTEST {
            let (memory, elapsed) = (millis(Self::MEMORY), millis(elapsed));
            let kept = u128::from(self.per_1000_s) * memory;
            let new = u128::from(self.arrivals) * 1_000_000;
            let rate = (kept + new) / (memory + elapsed);
            *self = Self::new(now);
            self.per_1000_s = u64::try_from(rate).unwrap_or(u64::MAX);
        }
        self.per_1000_s
    }
}

impl Borrowers {
    /// Lets a visitor wait: in the line of returning visitors if it is there already, else as a new
    /// one. Returns the end of its wait; `None` if `until` has passed or the line is full.
    pub(super) fn wait(
        &mut self,
        visitor: VisitorId,
        until: Timestamp,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let line =
            if Self::holds(&self.returning, visitor) { &mut self.returning } else { &mut self.new };
        Self::join(line, Borrower { visitor, until }, now)
    }

    /// Lets a visitor wait that is on the account already and lacks a slot, ahead of new visitors.
    pub(super) fn wait_returning(
        &mut self,
        visitor: VisitorId,
        until: Timestamp,
        now: Timestamp,
    ) -> Option<Timestamp> {
        self.new.retain(|borrower| borrower.visitor != visitor);
        Self::join(&mut self.returning, Borrower { visitor, until }, now)
    }

    /// Removes and returns the next new visitor.
    pub(super) fn next_new(&mut self) -> Option<VisitorId> {
        self.new.pop_front().map(|borrower| borrower.visitor)
    }

    /// Removes and returns the next returning visitor.
    pub(super) fn next_returning(&mut self) -> Option<VisitorId> {
        self.returning.pop_front().map(|borrower| borrower.visitor)
    }

    /// Removes and returns a visitor whose wait has ended.
    pub(super) fn pop_late(&mut self, now: Timestamp) -> Option<VisitorId> {
        for line in [&mut self.returning, &mut self.new] {
            if let Some(place) = line.iter().position(|borrower| borrower.until <= now) {
                return line.remove(place).map(|borrower| borrower.visitor);
            }
        }
        None
    }

    /// Removes a visitor that does not wait any more.
    pub(super) fn leave(&mut self, visitor: VisitorId) {
        self.returning.retain(|borrower| borrower.visitor != visitor);
        self.new.retain(|borrower| borrower.visitor != visitor);
    }

    /// The time at which the first wait ends.
    pub(super) fn next_late(&self) -> Option<Timestamp> {
        self.returning.iter().chain(&self.new).map(|borrower| borrower.until).min()
    }

    /// The number of new visitors that wait.
    pub(super) fn new_count(&self) -> u64 {
        self.new.len() as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.returning.is_empty()
    }

    fn holds(line: &VecDeque<Borrower>, visitor: VisitorId) -> bool {
        line.iter().any(|borrower| borrower.visitor == visitor)
    }

    /// Adds a visitor to the end of a line. A visitor that is in it already keeps its position, and
    /// the earlier end of its two waits.
    fn join(
        line: &mut VecDeque<Borrower>,
        borrower: Borrower,
        now: Timestamp,
    ) -> Option<Timestamp> {
        if let Some(waiting) = line.iter_mut().find(|it| it.visitor == borrower.visitor) {
            waiting.until = waiting.until.min(borrower.until);
            return Some(waiting.until);
        }
        if borrower.until <= now || line.len() >= EscrowRules::MAX_BORROWERS {
            return None;
        }
        line.push_back(borrower);
        Some(borrower.until)
    }
}

fn millis(duration: Duration) -> u128 {
    duration.as_millis()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_stream_is_measured_and_a_dry_one_is_forgotten() {
        let mut demand = Demand::new(Timestamp::ZERO);
        let mut rate = 0;
        for second in 1..=100 {
            for _ in 0..5 {
                demand.arrived();
            }
            rate = demand.rate(Timestamp::from_secs(second));
        }
        assert!((4_900..=5_000).contains(&rate), "{rate} in 1000 s");
        assert!(demand.rate(Timestamp::from_secs(10_000)) < 6);
    }

    #[test]
    fn asking_often_measures_the_same() {
        let mut demand = Demand::new(Timestamp::ZERO);
        let mut rate = 0;
        for tick in 1..=40_000 {
            if tick % 100 == 0 {
                demand.arrived();
            }
            rate = demand.rate(Timestamp::from_millis(tick));
        }
        assert!((9_000..=10_000).contains(&rate), "{rate} in 1000 s");
    }
}
