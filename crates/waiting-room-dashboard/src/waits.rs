//! How long the visitors waited who were admitted in the last minute, and how honest the estimates
//! of their waits were.
//!
//! The ticket of a visitor states the whole wait that the visitor was first told to expect. When the
//! visitor is admitted, the wait is compared with that promise, as in the metric
//! `waiting_room_estimate_error_seconds`. Later estimates are more exact.

use std::collections::VecDeque;

use serde::Serialize;

/// The waits of the visitors who were admitted in the last minute.
#[derive(Debug, Default)]
pub(super) struct Waits {
    recent: VecDeque<AdmittedWait>,
}

/// The wait of one admitted visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AdmittedWait {
    /// The time of the admission, in seconds since the Unix epoch.
    pub(super) at: u64,
    /// The wait, in milliseconds.
    pub(super) waited: u32,
    /// The wait that the visitor was first told to expect, in milliseconds, in whole seconds.
    pub(super) promised: Option<u32>,
}

/// The figures of the waits in the last minute. Times are in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct WaitFigures {
    /// The number of visitors.
    pub(super) visitors: usize,
    /// The median wait.
    pub(super) p50: Option<u32>,
    /// The wait that 95 % of the visitors did not exceed.
    pub(super) p95: Option<u32>,
    /// The median of the wait, in whole seconds, minus the promised wait. A negative error means that visitors were
    /// admitted earlier than they were told.
    pub(super) error_p50: Option<i64>,
    /// The distance between wait and promise that 95 % of the visitors did not exceed.
    pub(super) error_p95: Option<i64>,
}

impl Waits {
    /// The maximum number of waits of a minute. If there are more, the oldest are left out.
    pub(super) const MAX: usize = 16_384;
    /// The memory of the waits, in bytes.
    #[cfg(test)]
    pub(super) const BYTES: usize = Self::MAX.next_power_of_two() * size_of::<AdmittedWait>();

    /// Adds a wait.
    pub(super) fn push(&mut self, wait: AdmittedWait) {
        if self.recent.len() == Self::MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(wait);
    }

    /// Returns the last wait.
    #[cfg(test)]
    pub(super) fn last(&self) -> Option<&AdmittedWait> {
        self.recent.back()
    }

    /// Forgets waits that ended more than a minute before `now`, and returns the figures of the
    /// others.
    pub(super) fn figures(&mut self, now: u64) -> WaitFigures {
        while self.recent.front().is_some_and(|wait| wait.at + 60 <= now) {
            self.recent.pop_front();
        }
        let mut waited: Vec<_> = self.recent.iter().map(|wait| wait.waited).collect();
        // The promise is in whole seconds, so a wait of the same whole seconds is on time.
        let error = |wait: &AdmittedWait| {
            Some(i64::from(wait.waited / 1_000 * 1_000) - i64::from(wait.promised?))
        };
        let mut errors: Vec<_> = self.recent.iter().filter_map(error).collect();
        let error_p50 = quantile(&mut errors, 50);
        errors.iter_mut().for_each(|error| *error = error.abs());
        WaitFigures {
            visitors: waited.len(),
            p50: quantile(&mut waited, 50),
            p95: quantile(&mut waited, 95),
            error_p50,
            error_p95: quantile(&mut errors, 95),
        }
    }
}

/// Returns the smallest value that at least this percentage of the values do not exceed, or `None`
/// if there are no values. The order of the values changes.
fn quantile<T: Copy + Ord>(values: &mut [T], percent: usize) -> Option<T> {
    let rank = (values.len() * percent).div_ceil(100).checked_sub(1)?;
    Some(*values.select_nth_unstable(rank).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_of_the_last_minute() {
        let mut waits = Waits::default();
        for second in 1..=100 {
            let waited = u32::try_from(second * 1_000).unwrap();
            waits.push(AdmittedWait { at: second, waited, promised: Some(50_000) });
        }
        // The waits of the seconds 41 to 100.
        let figures = waits.figures(100);
        assert_eq!(figures.visitors, 60);
        assert_eq!((figures.p50, figures.p95), (Some(70_000), Some(97_000)));
        assert_eq!((figures.error_p50, figures.error_p95), (Some(20_000), Some(47_000)));
        assert_eq!(waits.figures(1_000), WaitFigures::default());
    }

    #[test]
    fn visitors_admitted_early_have_a_negative_error() {
        let mut waits = Waits::default();
        for waited in [10_000, 20_000, 30_000] {
            waits.push(AdmittedWait { at: 9, waited, promised: Some(30_000) });
        }
        waits.push(AdmittedWait { at: 9, waited: 7, promised: None });
        let figures = waits.figures(9);
        assert_eq!((figures.error_p50, figures.error_p95), (Some(-10_000), Some(20_000)));
    }

    #[test]
    fn the_memory_of_a_minute_with_too_many_admissions_is_bounded() {
        let mut waits = Waits::default();
        for waited in 0..50_000 {
            waits.push(AdmittedWait { at: 1, waited, promised: None });
        }
        assert_eq!(waits.figures(1).visitors, Waits::MAX);
        assert!(waits.recent.capacity() * size_of::<AdmittedWait>() <= Waits::BYTES);
    }
}
