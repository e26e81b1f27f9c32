//! The calls to the store that requests have made, by what their visitors wanted.

use crate::calls::Calls;

/// The calls to the store, as far as the service [tells them](crate::tells_calls).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trips {
    /// Those of first requests, without any token.
    pub newcomers: Tally,
    /// Those of requests with a valid pass that was not due.
    pub passes: Tally,
    /// Those of waiting visitors, who may be answered without a call, and of visitors whose session
    /// is over.
    pub polls: Tally,
    /// Those of requests with a pass that was due. The response waits for the store, but not for
    /// longer than its deadline.
    pub renewals: Tally,
    /// The renewals that the store had not answered when the response left.
    pub late: u64,
    /// The renewals that the store has answered without extending the session: a site without a
    /// lease extends none.
    pub refused: u64,
}

/// A number of requests, and the calls that they made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// The requests.
    pub requests: u64,
    /// The calls about the visitors of these requests.
    pub calls: u64,
}

impl Trips {
    /// Adds the calls of a request. `is_new` is whether the visitor had no token.
    pub(super) fn add(&mut self, purpose: Purpose, is_new: bool, calls: Calls) {
        let Self { newcomers, passes, polls, renewals, .. } = self;
        let tally = match purpose {
            Purpose::GetIn if is_new => newcomers,
            Purpose::GetIn => polls,
            Purpose::GoOn if was_over(calls) => polls,
            Purpose::GoOn if calls.asked > 0 => renewals,
            Purpose::GoOn => passes,
            Purpose::Leave => return,
        };
        tally.requests += 1;
        tally.calls += u64::from(calls.asked);
    }

    /// Adds a request with a pass whose visitor was served. Returns whether the response has promised
    /// a whole session.
    pub(super) fn served(&mut self, calls: Calls) -> bool {
        self.late += u64::from(calls.asked > calls.answered);
        // With two calls, the session was over, and the visitor was admitted again.
        self.refused += u64::from((calls.asked, calls.answered, calls.extended) == (1, 1, 0));
        calls.asked == calls.extended
    }
}

/// The purpose of a request, as the witness distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To be admitted or asked to wait: the room decides.
    GetIn,
    /// To see the next page, with a pass.
    GoOn,
    /// To end the session.
    Leave,
}

/// Returns whether a request with a pass was that of a visitor whose session was over: the store was
/// asked to renew it, and then to admit the visitor.
pub(super) const fn was_over(calls: Calls) -> bool {
    calls.asked > 1
}

impl Tally {
    /// The calls of each request.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "the counts are small")]
    pub fn calls_per_request(self) -> f64 {
        self.calls as f64 / self.requests.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(asked: u32, answered: u32, extended: u32) -> Calls {
        Calls { asked, answered, extended, ends: 0 }
    }

    #[test]
    fn a_response_promises_a_session_unless_its_renewal_was_late_or_refused() {
        for (made, is_whole, late, refused) in [
            (calls(0, 0, 0), true, 0, 0),
            (calls(1, 1, 1), true, 0, 0),
            (calls(1, 0, 0), false, 1, 0),
            (calls(1, 1, 0), false, 0, 1),
            (calls(2, 2, 0), false, 0, 0),
        ] {
            let mut trips = Trips::default();
            assert_eq!(trips.served(made), is_whole, "{made:?}");
            assert_eq!((trips.late, trips.refused), (late, refused), "{made:?}");
        }
    }

    #[test]
    fn calls_are_counted_by_what_visitors_want() {
        let mut trips = Trips::default();
        for (purpose, is_new, asked) in [
            (Purpose::GetIn, true, 1),
            (Purpose::GetIn, false, 0),
            (Purpose::GoOn, false, 0),
            (Purpose::GoOn, false, 0),
            (Purpose::GoOn, false, 1),
            (Purpose::GoOn, false, 2),
            (Purpose::Leave, false, 1),
        ] {
            trips.add(purpose, is_new, calls(asked, asked, 0));
        }
        let tally = |requests, calls| Tally { requests, calls };
        assert_eq!((trips.newcomers, trips.polls), (tally(1, 1), tally(2, 2)));
        assert_eq!((trips.passes, trips.renewals), (tally(2, 0), tally(1, 1)));
        assert!((tally(4, 3).calls_per_request() - 0.75).abs() < f64::EPSILON);
    }
}
