//! The options of a store: its deadline, the prefix of its keys, and a clock for tests.
//!
//! The options are checked once, when a store connects. A value that is out of bounds causes an
//! error that names the option, and is never clamped.

use std::{sync::Arc, time::Duration};

use waiting_room_core::{ConfigError, error::ConfigErrorKind, room::event::Schedule, time::Clock};

use crate::rules::SlotsOf;

/// Options that determine how a [`RedisStore`](crate::RedisStore) or
/// [`RedisLimits`](crate::RedisLimits) communicates with its server.
///
/// All nodes that share a room or limits need the same [prefix](Self::prefix), but may have
/// different deadlines.
#[derive(Clone, Debug)]
pub struct RedisStoreOptions {
    /// The longest time that one script may take, as measured by this node.
    pub(crate) deadline: Duration,
    /// The first part of the hash tag of every key.
    pub(crate) prefix: String,
    /// A clock that replaces the server's clock, or `None` outside of tests.
    pub(crate) clock: Option<Arc<dyn Clock>>,
    /// The events with which a node opens its room.
    pub(crate) schedule: Option<Schedule>,
    /// The source of the room's slots.
    pub(crate) slots_of: SlotsOf,
}

impl RedisStoreOptions {
    /// The shortest and the longest [`deadline`](Self::deadline) that can be configured.
    pub const DEADLINE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(10));

    /// Creates the default options: a deadline of 50 ms, keys that begin with `{wr:`, and the
    /// server's clock.
    #[must_use]
    pub fn new() -> Self {
        Self {
            deadline: Duration::from_millis(50),
            prefix: "wr".to_owned(),
            clock: None,
            schedule: None,
            slots_of: SlotsOf::Rules,
        }
    }

    /// Sets how long a request waits for a decision, from 1 ms to 10 s; 50 ms by default.
    ///
    /// When the deadline has passed, the layer's failure policy applies. A connection of the
    /// `redis` crate has its own response timeout, which is 500 ms by default. The shorter of the
    /// two timeouts takes effect.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Sets the prefix of all keys, `wr` by default. Services that share a server need different
    /// prefixes.
    ///
    /// A prefix consists of 1 to 64 letters, digits, `-`, `_`, `.` and `:`. Together with the name
    /// of the room, the limits or the gate it forms the hash tag `{prefix:name}`, so braces are not
    /// allowed.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Replaces the server's clock, for tests and simulations.
    ///
    /// All nodes of a room must share this clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Sets the events of the room, which may already be running or over. By default, a node adopts
    /// the events that the server stores, if there are any.
    ///
    /// The server treats these events like the rules that a node starts with. A node that starts
    /// with the same rules and events adopts what operators have changed since. A node that starts
    /// with other rules or events replaces the rules and the events on all nodes. The events
    /// include the secret seeds of their draws, which the server stores, because every node needs
    /// them at the start of the event.
    ///
    /// An event in progress is the exception (see [`follow_release`]): it continues even if a node
    /// starts without it, and a node that would change a part that is already fixed, such as the
    /// draw, is refused.
    ///
    /// [`follow_release`]: waiting_room_core::room::event::RoomPlan::follow_release
    ///
    /// [`RedisLimits`](crate::RedisLimits) ignore this option.
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = Some(schedule);
        self
    }

    /// Makes the room use the slots that a global ledger grants to its site. The room has no slots
    /// before that. All nodes of the room need this option.
    #[cfg(feature = "sites")]
    #[doc(hidden)]
    #[must_use]
    pub fn of_site(mut self) -> Self {
        self.slots_of = SlotsOf::Site;
        self
    }

    /// Checks every option.
    ///
    /// # Errors
    ///
    /// Returns an error for the first invalid option. The error states the option's value.
    pub(crate) fn validate(self) -> Result<Self, ConfigError> {
        let (shortest, longest) = Self::DEADLINE;
        if self.deadline < shortest || self.deadline > longest {
            let kind = if self.deadline < shortest {
                ConfigErrorKind::TooSmall
            } else {
                ConfigErrorKind::TooLarge
            };
            let given = format_args!("{:?}", self.deadline);
            let expected = format_args!("{shortest:?} to {longest:?}");
            return Err(ConfigError::new(kind, "deadline", given, expected));
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        if self.prefix.is_empty() || self.prefix.len() > 64 || !self.prefix.bytes().all(is_plain) {
            return Err(ConfigError::new(
                ConfigErrorKind::Malformed,
                "prefix",
                format_args!("{:?}", self.prefix),
                "1 to 64 letters, digits, '-', '_', '.' or ':'",
            ));
        }
        Ok(self)
    }
}

impl Default for RedisStoreOptions {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_option_is_refused_by_name_and_value() {
        let message = |options: RedisStoreOptions| options.validate().unwrap_err().to_string();
        let options = RedisStoreOptions::new;
        assert_eq!(
            message(options().deadline(Duration::ZERO)),
            "deadline is 0ns, expected 1ms to 10s"
        );
        assert_eq!(
            message(options().deadline(Duration::from_secs(11))),
            "deadline is 11s, expected 1ms to 10s"
        );
        assert_eq!(
            message(options().prefix("a{b")),
            "prefix is \"a{b\", expected 1 to 64 letters, digits, '-', '_', '.' or ':'"
        );
    }
}
