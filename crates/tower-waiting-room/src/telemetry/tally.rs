//! Counts for the operator's dashboard, kept in bounded memory.
//!
//! The counters only grow, and the dashboard computes rates from their differences. A request with
//! a valid pass costs a single relaxed addition. The samples of waits are collected by the
//! dashboard once a second, and are bounded in case no dashboard collects them.

use std::{
    collections::HashMap,
    mem,
    sync::{
        Mutex, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use waiting_room_core::{Reason, Timestamp};

/// The counts of one layer since its start.
#[derive(Debug, Default)]
pub(crate) struct VerdictTally {
    /// Requests with a valid pass, or admitted by the limits alone.
    forwarded: AtomicU64,
    /// Requests with any other reason. Names in rules files may change at any time, so the number
    /// of reasons is bounded.
    reasons: RwLock<HashMap<Reason, AtomicU64>>,
    /// Requests whose reason found no place in `reasons`.
    other: AtomicU64,
    /// The waits since the last call of [`take_waits`](Self::take_waits).
    waits: Mutex<Vec<VisitorWait>>,
}

/// The wait of one visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VisitorWait {
    /// The time of the visitor's first touch.
    pub(crate) since: Timestamp,
    /// The time of the admission.
    pub(crate) until: Timestamp,
    /// The whole wait that the visitor was first told to expect, if there was an estimate.
    pub(crate) promised: Option<Duration>,
}

impl VerdictTally {
    /// The maximum number of reasons that are counted separately.
    pub(crate) const MAX_NAMES: usize = 256;
    /// The maximum number of waits between two collections. The rest of them are not sampled.
    pub(crate) const MAX_WAITS: usize = 4_096;

    /// Counts the verdict on a request.
    pub(super) fn count(&self, reason: &Reason) {
        if matches!(reason, Reason::AdmittedLimits | Reason::AdmittedPass) {
            self.forwarded.fetch_add(1, Relaxed);
            return;
        }
        if let Some(count) = self.read().get(reason) {
            count.fetch_add(1, Relaxed);
            return;
        }
        let mut reasons = self.reasons.write().unwrap_or_else(PoisonError::into_inner);
        if reasons.len() < Self::MAX_NAMES || reasons.contains_key(reason) {
            reasons.entry(reason.clone()).or_default().fetch_add(1, Relaxed);
        } else {
            self.other.fetch_add(1, Relaxed);
        }
    }

    /// Records the wait of an admitted visitor.
    pub(super) fn waited(&self, wait: VisitorWait) {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        if waits.len() < Self::MAX_WAITS {
            waits.push(wait);
        }
    }

    /// Returns the waits since the last call, at most [`MAX_WAITS`](Self::MAX_WAITS).
    pub(crate) fn take_waits(&self) -> Vec<VisitorWait> {
        mem::take(&mut self.waits.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the number of requests that were forwarded with a valid pass, or by the limits alone.
    pub(crate) fn forwarded(&self) -> u64 {
        self.forwarded.load(Relaxed)
    }

    /// Returns the number of requests for each other reason, in no particular order. Reasons beyond
    /// the bound are counted together as `other`.
    pub(crate) fn reasons(&self) -> Vec<(String, u64)> {
        let reasons = self.read();
        let counted =
            reasons.iter().map(|(reason, count)| (reason.to_string(), count.load(Relaxed)));
        let other = Some(("other".to_owned(), self.other.load(Relaxed)));
        counted.chain(other.filter(|(_, count)| *count > 0)).collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<Reason, AtomicU64>> {
        self.reasons.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_with_a_pass_are_counted_apart_from_the_other_reasons() {
        let tally = VerdictTally::default();
        tally.count(&Reason::AdmittedPass);
        tally.count(&Reason::AdmittedLimits);
        tally.count(&Reason::RefusedLineFull);
        tally.count(&Reason::RefusedLineFull);
        assert_eq!(tally.forwarded(), 2);
        assert_eq!(tally.reasons(), [("refused:line_full".to_owned(), 2)]);
    }

    #[test]
    fn names_beyond_the_bound_are_counted_together() {
        let tally = VerdictTally::default();
        for name in 0..VerdictTally::MAX_NAMES + 7 {
            tally.count(&Reason::RefusedRate(name.to_string().into()));
        }
        let reasons = tally.reasons();
        assert_eq!(reasons.len(), VerdictTally::MAX_NAMES + 1);
        assert!(reasons.contains(&("other".to_owned(), 7)), "{reasons:?}");
    }

    #[test]
    fn waits_that_are_not_collected_take_up_bounded_memory() {
        let tally = VerdictTally::default();
        let at = Timestamp::from_secs;
        for second in 0..2 * VerdictTally::MAX_WAITS as u64 {
            let since = at(second);
            let until = at(second + 1);
            tally.waited(VisitorWait { since, until, promised: None });
        }
        assert_eq!(tally.take_waits().len(), VerdictTally::MAX_WAITS);
        assert_eq!(tally.take_waits(), []);
    }
}
