//! The demand at a site: how many new visitors come, as a moving average, and the visitors
//! who wait because no slot is left.

use std::{collections::VecDeque, time::Duration};

use waiting_room_core::{Timestamp, VisitorId};

use crate::escrow::EscrowRules;

/// An exponentially weighted moving average of arrivals, in thousandths a second.
///
/// Integers, since only the proportions between sites matter and a ledger has to be comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Demand {
    per_1000_s: u64,
    arrivals: u64,
    since: Timestamp,
}

/// Visitors who are kept for a moment while a slot is fetched from elsewhere, in the order of
/// arrival; those who return before those who are new.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Borrowers {
    new: VecDeque<Borrower>,
    returning: VecDeque<Borrower>,
}

/// One who waits, until its wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Borrower {
    visitor: VisitorId,
    until: Timestamp,
}

impl Demand {
    /// An arrival counts for about this long.
    const MEMORY: Duration = Duration::from_secs(10);
    /// A shorter time is too short to be averaged.
    const SHORTEST: Duration = Duration::from_millis(100);

    pub(super) const fn new(now: Timestamp) -> Self {
        Self { per_1000_s: 0, arrivals: 0, since: now }
    }

    /// Somebody came.
    pub(super) const fn arrived(&mut self) {
        self.arrivals = self.arrivals.saturating_add(1);
    }

    /// Arrivals in a thousand seconds.
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
    /// Lets a new visitor wait. Says until when, or nothing if that time is over or too many wait.
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

    /// Lets a visitor wait who has a pass from elsewhere.
    pub(super) fn wait_returning(
        &mut self,
        visitor: VisitorId,
        until: Timestamp,
        now: Timestamp,
    ) -> Option<Timestamp> {
        self.new.retain(|borrower| borrower.visitor != visitor);
        Self::join(&mut self.returning, Borrower { visitor, until }, now)
    }

    /// The new visitor who is next.
    pub(super) fn next_new(&mut self) -> Option<VisitorId> {
        self.new.pop_front().map(|borrower| borrower.visitor)
    }

    /// The returning visitor who is next.
    pub(super) fn next_returning(&mut self) -> Option<VisitorId> {
        self.returning.pop_front().map(|borrower| borrower.visitor)
    }

    /// Takes somebody whose wait is over.
    pub(super) fn pop_late(&mut self, now: Timestamp) -> Option<VisitorId> {
        for line in [&mut self.returning, &mut self.new] {
            if let Some(place) = line.iter().position(|borrower| borrower.until <= now) {
                return line.remove(place).map(|borrower| borrower.visitor);
            }
        }
        None
    }

    /// Somebody does not wait any more.
    pub(super) fn leave(&mut self, visitor: VisitorId) {
        self.returning.retain(|borrower| borrower.visitor != visitor);
        self.new.retain(|borrower| borrower.visitor != visitor);
    }

    /// When the first wait is over.
    pub(super) fn next_late(&self) -> Option<Timestamp> {
        self.returning.iter().chain(&self.new).map(|borrower| borrower.until).min()
    }

    /// How many new visitors wait.
    pub(super) fn new_count(&self) -> u64 {
        self.new.len() as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.returning.is_empty()
    }

    fn holds(line: &VecDeque<Borrower>, visitor: VisitorId) -> bool {
        line.iter().any(|borrower| borrower.visitor == visitor)
    }

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
