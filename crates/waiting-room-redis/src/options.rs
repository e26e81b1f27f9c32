//! What a user may choose about a store.

use std::{sync::Arc, time::Duration};

use waiting_room_core::{Clock, ConfigError, ConfigErrorKind};

/// How a [`RedisStore`](crate::RedisStore), [`RedisLimits`](crate::RedisLimits) or a
/// [`GateShare`](crate::GateShare) talks to its server.
#[derive(Clone, Debug)]
pub struct RedisStoreOptions {
    pub(crate) deadline: Duration,
    pub(crate) prefix: String,
    pub(crate) clock: Option<Arc<dyn Clock>>,
}

impl RedisStoreOptions {
    /// The shortest and the longest [`deadline`](Self::deadline).
    pub const DEADLINE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(10));

    /// A decision within 50 ms, keys that begin with `{wr:`, and the time of the server.
    #[must_use]
    pub fn new() -> Self {
        Self { deadline: Duration::from_millis(50), prefix: "wr".to_owned(), clock: None }
    }

    /// How long a visitor's request waits for a decision.
    ///
    /// After it, the failure policy of the layer decides. 1 ms to 10 s. A connection of `redis` has a
    /// response timeout of its own, 500 ms unless it was told otherwise; the shorter one counts.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// What all keys begin with, to tell apart services that share a server.
    ///
    /// Letters, digits, `-`, `_`, `.` and `:`.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Where all nodes read the time, if not from the server: for tests and simulations.
    ///
    /// The nodes of a room must share one clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

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
