//! The options of leased blocks, and what a block can cost in accuracy.

use std::time::Duration;

use waiting_room_core::{ConfigError, error::ConfigErrorKind};

/// How many units of a limit a node may charge at once, to spend them without a round trip.
///
/// A node of [`RedisLimits`](crate::RedisLimits) that leases a block saves one decision of the
/// store for each unit of it. The node requests a block for a key that it charges again within a
/// lease, in the round trip that decides a request. A block has at most an eighth of what that
/// request leaves of the limit, so close to the limit the store decides each request. Units that
/// are unspent when the lease ends are given back, as far as time has not given them back already.
///
/// # What it costs
///
/// The units of a block are charged when it is leased, and may be spent until the lease ends. A
/// node has at most one block of a key. So, for each key:
///
/// - **Over-admission**: any window may admit up to *nodes × block* more than the limit, from units
///   that were leased before it and spent within it. A fixed window is exact, because a lease ends
///   with it.
/// - **Early refusals**: a request may be refused because other nodes hold units, at most
///   *(nodes - 1) × block*. This lasts for a lease and an eighth at most, until the units are given
///   back. A node that has been refused remembers that for up to another lease.
/// - A node that stops, or a reply that is later than the deadline, leaves its block charged until
///   time gives it back.
/// - A server that has lost the limits does not know of leased blocks: up to *nodes × block* more
///   are admitted.
///
/// The leaky queue leases nothing, because each of its requests has another delay. Neither does a
/// sliding log that counts refusals, because an early refusal would count against the client. A
/// request with such a limit is decided by the store, and leases no blocks of its other limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Blocks {
    pub(super) largest: u64,
    pub(super) lease: Duration,
}

impl Blocks {
    /// The bounds of the largest block, in units: 1 to 1 000 000.
    pub const LARGEST: (u64, u64) = (1, 1_000_000);
    /// The shortest and the longest [`lease`](Self::lease).
    pub const LEASE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(10));

    /// Blocks of at most `largest` units, each leased for a second.
    pub const fn max(largest: u64) -> Self {
        Self { largest, lease: Duration::from_secs(1) }
    }

    /// How long a node may spend a block: 10 ms to 10 s, 1 s by default.
    ///
    /// A longer lease saves more round trips for keys with few requests, and returns unspent units
    /// later.
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Checks both numbers.
    ///
    /// # Errors
    ///
    /// The first number that is out of bounds, with its value.
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

/// Returns how a value is out of bounds; `None` if it is within them.
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
