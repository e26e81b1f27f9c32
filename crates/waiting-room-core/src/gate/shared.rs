//! A limit on running requests, shared by several nodes.
//!
//! ```text
//!  SharedConcurrency ── join ─► NodeShare ── renew(Demand) ─► the share that the gate applies now
//! ```
//!
//! Each gate joins the limit as a node of its own, so two gates of one process never use the same
//! share. The traits are object-safe, because the server is chosen once at start-up and should not
//! add a type parameter to the layer.

use std::{fmt, future::Future, pin::Pin, time::Duration};

/// A limit that the gates of several nodes share.
pub trait SharedConcurrency: fmt::Debug + Send + Sync + 'static {
    /// Adds a node, whose share is zero until its first renewal.
    fn join(&self) -> Box<dyn NodeShare>;
}

/// One node's share of a [`SharedConcurrency`].
///
/// # Contract
///
/// - **Bounded sum.** If each node applies its share as soon as a renewal returns, and renews it at
///   the intervals of [`until_next`](Self::until_next), the shares of all nodes never add up to more
///   than the limit. An implementation documents what happens while its server is unreachable.
/// - **Bounded calls.** A renewal returns within a deadline that is short enough for the next renewal
///   to be in time.
/// - **Leases.** A node that is dropped, or that no longer renews its share, loses it after a while.
pub trait NodeShare: fmt::Debug + Send + 'static {
    /// Reports the node's demand, and returns the limit that its gate must apply now.
    ///
    /// The demand has to be read after the previous limit has been applied, because permits that the
    /// report leaves unused are given to other nodes.
    ///
    /// # Cancel safety
    ///
    /// A renewal may have taken effect even if its future was dropped. The next renewal sends another
    /// complete report.
    fn renew(&mut self, demand: Demand) -> Pin<Box<dyn Future<Output = u32> + Send + '_>>;

    /// Returns how long to wait before the next renewal.
    fn until_next(&self) -> Duration;
}

/// The number of requests at a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a request at a gate either runs or waits")]
pub struct Demand {
    /// The number of requests that are running.
    pub in_flight: u32,
    /// The number of requests that are waiting for a permit.
    pub queued: u32,
}
