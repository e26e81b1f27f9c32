//! The demand at a site: the rate of new visitors, as a moving average, and the visitors that wait
//! because no slot is left.

use std::{collections::VecDeque, time::Duration};

use waiting_room_core::{Timestamp, VisitorId};

use crate::escrow::{EscrowRules, LineFront};

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

/// Visitors that are held for a moment while a slot is requested from elsewhere. Returning visitors
/// come before new ones, and visitors who have waited in the line come before all others. Apart
/// from that, the order is that of arrival.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Borrowers {
    new: VecDeque<Borrower>,
    returning: VecDeque<Borrower>,
}

/// A visitor that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Borrower {
    pub(super) visitor: VisitorId,
    /// The time at which the visitor joined the site's line, or `None` if it has not joined.
    pub(super) in_line_since: Option<Timestamp>,
    /// The time at which the visitor's wait ends.
    pub(super) until: Timestamp,
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
            let memory = millis(Self::MEMORY);
            let elapsed = millis(elapsed);
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
    /// Lets a visitor wait: among the returning visitors if it already waits among them, otherwise
    /// as a new visitor. Returns the end of its wait; `None` if `until` has passed or the line is
    /// full.
    pub(super) fn wait(&mut self, borrower: Borrower, now: Timestamp) -> Option<Timestamp> {
        let is_returning = Self::holds(&self.returning, borrower.visitor);
        let line = if is_returning { &mut self.returning } else { &mut self.new };
        Self::join(line, borrower, now)
    }

    /// Lets a visitor that is already on the account, but lacks a slot, wait ahead of new visitors.
    pub(super) fn wait_returning(
        &mut self,
        visitor: VisitorId,
        until: Timestamp,
        now: Timestamp,
    ) -> Option<Timestamp> {
        self.new.retain(|borrower| borrower.visitor != visitor);
        let borrower = Borrower { visitor, in_line_since: None, until };
        Self::join(&mut self.returning, borrower, now)
    }

    /// Removes and returns the next new visitor.
    pub(super) fn next_new(&mut self) -> Option<Borrower> {
        self.new.pop_front()
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

    /// Removes a visitor that is no longer waiting.
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

    /// The number of new visitors that wait but have not waited in the line.
    pub(super) fn newcomers(&self) -> u64 {
        self.new.iter().filter(|borrower| borrower.in_line_since.is_none()).count() as u64
    }

    /// The front of the line: the first new visitors, up to the first visitor that has not joined
    /// the line.
    pub(super) fn front(&self) -> LineFront {
        let mut front = LineFront::new();
        let since = self.new.iter().map_while(|borrower| borrower.in_line_since);
        since.for_each(|since| front.add(since, 1));
        front
    }

    pub(super) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.returning.is_empty()
    }

    fn holds(line: &VecDeque<Borrower>, visitor: VisitorId) -> bool {
        line.iter().any(|borrower| borrower.visitor == visitor)
    }

    /// Adds a visitor to `line`, behind all visitors who have joined the line of the site earlier.
    /// A visitor who is already in `line` keeps its position, and the earlier end of its two waits.
    fn join(
        line: &mut VecDeque<Borrower>,
        borrower: Borrower,
        now: Timestamp,
    ) -> Option<Timestamp> {
        if let Some(waiting) = line.iter_mut().find(|other| other.visitor == borrower.visitor) {
            waiting.until = waiting.until.min(borrower.until);
            return Some(waiting.until);
        }
        if borrower.until <= now || line.len() >= EscrowRules::MAX_BORROWERS {
            return None;
        }
        let at = line.partition_point(|other| !borrower.is_before(other));
        line.insert(at, borrower);
        Some(borrower.until)
    }
}

impl Borrower {
    /// Returns whether this visitor comes before another one that has been held for longer.
    fn is_before(&self, other: &Self) -> bool {
        self.in_line_since
            .is_some_and(|since| other.in_line_since.is_none_or(|theirs| since < theirs))
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
