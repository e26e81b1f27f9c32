//! What a user may choose about blocks.

use std::time::Duration;

use waiting_room_core::{ConfigError, ConfigErrorKind};

/// How much of a limit a node may take at once, to spend it without asking.
///
/// A node of [`RedisLimits`](crate::RedisLimits) that leases a block spares the store one question
/// for each unit of it. A block is taken for a key that is asked about again within a lease, in the
/// round trip that decides a request; it is never more than an eighth of what that request leaves of
/// the limit, so that close to the limit each request is decided by the store alone. What is unspent
/// when the lease ends is given back, as far as time has not done so.
///
/// # What it costs
///
/// A unit of a block is charged when the block is taken, and may be spent until its lease ends. A
/// node has one block of a key at most. Hence, for each key:
///
/// - **Over-admission**: in any window at most *nodes × block* more than the limit, which were taken
///   before the window and spent in it. A fixed window is kept exactly, since a lease ends with it.
/// - **Refused early**: a request may be refused for the sake of units that other nodes hold, which
///   are at most *(nodes - 1) × block*; for at most a lease and an eighth, until they are given back,
///   and as much as another lease for a cost that the node has been refused and does not ask for
///   again before.
/// - A node that stops, or a reply that does not come within the deadline, leaves its block charged
///   until time gives it back.
/// - A server that has forgotten the limits does not know of blocks that are leased: *nodes × block*
///   more may pass.
///
/// The leaky queue leases nothing, since each of its requests is told another delay; nor does a
/// sliding log that counts refusals, which would punish who is refused early. A request with such a
/// limit is decided by the store, and takes no blocks of its other limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Blocks {
    pub(super) largest: u64,
    pub(super) lease: Duration,
}

impl Blocks {
    /// The smallest and the greatest size of the largest block.
    pub const LARGEST: (u64, u64) = (1, 1_000_000);
    /// The shortest and the longest [`lease`](Self::lease).
    pub const LEASE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(10));

    /// Blocks of no more than this, each for a second.
    pub const fn max(largest: u64) -> Self {
        Self { largest, lease: Duration::from_secs(1) }
    }

    /// How long a block may be spent. 10 ms to 10 s.
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

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
