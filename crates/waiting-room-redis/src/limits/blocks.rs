//! Options for leased blocks, and the loss of accuracy that blocks cause.

use std::time::Duration;

use waiting_room_core::{ConfigError, error::ConfigErrorKind};

/// The number of units of a limit that a node may charge at once and spend later without a round
/// trip.
///
/// Each unit of a block that a [`RedisLimits`](crate::RedisLimits) node leases saves one decision
/// by the store. When a key is charged again within the length of a lease, the node requests a
/// block for the key, in the same round trip that decides the request. A block contains at most an
/// eighth of the units that remain after the request, so close to the limit the store decides every
/// request. Units that are unspent when the lease ends are returned, except those that the passage
/// of time has already restored.
///
/// # What it costs
///
/// The units of a block are charged when the block is leased, and may be spent until the lease
/// ends. A node has at most one block for each key. Blocks have the following consequences for each
/// key:
///
/// - **Over-admission**: any window may admit up to *nodes × block* requests more than the limit,
///   because units that were leased before the window may be spent within it. A fixed window is
///   exact, because its leases end with the window.
/// - **Early refusals**: a request may be refused because other nodes hold unspent units, at most
///   *(nodes - 1) × block*. These units are returned within nine eighths of a lease. A node may
///   remember the refusal for up to another lease.
/// - **Lost blocks**: if a node stops, or if a reply arrives after the deadline, the block stays
///   charged until the passage of time restores its units.
/// - **Data loss**: a server that has lost the limits has no record of leased blocks, so up to
///   *nodes × block* more requests are admitted.
///
/// Blocks are not leased for a leaky queue, because each of its requests has a different delay, or
/// for a sliding log that counts refusals, because an early refusal would count against the client.
/// If one limit of a request is a leaky queue or such a log, the store always decides on the
/// request, and no blocks of its other limits are leased either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Blocks {
    pub(super) largest: u64,
    pub(super) lease: Duration,
}

impl Blocks {
    /// The smallest and the largest value of [`max`](Self::max): 1 and 1 000 000 units.
    pub const LARGEST: (u64, u64) = (1, 1_000_000);
    /// The shortest and the longest [`lease`](Self::lease) that can be configured.
    pub const LEASE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(10));

    /// Creates options for blocks of at most `largest` units, each leased for 1 s.
    pub const fn max(largest: u64) -> Self {
        Self { largest, lease: Duration::from_secs(1) }
    }

    /// Sets how long a node may spend units of a block, from 10 ms to 10 s; 1 s by default.
    ///
    /// A longer lease saves more round trips for keys that get few requests, but unspent units are
    /// returned later.
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Checks the block size and the lease.
    ///
    /// # Errors
    ///
    /// Returns an error for the first value that is out of bounds. The error states the value.
    pub(super) fn validate(self) -> Result<Self, ConfigError> {
        let (smallest, greatest) = Self::LARGEST;
        if let Some(kind) = outside(&self.largest, &smallest, &greatest) {
            let expected = format_args!("{smallest} to {greatest}");
            return Err(ConfigError::new(kind, "largest", self.largest, expected));
        }
        let (shortest, longest) = Self::LEASE;
        if let Some(kind) = outside(&self.lease, &shortest, &longest) {
            let given = format_args!("{:?}", self.lease);
            let expected = format_args!("{shortest:?} to {longest:?}");
            return Err(ConfigError::new(kind, "lease", given, expected));
        }
        Ok(self)
    }
}

/// Returns in which direction a value is out of bounds, or `None` if it is within the bounds.
fn outside<T: Ord>(given: &T, least: &T, most: &T) -> Option<ConfigErrorKind> {
    match given {
        _ if given < least => Some(ConfigErrorKind::TooSmall),
        _ if given > most => Some(ConfigErrorKind::TooLarge),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_option_is_refused_by_name_and_value() {
        let message = |blocks: Blocks| blocks.validate().unwrap_err().to_string();
        let lasting = |lease| Blocks::max(100).lease(lease);
        assert_eq!(message(Blocks::max(0)), "largest is 0, expected 1 to 1000000");
        assert_eq!(message(Blocks::max(1_000_001)), "largest is 1000001, expected 1 to 1000000");
        assert_eq!(
            message(lasting(Duration::from_millis(9))),
            "lease is 9ms, expected 10ms to 10s"
        );
        assert_eq!(message(lasting(Duration::from_secs(11))), "lease is 11s, expected 10ms to 10s");
        assert!(lasting(Duration::from_secs(10)).validate().is_ok());
    }
}
