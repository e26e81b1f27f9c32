//! The waits of the visitors who were admitted in the last minute, and the accuracy of their
//! estimates.
//!
//! The ticket of a visitor states the whole wait that the visitor was first told to expect. When the
//! visitor is admitted, the wait is compared with that promise, as in the metric
//! `waiting_room_estimate_error_seconds`. Later estimates are more exact.

use std::time::Duration;

use serde::Serialize;
use tower_waiting_room::handle::VisitorWait;

/// Statistics of the waits in the last minute. Times are in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct WaitFigures {
    /// The number of visitors.
    visitors: usize,
    /// The median wait.
    pub(super) p50: Option<u32>,
    /// The wait that 95 % of the visitors did not exceed.
    pub(super) p95: Option<u32>,
    /// The median error: the wait in whole seconds, minus the promised wait. A negative error means
    /// that visitors were admitted earlier than promised.
    error_p50: Option<i64>,
    /// The difference between wait and promise that 95 % of the visitors did not exceed.
    error_p95: Option<i64>,
}

impl WaitFigures {
    pub(super) fn new(waits: &[VisitorWait]) -> Self {
        let waited = |wait: &VisitorWait| millis(wait.until.since(wait.since));
        // The promise is in whole seconds, so a fraction of a second does not count as a delay.
        let error = |wait: &VisitorWait| {
            Some(i64::from(waited(wait) / 1_000 * 1_000) - i64::from(millis(wait.promised?)))
        };
        let mut errors: Vec<_> = waits.iter().filter_map(error).collect();
        let mut waited: Vec<_> = waits.iter().map(waited).collect();
        let error_p50 = quantile(&mut errors, 50);
        errors.iter_mut().for_each(|error| *error = error.abs());
        Self {
            visitors: waited.len(),
            p50: quantile(&mut waited, 50),
            p95: quantile(&mut waited, 95),
            error_p50,
            error_p95: quantile(&mut errors, 95),
        }
    }
}

/// Returns a time in whole milliseconds.
pub(super) fn millis(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

/// Returns the smallest value that at least this percentage of the values do not exceed, or `None`
/// if there are no values. The order of the values changes.
fn quantile<T: Copy + Ord>(values: &mut [T], percent: usize) -> Option<T> {
    let rank = (values.len() * percent).div_ceil(100).checked_sub(1)?;
    Some(*values.select_nth_unstable(rank).1)
}

#[cfg(test)]
mod tests {
    use waiting_room_core::Timestamp;

    use super::*;

    fn wait(millis: u64, promised: Option<u64>) -> VisitorWait {
        let since = Timestamp::from_secs(1_700_000_000);
        let until = since + Duration::from_millis(millis);
        VisitorWait { since, until, promised: promised.map(Duration::from_secs) }
    }

    #[test]
    fn the_figures_are_those_of_all_waits() {
        let waits: Vec<_> = (41..=100).map(|second| wait(second * 1_000, Some(50))).collect();
        let figures = WaitFigures::new(&waits);
        assert_eq!(figures.visitors, 60);
        assert_eq!((figures.p50, figures.p95), (Some(70_000), Some(97_000)));
        assert_eq!((figures.error_p50, figures.error_p95), (Some(20_000), Some(47_000)));
        assert_eq!(WaitFigures::new(&[]), WaitFigures::default());
    }

    #[test]
    fn visitors_admitted_early_have_a_negative_error() {
        let mut waits = [10, 20, 30].map(|waited| wait(waited * 1_000, Some(30))).to_vec();
        waits.push(wait(7, None));
        let figures = WaitFigures::new(&waits);
        assert_eq!((figures.error_p50, figures.error_p95), (Some(-10_000), Some(20_000)));
    }
}
