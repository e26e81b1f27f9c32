//! The options of a gate that nodes share.

use std::{num::NonZeroU32, time::Duration};

use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use super::GateShare;
use crate::options::RedisStoreOptions;

/// The total of a [`GateShare`], what happens while the server is unreachable, and how a node
/// communicates with the server.
///
/// All nodes that share a gate need the same [prefix](Self::prefix), but may have different
/// deadlines.
#[derive(Clone, Debug)]
#[must_use]
pub struct GateShareOptions {
    /// The limit for all nodes together, as configured on this node.
    pub(super) total: NonZeroU32,
    pub(super) on_failure: GateStoreFailure,
    /// The deadline of each renewal, and the prefix of the key.
    pub(super) store: RedisStoreOptions,
}

impl GateShareOptions {
    /// Creates the options of a gate with this limit for all nodes together, with a deadline of 50
    /// ms and a key that begins with `{wr:`. Every node should pass the same total.
    ///
    /// `on_failure` determines what happens to a node's share when its lease has ended and the
    /// server does not answer. It has no default, because either choice is wrong for some services.
    pub fn new(total: NonZeroU32, on_failure: GateStoreFailure) -> Self {
        Self { total, on_failure, store: RedisStoreOptions::new() }
    }

    /// Sets the longest time that a renewal may take, from 1 ms to
    /// [1 s](GateShare::LONGEST_DEADLINE); 50 ms by default.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.store = self.store.deadline(deadline);
        self
    }

    /// Sets the prefix of the key, `wr` by default. Services that share a server need different
    /// prefixes. See [`RedisStoreOptions::prefix`].
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.store = self.store.prefix(prefix);
        self
    }

    /// Checks the deadline and the prefix.
    ///
    /// # Errors
    ///
    /// Returns an error for the first invalid option. The error states the option's value.
    pub(super) fn validate(mut self) -> Result<Self, ConfigError> {
        self.store = self.store.validate()?;
        if self.store.deadline > GateShare::LONGEST_DEADLINE {
            let given = format_args!("{:?}", self.store.deadline);
            let expected = format_args!("at most {:?}", GateShare::LONGEST_DEADLINE);
            return Err(ConfigError::new(ConfigErrorKind::TooLarge, "deadline", given, expected));
        }
        Ok(self)
    }
}

/// What happens to a node's share when its lease has ended and the store does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the node keeps its share or gives it up")]
pub enum GateStoreFailure {
    /// The node's share stays the same. While no node can reach the store, no share grows, so the
    /// total is not exceeded. If only one node is cut off, its share is also given to the other
    /// nodes, and the total is exceeded by up to that share.
    LocalShare,
    /// The node's share becomes zero shortly before the server gives it to other nodes, and no new
    /// request runs. The total is exceeded only by requests that run longer than the lease.
    Refuse,
}
