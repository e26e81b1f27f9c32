//! Errors: a configuration that cannot be used, and a store that could not decide.
//!
//! The two never mix. A [`ConfigError`] occurs at start-up or when rules are changed, and is meant
//! for the operator. A [`StoreError`] occurs while requests are served, and decides how the layer
//! treats the request; its text goes to the log and not to the client.
//!
//! Having to wait, or being refused, is not an error. It is a [`Verdict`](crate::Verdict).

use std::{error::Error, fmt};

/// An invalid value in the configuration, found at start-up or when limits are changed at run time.
///
/// The message names the field, the value that it was given and the values that it accepts:
/// `max_keys is 0, expected at least 1`.
///
/// # Design
///
/// An opaque struct with a [`kind`](Self::kind): a future version can carry more details without
/// breaking callers that match on the kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    kind: ConfigErrorKind,
    field: &'static str,
    given: String,
    expected: String,
}

impl ConfigError {
    /// Creates an error about a `field` that was `given` one value where another was `expected`.
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

    /// The kind of error, for programs that have to distinguish them.
    #[must_use]
    pub const fn kind(&self) -> ConfigErrorKind {
        self.kind
    }

    /// The name of the field, as it is spelled in the builder and in a configuration file.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        self.field
    }

    /// The rejected value, as text.
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

impl Error for ConfigError {}

/// The reason why a value of the configuration was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigErrorKind {
    /// The value contradicts that of another field.
    Contradicts,
    /// The value does not have the required form.
    Malformed,
    /// The value is required and missing.
    Missing,
    /// The value exceeds the largest number, or the longest duration, that is supported.
    TooLarge,
    /// The value is below the smallest number, or the shortest duration, that is supported.
    TooSmall,
}

/// A store that could not decide about a request.
///
/// It never reaches the client as an error. The layer applies the configured failure policy, except
/// for [`Busy`](StoreErrorKind::Busy), which it answers with a time to come back.
#[derive(Debug)]
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

    /// The kind of failure, by which the layer chooses its response.
    #[must_use]
    pub const fn kind(&self) -> StoreErrorKind {
        self.kind
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            StoreErrorKind::Busy => "more was asked of the store than it can decide in time",
            StoreErrorKind::Rules => "the store refused the rules",
            StoreErrorKind::Timeout => "the store did not answer in time",
            StoreErrorKind::Unavailable => "the store is unavailable",
        })
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

/// The reason why a store could not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The store responds, but this node sends it more calls than it completes within the deadline.
    ///
    /// An overloaded queue on this node is not an outage: if it were treated as one, a flood of
    /// requests could switch on a failure policy that admits everything. So the failure policy does
    /// not apply, and the client is asked to come back later.
    Busy,
    /// The new rules were invalid. The old ones stay in force.
    Rules,
    /// The store did not respond before the deadline. The call may have taken effect.
    Timeout,
    /// The store cannot be reached, or is still starting.
    Unavailable,
}
