//! The interface of adaptive limits, and the samples that they learn from.

use std::{fmt, time::Duration};

use crate::Timestamp;

/// Decides how many requests may run at once, from the requests that have ended.
///
/// A gate starts with [`limit`](Self::limit). After each request, it is set to what
/// [`observe`](Self::observe) returns.
///
/// The caller holds a lock around these calls, and other requests wait for that lock. An
/// implementation must therefore be fast, must not block, and must not panic, whatever the samples.
///
/// At zero, no request runs and a limit gets no more samples, so it would never recover. A caller
/// should treat 0 as 1.
///
/// ```
/// use waiting_room_core::gate::{AdaptiveLimit, Sample};
///
/// /// The limit that an operator sets on a dial, applied when the next request ends.
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
    /// Returns the number of requests that may run at once.
    fn limit(&self) -> u32;

    /// Records a request that has ended; returns the number that may run from now on.
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
/// A request that was refused, or whose client disconnected, must not become a sample. The first
/// took no time, and the run time of the second depends on the client's patience rather than on the
/// service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// The time at which the request ended.
    pub now: Timestamp,
    /// The number of requests that ran when it was admitted, including itself. It may exceed the
    /// limit if that was lowered since.
    pub in_flight: u32,
    /// The time from admission to release, without the wait in the queue.
    pub hold: Duration,
    /// The outcome of the request.
    pub outcome: PermitOutcome,
}

impl Sample {
    /// A request that ended at `now`, was admitted as one of `in_flight`, and took `hold`.
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

/// The outcome of a request, as far as it matters to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PermitOutcome {
    /// The request was served, so only its hold matters. This includes application errors that have
    /// nothing to do with load.
    Done,
    /// The service could not keep up: the request timed out, was answered with 503 or 504, or was
    /// marked as overloaded by the application.
    Overloaded,
}
