//! The interface of adaptive limits, and the samples that they learn from.

use std::{fmt, time::Duration};

use crate::Timestamp;

/// Determines how many requests may run at once, based on the requests that have ended.
///
/// A gate starts with the limit that [`limit`](Self::limit) returns. After each request, the limit
/// of the gate is set to the value that [`observe`](Self::observe) returns.
///
/// The caller holds a lock while it calls a method of this trait, and other requests wait for that
/// lock. An implementation must therefore be fast, must not block, and must not panic, whatever the
/// sample contains.
///
/// With a limit of zero, no request would run and there would be no more samples, so the limit
/// would never recover. Callers should treat 0 as 1.
///
/// ```
/// use waiting_room_core::gate::{AdaptiveLimit, Sample};
///
/// /// A limit that an operator sets on a dial. A change takes effect when a request ends.
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

    /// Records a request that has ended, and returns the number of requests that may run at once
    /// from now on.
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

/// The measurements of one request that ran to completion.
///
/// A request that was refused, or whose client disconnected, must not become a sample. A refused
/// request does not run at all, and the run time of a request whose client disconnects depends on
/// the client's patience rather than on the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// The time at which the request ended.
    pub now: Timestamp,
    /// The number of requests that were running when this request was admitted, including this
    /// request. This number may exceed the current limit if the limit was lowered after the
    /// admission.
    pub in_flight: u32,
    /// The time from admission to release, not including the wait in the queue.
    pub hold: Duration,
    /// The outcome of the request.
    pub outcome: PermitOutcome,
}

impl Sample {
    /// Creates a sample of a request that ended at `now`, was admitted as one of `in_flight`
    /// running requests, and ran for `hold`.
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
    /// The request was served, so only its hold matters. A request that ended with an application
    /// error unrelated to load also has this outcome.
    Done,
    /// The service could not keep up: the request timed out, was answered with 503 or 504, or
    /// caused the application to report an overload.
    Overloaded,
}
