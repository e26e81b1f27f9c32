//! The figures of one algorithm under one kind of traffic.

use serde::Serialize;
use waiting_room_core::Quota;

use super::{
    candidate::Candidate,
    trial::{Tally, Used, Wrong},
};

/// A row of the table and of the file. Figures that were not measured are `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Row {
    pub seed: u64,
    pub traffic: &'static str,
    pub limit: u64,
    pub window_s: u64,
    pub sources: u64,
    pub algorithm: &'static str,
    pub requests: u64,
    pub open_wrongly_refused: Option<u64>,
    pub open_wrongly_allowed: Option<u64>,
    pub open_wrong_share: Option<f64>,
    /// The mean error of the algorithm's count, as a share of the true count.
    pub mean_rate_error: Option<f64>,
    pub closed_wrongly_refused: u64,
    pub closed_wrongly_allowed: u64,
    pub closed_wrong_share: f64,
    pub admitted: u64,
    pub admitted_exactly: Option<u64>,
    /// The number of requests admitted beyond those that an exact limiter admits, as a share of the
    /// latter.
    pub admitted_above_exact: Option<f64>,
    pub most_in_any_window: u64,
    /// `most_in_any_window` as a multiple of the limit.
    pub most_by_limit: f64,
}

impl Row {
    /// The figures of an algorithm that was compared with the exact log.
    pub(super) fn new(
        seed: u64,
        traffic: &'static str,
        quota: &Quota,
        sources: u64,
        candidate: Candidate,
        tally: &Tally,
    ) -> Self {
        let has_rate = candidate.used() == Used::Count && tally.requests > 0;
        let admitted = tally.admitted as f64;
        let exact = tally.admitted_exactly as f64;
        Self {
            open_wrongly_refused: Some(tally.open.refused),
            open_wrongly_allowed: Some(tally.open.allowed),
            open_wrong_share: Some(share(tally.open, tally.requests)),
            mean_rate_error: has_rate.then(|| tally.rate_error / tally.requests as f64),
            admitted_exactly: Some(tally.admitted_exactly),
            admitted_above_exact: (tally.admitted_exactly > 0).then(|| admitted / exact - 1.0),
            traffic,
            sources,
            ..Self::of_attack(seed, quota, candidate, tally)
        }
    }

    /// The figures of an algorithm that was attacked by the adversary.
    pub(super) fn of_attack(seed: u64, quota: &Quota, candidate: Candidate, tally: &Tally) -> Self {
        Self {
            seed,
            traffic: ADVERSARY,
            limit: quota.limit(),
            window_s: quota.window().as_secs(),
            sources: 1,
            algorithm: candidate.name(),
            requests: tally.requests,
            open_wrongly_refused: None,
            open_wrongly_allowed: None,
            open_wrong_share: None,
            mean_rate_error: None,
            closed_wrongly_refused: tally.closed.refused,
            closed_wrongly_allowed: tally.closed.allowed,
            closed_wrong_share: share(tally.closed, tally.requests),
            admitted: tally.admitted,
            admitted_exactly: None,
            admitted_above_exact: None,
            most_in_any_window: tally.most,
            most_by_limit: tally.most as f64 / quota.limit() as f64,
        }
    }

    /// Returns whether no decision was wrong, and no window contained more than the limit.
    pub(super) fn is_exact(&self) -> bool {
        let wrong = [
            self.open_wrongly_refused.unwrap_or(0),
            self.open_wrongly_allowed.unwrap_or(0),
            self.closed_wrongly_refused,
            self.closed_wrongly_allowed,
        ];
        wrong == [0; 4]
            && self.most_in_any_window <= self.limit
            && self.admitted_exactly.is_none_or(|exactly| exactly == self.admitted)
    }

    /// The name of the traffic, with its limit.
    pub(super) fn title(&self) -> String {
        format!("{}, {} in {} s", self.traffic, self.limit, self.window_s)
    }
}

fn share(wrong: Wrong, requests: u64) -> f64 {
    wrong.total() as f64 / requests.max(1) as f64
}

pub(super) const ADVERSARY: &str = "adversary";

#[cfg(test)]
mod tests {
    use super::*;

    fn row_of_the_log(tally: Tally) -> Row {
        let tally = Tally { requests: 100, admitted: 50, admitted_exactly: 50, most: 50, ..tally };
        Row::new(1, "a few", &Quota::per_minute(50), 1, Candidate::SlidingLog, &tally)
    }

    #[test]
    fn a_single_wrong_decision_in_either_loop_is_not_exact() {
        let one = Wrong { refused: 1, allowed: 0 };
        assert!(row_of_the_log(Tally::default()).is_exact());
        assert!(!row_of_the_log(Tally { open: one, ..Tally::default() }).is_exact());
        assert!(!row_of_the_log(Tally { closed: one, ..Tally::default() }).is_exact());
    }

    #[test]
    fn one_more_than_the_limit_in_a_window_is_not_exact() {
        let row = row_of_the_log(Tally::default());
        assert!(!Row { most_in_any_window: 51, ..row.clone() }.is_exact());
        assert!(!Row { admitted: 51, ..row }.is_exact());
    }

    #[test]
    fn an_empty_total_has_no_share() {
        let quota = Quota::per_minute(50);
        let row = Row::new(1, "none", &quota, 1, Candidate::FixedWindow, &Tally::default());
        assert_eq!((row.mean_rate_error, row.admitted_above_exact), (None, None));
        assert_eq!((row.open_wrong_share, row.closed_wrong_share), (Some(0.0), 0.0));
        assert!(row.is_exact());
    }
}
