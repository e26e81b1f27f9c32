//! The errors of this crate, for an invalid configuration and for a store that made no decision.
//!
//! Configuration errors and store errors are never mixed. A [`ConfigError`] occurs at start-up or
//! when rules are changed, and is meant for the operator. A [`StoreError`] occurs while a request
//! is being handled, and determines how the layer treats that request. The message of a
//! [`StoreError`] goes to the log, not to the client.
//!
//! Waiting and being refused are not errors: a [`Verdict`](crate::Verdict) expresses both outcomes.

use std::{error::Error, fmt};

/// An invalid value in the configuration, found at start-up or when limits are changed at run time.
///
/// The message names the field, its value, and the accepted values:
/// `max_keys is 0, expected at least 1`.
///
/// # Design
///
/// The error is an opaque struct with a [`kind`](Self::kind), so a future version can contain more
/// details without breaking callers that match on the kind.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigError {
    kind: ConfigErrorKind,
    field: &'static str,
    given: String,
    expected: String,
}

impl ConfigError {
    /// Creates an error for a `field` whose value is `given`.
    ///
    /// The message is "`field` is `given`, expected `expected`", so `expected` should describe the
    /// accepted values: "at least 1", not "a larger value".
    #[must_use]
    pub fn new(
        kind: ConfigErrorKind,
        field: &'static str,
        given: impl fmt::Display,
        expected: impl fmt::Display,
    ) -> Self {
        Self { kind, field, given: given.to_string(), expected: expected.to_string() }
    }

    /// The kind of error, for programs that treat some kinds differently.
    #[must_use]
    pub const fn kind(&self) -> ConfigErrorKind {
        self.kind
    }

    /// The name of the field, as spelled in the builder and in configuration files.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        self.field
    }

    /// The rejected value, as a string.
    #[must_use]
    pub fn given(&self) -> &str {
        &self.given
    }

    /// A description of the values that the field accepts.
    #[must_use]
    pub fn expected(&self) -> &str {
        &self.expected
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, expected {}", self.field, self.given, self.expected)
    }
}

/// Formats the message, followed by the kind of error, because a program whose `main` returns the
/// error prints this form.
impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} ({:?})", self.kind)
    }
}

impl Error for ConfigError {}

/// The reason why a configuration value was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigErrorKind {
    /// The value contradicts the value of another field.
    Contradicts,
    /// The value does not have the required format.
    Malformed,
    /// The value is required but missing.
    Missing,
    /// The value exceeds the largest number or the longest duration that is supported.
    TooLarge,
    /// The value is below the smallest number or the shortest duration that is supported.
    TooSmall,
}

/// An error from a store that could not make a decision.
///
/// A store error never reaches the client as an error. If its kind is
/// [`Busy`](StoreErrorKind::Busy), the layer asks the client to come back later. For any other
/// kind, the layer applies the configured failure policy.
pub struct StoreError {
    kind: StoreErrorKind,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl StoreError {
    /// Creates an error of this `kind` without a cause.
    #[must_use]
    pub const fn new(kind: StoreErrorKind) -> Self {
        Self { kind, source: None }
    }

    /// Attaches the cause, which [`Error::source`] then returns.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The kind of failure, which determines the layer's response.
    #[must_use]
    pub const fn kind(&self) -> StoreErrorKind {
        self.kind
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            StoreErrorKind::Busy => "the store received more calls than it can complete in time",
            StoreErrorKind::Rules => "the store rejected the rules",
            StoreErrorKind::Timeout => "the store did not answer in time",
            StoreErrorKind::Unavailable => "the store is unavailable",
            StoreErrorKind::Unsupported => "the store does not support scheduled events",
        })
    }
}

/// Formats the message with its causes, followed by the kind of error, because a program whose `main`
/// returns the error prints this form.
impl fmt::Debug for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        let mut cause = self.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        write!(f, " ({:?})", self.kind)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<ConfigError> for StoreError {
    fn from(error: ConfigError) -> Self {
        Self::new(StoreErrorKind::Rules).with_source(error)
    }
}

/// The reason why a store could not make a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a caller of a store must treat every failure")]
pub enum StoreErrorKind {
    /// The store responds, but this node sends more calls than the store completes within the
    /// deadline.
    ///
    /// An overloaded queue on this node is not an outage. If an overload were treated as an outage,
    /// a flood of requests could trigger a failure policy that admits every request. Under
    /// overload, the failure policy therefore does not apply, and the client is asked to come back
    /// later.
    Busy,
    /// The new rules were invalid, and the old rules stay in effect.
    Rules,
    /// The store did not respond before the deadline. The call may have taken effect.
    Timeout,
    /// The store cannot be reached, or is still starting up.
    Unavailable,
    /// The store does not support scheduled events. No decision about a visitor fails with this
    /// error.
    Unsupported,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debug_output_of_an_error_is_its_message_with_its_causes_and_its_kind() {
        let error = ConfigError::new(ConfigErrorKind::TooSmall, "max_keys", 0, "at least 1");
        assert_eq!(format!("{error:?}"), "max_keys is 0, expected at least 1 (TooSmall)");
        let expected = "the store rejected the rules: max_keys is 0, expected at least 1 (Rules)";
        assert_eq!(format!("{:?}", StoreError::from(error)), expected);
    }
}
