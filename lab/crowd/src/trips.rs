//! The calls that requests have made to the store, grouped by what their visitors wanted.

use std::time::Duration;

use tokio::time::Instant;

use crate::calls::Calls;

/// The calls to the store, as far as the service [reports them](Calls).
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
    /// The renewals that the store had not answered when the response was sent.
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
    /// Adds the calls of a request. `is_new` says whether the visitor had no token.
    pub(crate) fn add(&mut self, purpose: Purpose, is_new: bool, calls: Calls) {
        let Self { newcomers, passes, polls, renewals, .. } = self;
        let tally = match purpose {
            Purpose::GetIn if is_new => newcomers,
            Purpose::GetIn => polls,
            Purpose::GoOn if calls.find_session_over() => polls,
            Purpose::GoOn if calls.asked > 0 => renewals,
            Purpose::GoOn => passes,
            Purpose::Leave => return,
        };
        tally.requests += 1;
        tally.calls += u64::from(calls.asked);
    }

    /// Adds a request with a pass whose visitor was served.
    pub(crate) fn served(&mut self, calls: Calls) {
        self.late += u64::from(calls.asked > calls.answered);
        self.refused += u64::from(calls.refused);
    }
}

/// The purpose of a request, as the witness distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To be admitted or asked to wait: the room decides.
    GetIn,
    /// To see the next page, with a pass.
    GoOn,
    /// To end the session.
    Leave,
}

/// The last renewal of a visitor's session, if it was late or extended nothing.
///
/// The node asks the store again after a ninth of the time that is left, or once a late call is over, which
/// takes a second at most. Until then, a response without a call promises no more than the one before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unextended {
    since: Option<Instant>,
    /// The time after which the node has to ask again.
    asks_again: Duration,
}

impl Unextended {
    /// No renewal has failed. A new pass is valid for this time.
    pub(crate) fn none(pass_lifetime: Duration) -> Self {
        Self { since: None, asks_again: (pass_lifetime / 9).max(LEFT_BEHIND) }
    }

    /// Returns whether a response with these calls promises a whole session, if it serves the visitor.
    /// The request was sent at `sent`, and the response arrives at `now`.
    pub(crate) fn promises_session(&mut self, calls: Calls, sent: Instant, now: Instant) -> bool {
        if calls.asked > 0 {
            let is_extended = calls.find_session_over() || calls.asked == calls.extended;
            self.since = (!is_extended).then_some(now);
        }
        match self.since {
            Some(since) => calls.asked == 0 && sent - since > self.asks_again,
            None => true,
        }
    }
}

/// The time for which a node continues a renewal after its response.
const LEFT_BEHIND: Duration = Duration::from_secs(1);

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

    /// The time from a request to its response.
    const SLOW: Duration = Duration::from_secs(1);
    const NONE: Calls = Calls { asked: 0, answered: 0, extended: 0, refused: 0 };
    const EXTENDED: Calls = Calls { asked: 1, answered: 1, extended: 1, ..NONE };
    const LATE: Calls = Calls { asked: 1, ..NONE };
    const REFUSED: Calls = Calls { asked: 1, answered: 1, refused: 1, ..NONE };
    /// The session was over, so the visitor was admitted again.
    const ADMITTED: Calls = Calls { asked: 1, answered: 1, ..NONE };
    const OVER: Calls = Calls { asked: 2, answered: 2, ..NONE };

    #[test]
    fn a_response_promises_a_session_unless_its_renewal_was_late_or_refused() {
        for (made, is_whole, late, refused) in [
            (EXTENDED, true, 0, 0),
            (LATE, false, 1, 0),
            (REFUSED, false, 0, 1),
            (ADMITTED, true, 0, 0),
            (OVER, true, 0, 0),
        ] {
            let mut trips = Trips::default();
            trips.served(made);
            let mut unextended = Unextended::none(Duration::from_secs(90));
            let now = Instant::now();
            assert!(unextended.promises_session(NONE, now, now));
            assert_eq!(unextended.promises_session(made, now, now), is_whole, "{made:?}");
            // A node that never asks again is detected.
            let without_a_call = [10, 11]
                .map(|secs| now + Duration::from_secs(secs))
                .map(|sent| unextended.promises_session(NONE, sent, sent + SLOW));
            assert_eq!(without_a_call, [is_whole, true], "{made:?}");
            assert_eq!((trips.late, trips.refused), (late, refused), "{made:?}");
        }
    }

    #[test]
    fn calls_are_counted_by_purpose() {
        let mut trips = Trips::default();
        for (purpose, is_new, made) in [
            (Purpose::GetIn, true, ADMITTED),
            (Purpose::GetIn, false, NONE),
            (Purpose::GoOn, false, NONE),
            (Purpose::GoOn, false, NONE),
            (Purpose::GoOn, false, EXTENDED),
            (Purpose::GoOn, false, LATE),
            (Purpose::GoOn, false, REFUSED),
            (Purpose::GoOn, false, ADMITTED),
            (Purpose::GoOn, false, OVER),
            (Purpose::Leave, false, ADMITTED),
        ] {
            trips.add(purpose, is_new, made);
        }
        let tally = |requests, calls| Tally { requests, calls };
        assert_eq!((trips.newcomers, trips.polls), (tally(1, 1), tally(3, 3)));
        assert_eq!((trips.passes, trips.renewals), (tally(2, 0), tally(3, 3)));
        assert!((tally(4, 3).calls_per_request() - 0.75).abs() < f64::EPSILON);
    }
}
