//! What decides how many requests may run, and what it is told.

use std::{fmt, time::Duration};

use crate::Timestamp;

/// Decides how many requests may run at once, from how those that ran went.
///
/// A gate begins with the [`limit`](Self::limit), and is told after each request that is over what
/// [`observe`](Self::observe) says then. Whoever calls them does so for one request at a time, while
/// others wait to tell of theirs: an implementation is quick, does not block and does not panic,
/// whatever the samples say. While it says 0, nobody runs, and it hears nothing more; so whoever
/// asks it had better take 0 for 1.
///
/// ```
/// use waiting_room_core::{AdaptiveLimit, Sample};
///
/// /// As many as the operator's dial says, however the requests go: from the next that is over.
/// #[derive(Debug)]
/// struct Dial(std::sync::Arc<std::sync::atomic::AtomicU32>);
///
/// impl AdaptiveLimit for Dial {
///     fn limit(&self) -> u32 {
///         self.0.load(std::sync::atomic::Ordering::Relaxed)
///     }
///
///     fn observe(&mut self, _: &Sample) -> u32 {
///         self.limit()
///     }
/// }
/// # assert_eq!(Dial(std::sync::Arc::new(7.into())).limit(), 7);
/// ```
pub trait AdaptiveLimit: fmt::Debug + Send + 'static {
    /// How many may run at once, as of now.
    fn limit(&self) -> u32;

    /// Hears of a request that is over; says how many may run from now on.
    fn observe(&mut self, sample: &Sample) -> u32;
}

impl<L: AdaptiveLimit + ?Sized> AdaptiveLimit for Box<L> {
    fn limit(&self) -> u32 {
        (**self).limit()
    }

    fn observe(&mut self, sample: &Sample) -> u32 {
        (**self).observe(sample)
    }
}

/// One request that ran to its end.
///
/// One that was refused, or whose client left, is never a sample: the first took no time, and how
/// long the second ran says more about the client's patience than about the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// When it was over.
    pub now: Timestamp,
    /// How many ran when it was admitted, itself included. More than the limit, where that has
    /// shrunk since.
    pub in_flight: u32,
    /// From its admission to its release. The wait in the queue before is not part of it.
    pub hold: Duration,
    /// How it went.
    pub outcome: PermitOutcome,
}

impl Sample {
    /// A request that was over at `now`, had begun as one of `in_flight`, and took `hold`.
    #[must_use]
    pub const fn new(
        now: Timestamp,
        in_flight: u32,
        hold: Duration,
        outcome: PermitOutcome,
    ) -> Self {
        Self { now, in_flight, hold, outcome }
    }
}

/// How a request went, as far as a limit is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PermitOutcome {
    /// It was served; how long that took is all there is to learn. An error of the application
    /// that has nothing to do with load is served, too.
    Done,
    /// The service could not keep up: it timed out, answered 503 or 504, or said so itself.
    Overloaded,
}
