//! The figures about requests for the operator's handle: how many had each reason, and the waits of
//! admitted visitors.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use waiting_room_core::{Reason, Timestamp};

use super::recorder::{Counter, Frequent};

/// The counts of one layer since its start, in bounded memory.
///
/// A reason gets the first free place when it first occurs, and keeps this place. A count is found
/// by comparing the reasons one after the other. A service has few reasons, so this takes less time
/// than hashing a reason.
#[derive(Debug)]
pub(super) struct Verdicts {
    known: Box<[OnceLock<ReasonCount>]>,
    /// The number of requests whose reason found no place.
    other: AtomicU64,
}

/// The requests with one reason.
#[derive(Debug)]
struct ReasonCount {
    reason: Reason,
    total: AtomicU64,
    /// The same count in metrics.
    counter: Frequent,
}

impl Verdicts {
    /// The maximum number of reasons that are counted separately. Names in rules files may change at
    /// any time, so the configuration alone does not bound the number of reasons.
    const MAX: usize = 256;

    pub(super) fn new() -> Self {
        let known = (0..Self::MAX).map(|_| OnceLock::new()).collect();
        let verdicts = Self { known, other: AtomicU64::new(0) };
        // In a busy service, almost every request has one of these reasons.
        verdicts.find(&Reason::AdmittedPass);
        verdicts.find(&Reason::AdmittedLimits);
        verdicts
    }

    /// Counts a request. `counter` looks up the counter in metrics.
    pub(super) fn count(&self, reason: &Reason, counter: impl FnOnce() -> Counter) {
        // No other memory is published with a count, so relaxed suffices.
        if let Some(verdict) = self.find(reason) {
            verdict.total.fetch_add(1, Relaxed);
            verdict.counter.increment(counter);
        } else {
            self.other.fetch_add(1, Relaxed);
            counter().increment(1);
        }
    }

    /// Returns the number of requests with each reason, in no particular order. Reasons beyond the
    /// bound are counted together as `other`.
    pub(super) fn totals(&self) -> Vec<(String, u64)> {
        let known = self.known.iter().map_while(OnceLock::get);
        let totals = known.map(|known| (known.reason.to_string(), known.total.load(Relaxed)));
        let other = ("other".to_owned(), self.other.load(Relaxed));
        totals.chain([other]).filter(|(_, total)| *total > 0).collect()
    }

    /// Returns the place of a reason, which takes the first free place if it has none. Returns `None`
    /// if no place is free.
    fn find(&self, reason: &Reason) -> Option<&ReasonCount> {
        let places = self.known.iter();
        let mut taken = places.map(|place| place.get_or_init(|| ReasonCount::new(reason.clone())));
        taken.find(|verdict| verdict.reason == *reason)
    }
}

impl ReasonCount {
    fn new(reason: Reason) -> Self {
        Self { reason, total: AtomicU64::new(0), counter: Frequent::default() }
    }
}

/// The wait of one visitor who had a place in line and was admitted by this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisitorWait {
    /// The time of the visitor's first request.
    pub since: Timestamp,
    /// The time of the admission.
    pub until: Timestamp,
    /// The whole wait that the visitor was first told to expect, if there was an estimate.
    pub promised: Option<Duration>,
}

/// The waits that ended in the last minute, oldest first, in bounded memory.
#[derive(Debug, Default)]
pub(super) struct Waits(Mutex<VecDeque<VisitorWait>>);

impl Waits {
    /// The maximum number of waits that are kept. If there are more, the oldest are left out.
    const MAX: usize = 16_384;

    /// Adds the wait of a visitor who has just been admitted.
    pub(super) fn push(&self, wait: VisitorWait) {
        let mut recent = self.until(wait.until);
        if recent.len() == Self::MAX {
            recent.pop_front();
        }
        recent.push_back(wait);
    }

    /// Forgets waits that ended a minute or more before `now`, and returns the others.
    pub(super) fn until(&self, now: Timestamp) -> MutexGuard<'_, VecDeque<VisitorWait>> {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while recent.front().is_some_and(|wait| wait.until.as_secs() + 60 <= now.as_secs()) {
            recent.pop_front();
        }
        recent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::Telemetry;

    #[test]
    fn requests_are_counted_by_the_name_of_their_reason() {
        let telemetry = Telemetry::new("shop".into());
        for reason in [Reason::AdmittedPass, Reason::RefusedLineFull, Reason::RefusedLineFull] {
            telemetry.verdict(&reason);
        }
        let expected = [("admitted:pass".to_owned(), 1), ("refused:line_full".to_owned(), 2)];
        assert_eq!(telemetry.verdicts(), expected);
    }

    #[test]
    fn names_beyond_the_bound_are_counted_together() {
        let telemetry = Telemetry::new("shop".into());
        // Two places are already taken by the reasons of requests that are forwarded.
        for name in 0..Verdicts::MAX - 2 + 7 {
            for _ in 0..2 {
                telemetry.verdict(&Reason::RefusedRate(name.to_string().into()));
            }
        }
        let totals = telemetry.verdicts();
        assert_eq!(totals.len(), Verdicts::MAX - 2 + 1);
        assert!(totals.contains(&("other".to_owned(), 14)), "{totals:?}");
        assert!(totals.contains(&("refused:rate:253".to_owned(), 2)), "{totals:?}");
    }

    fn wait(second: u64) -> VisitorWait {
        let until = Timestamp::from_secs(second);
        VisitorWait { since: until, until, promised: None }
    }

    #[test]
    fn the_waits_of_the_last_minute_are_kept() {
        let waits = Waits::default();
        (1..=100).for_each(|second| waits.push(wait(second)));
        let seconds = |now| {
            let waits = waits.until(Timestamp::from_secs(now));
            [waits.front(), waits.back()].map(|wait| wait.map(|wait| wait.until.as_secs()))
        };
        assert_eq!(seconds(100), [Some(41), Some(100)]);
        assert_eq!(seconds(160), [None, None]);
    }

    #[test]
    fn the_memory_of_a_minute_with_too_many_admissions_is_bounded() {
        let waits = Waits::default();
        (0..50_000).for_each(|_| waits.push(wait(1)));
        let waits = waits.until(Timestamp::from_secs(1));
        assert_eq!((waits.len(), waits.capacity()), (Waits::MAX, Waits::MAX));
    }
}
