//! A lower bound on the free slots, and on the admissions that the minute still allows.
//!
//! It changes with each request, answer and lapse. For a visitor who was told to wait, the lowest
//! value between departure and answer matters, so the values are kept as a sliding-window minimum,
//! back to the oldest request in flight.

use std::collections::VecDeque;

use super::limits::Limits;

/// The lowest possible value of `min(L − active, N − new in 60 s)`, now and back to some epoch.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    slots: i64,
    minute: Option<i64>,
    holders: i64,
    new: i64,
    epoch: u64,
    /// Pairs of an epoch and a value; both rise from front to back.
    lows: VecDeque<(u64, i64)>,
}

impl Bound {
    pub(super) fn new(limits: &Limits) -> Self {
        let mut bound = Self {
            slots: i64::from(limits.total_active_users),
            minute: limits.new_users_per_minute.map(i64::from),
            holders: 0,
            new: 0,
            epoch: 0,
            lows: VecDeque::new(),
        };
        bound.change(0, 0);
        bound
    }

    /// Changes the number of slots that may be taken, and of admissions that may lie in the minute.
    pub(super) fn change(&mut self, holders: i64, new: i64) {
        self.holders += holders;
        self.new += new;
        debug_assert!(self.holders >= 0 && self.new >= 0, "each is given back only once");
        let slots = self.slots - self.holders;
        let free = self.minute.map_or(slots, |minute| slots.min(minute - self.new));
        self.epoch += 1;
        while self.lows.back().is_some_and(|(_, low)| *low >= free) {
            self.lows.pop_back();
        }
        self.lows.push_back((self.epoch, free));
    }

    /// Changes the limits. The scarcer one counts.
    pub(super) fn limit(&mut self, slots: u32, minute: Option<u32>) {
        self.slots = slots.into();
        self.minute = minute.map(i64::from);
        self.change(0, 0);
    }

    /// The present epoch, which each change advances.
    pub(super) const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The lowest possible value since `epoch`.
    pub(super) fn lowest_since(&self, epoch: u64) -> i64 {
        let index = self.lows.partition_point(|(at, _)| *at < epoch);
        self.lows.get(index).map_or(i64::MIN, |(_, low)| *low)
    }

    /// Drops the values before `epoch`, which are no longer needed.
    pub(super) fn forget_before(&mut self, epoch: u64) {
        while self.lows.len() > 1 && self.lows.front().is_some_and(|(at, _)| *at < epoch) {
            self.lows.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn bound() -> Bound {
        Bound::new(&Limits {
            total_active_users: 5,
            new_users_per_minute: Some(3),
            session_duration: Duration::from_secs(60),
            place_retention: Duration::from_secs(300),
            refresh_interval: Duration::from_secs(20),
        })
    }

    #[test]
    fn the_scarcer_of_both_limits_counts() {
        let mut bound = bound();
        assert_eq!(bound.lowest_since(bound.epoch()), 3);
        bound.change(4, 0);
        assert_eq!(bound.lowest_since(bound.epoch()), 1);
        bound.change(-4, 3);
        assert_eq!(bound.lowest_since(bound.epoch()), 0);
    }

    #[test]
    fn a_dip_counts_only_for_visitors_under_way() {
        let mut bound = bound();
        let before = bound.epoch();
        bound.change(5, 0);
        bound.change(-5, 0);
        let after = bound.epoch();
        assert_eq!((bound.lowest_since(before), bound.lowest_since(after)), (0, 3));
        bound.forget_before(after);
        assert_eq!((bound.lows.len(), bound.lowest_since(after)), (1, 3));
    }
}
