//! The options of a store: its deadline, the prefix of its keys, and a clock for tests.
//!
//! They are checked once, when a store connects. A value out of bounds is an error that names the
//! option; no value is clamped.

use std::{sync::Arc, time::Duration};

use waiting_room_core::{ConfigError, error::ConfigErrorKind, time::Clock};

/// How a [`RedisStore`](crate::RedisStore), [`RedisLimits`](crate::RedisLimits) or a
/// [`GateShare`](crate::GateShare) talks to its server.
///
/// All nodes that share a room, limits or a gate need the same [prefix](Self::prefix); deadlines
/// may differ.
#[derive(Clone, Debug)]
pub struct RedisStoreOptions {
    /// The longest time that one script may take, as seen from this node.
    pub(crate) deadline: Duration,
    /// The first part of the hash tag of every key.
    pub(crate) prefix: String,
    /// Replaces the server's clock; `None` outside of tests.
    pub(crate) clock: Option<Arc<dyn Clock>>,
}

impl RedisStoreOptions {
    /// The shortest and the longest [`deadline`](Self::deadline).
    pub const DEADLINE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(10));

    /// A deadline of 50 ms, keys that begin with `{wr:`, and the clock of the server.
    #[must_use]
    pub fn new() -> Self {
        Self { deadline: Duration::from_millis(50), prefix: "wr".to_owned(), clock: None }
    }

    /// How long a visitor's request waits for a decision: 1 ms to 10 s, 50 ms by default.
    ///
    /// When it has passed, the failure policy of the layer decides. A connection of the `redis`
    /// crate has a response timeout of its own, 500 ms by default; the shorter of the two applies.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The prefix of all keys, `wr` by default: different services on one server need different
    /// prefixes.
    ///
    /// 1 to 64 letters, digits, `-`, `_`, `.` and `:`. The prefix and the name of the room, of the
    /// limits or of the gate are the hash tag `{prefix:name}`, so braces are not allowed.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Replaces the clock of the server, for tests and simulations.
    ///
    /// All nodes of a room must share this clock. A [`GateShare`](crate::GateShare) ignores it and
    /// keeps the time of the server.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Checks every option.
    ///
    /// # Errors
    ///
    /// The first option that is out of bounds, with its value.
    pub(crate) fn validate(self) -> Result<Self, ConfigError> {
        let (shortest, longest) = Self::DEADLINE;
        if self.deadline < shortest || self.deadline > longest {
            let kind = match self.deadline < shortest {
                true => ConfigErrorKind::TooSmall,
                false => ConfigErrorKind::TooLarge,
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
