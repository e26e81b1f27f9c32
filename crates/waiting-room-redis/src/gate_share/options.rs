//! The options of a gate that nodes share.

use std::{num::NonZeroU32, sync::atomic::AtomicU32, time::Duration};

use waiting_room_core::{ConfigError, StoreError, error::ConfigErrorKind};

use crate::{keys, options::RedisStoreOptions};

/// The total of a [`GateShare`](crate::GateShare), what happens while the server is unreachable, and
/// how a node communicates with the server.
///
/// All nodes that share a gate need the same [prefix](Self::prefix), but may have different
/// deadlines.
#[derive(Clone, Debug)]
#[must_use]
pub struct GateShareOptions {
    /// The limit for all nodes together, as configured on this node.
    total: NonZeroU32,
    on_failure: GateStoreFailure,
    /// The deadline of each renewal, and the prefix of the key.
    store: RedisStoreOptions,
}

impl GateShareOptions {
    /// The time for which the server reserves a share for a node that does not renew it, 3 s.
    pub const LEASE: Duration = Duration::from_secs(3);
    /// The time between two renewals, 250 ms.
    pub const RENEWED_EVERY: Duration = Duration::from_millis(250);
    /// The maximum [`deadline`](Self::deadline) of a renewal, 1 s, so that a lease outlasts failed
    /// renewals.
    pub const LONGEST_DEADLINE: Duration = Duration::from_secs(1);

    /// Creates the options of a gate with this limit for all nodes together, with a deadline of 50
    /// ms and a key that begins with `{wr:`. Every node should pass the same total.
    ///
    /// `on_failure` determines what happens to a node's share when its lease has ended and the
    /// server does not answer. It has no default, because either choice is wrong for some services.
    pub fn new(total: NonZeroU32, on_failure: GateStoreFailure) -> Self {
        Self { total, on_failure, store: RedisStoreOptions::new() }
    }

    /// Sets the longest time that a renewal may take, from 1 ms to
    /// [1 s](Self::LONGEST_DEADLINE); 50 ms by default.
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
    fn validate(mut self) -> Result<Self, ConfigError> {
        self.store = self.store.validate()?;
        if self.store.deadline > Self::LONGEST_DEADLINE {
            let given = format_args!("{:?}", self.store.deadline);
            let expected = format_args!("at most {:?}", Self::LONGEST_DEADLINE);
            return Err(ConfigError::new(ConfigErrorKind::TooLarge, "deadline", given, expected));
        }
        Ok(self)
    }
}

/// The settings that all nodes of one share have in common.
#[derive(Debug)]
pub(super) struct GateSettings {
    pub(super) key: String,
    /// The limit for all nodes together, as configured on this node. The number guards no other
    /// data, so accesses to it are relaxed.
    pub(super) total: AtomicU32,
    /// The maximum duration of a renewal.
    pub(super) deadline: Duration,
    pub(super) on_failure: GateStoreFailure,
}

impl GateSettings {
    /// Checks the name and the options.
    pub(super) fn new(gate: String, options: GateShareOptions) -> Result<Self, StoreError> {
        let GateShareOptions { total, on_failure, store } = options.validate()?;
        Ok(Self {
            key: keys::of_gate(&store.prefix, &keys::validate_name(gate)?),
            total: AtomicU32::new(total.get()),
            deadline: store.deadline,
            on_failure,
        })
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
