//! What can go wrong, in kinds that never mix: the rules are wrong, or the store failed.
//!
//! A visitor who is told to wait or to go away is not an error; that is a
//! [`Verdict`](crate::Verdict).

use std::{error::Error, fmt};

/// The configuration cannot be used. Met at start-up, or when limits are changed live.
///
/// The message names the field, the value it was given and the value it would have to have.
///
/// # Design
///
/// An opaque struct with a [`kind`](Self::kind), so that a future version can say more without
/// breaking anybody who matches on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    kind: ConfigErrorKind,
    field: &'static str,
    given: String,
    expected: String,
}

impl ConfigError {
    /// A `field` that was `given` a value where another was `expected`.
    #[must_use]
    pub fn new(
        kind: ConfigErrorKind,
        field: &'static str,
        given: impl fmt::Display,
        expected: impl fmt::Display,
    ) -> Self {
        Self { kind, field, given: given.to_string(), expected: expected.to_string() }
    }

    /// What is wrong, for a program.
    #[must_use]
    pub const fn kind(&self) -> ConfigErrorKind {
        self.kind
    }

    /// The name of the field, as in the builder and in a configuration file.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        self.field
    }

    /// The value that was refused.
    #[must_use]
    pub fn given(&self) -> &str {
        &self.given
    }

    /// What the value would have to be.
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

/// What is wrong with a value of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigErrorKind {
    /// It contradicts another field.
    Contradicts,
    /// It is not of the required form.
    Malformed,
    /// It is missing.
    Missing,
    /// It is greater than the largest, or longer than the longest, that is supported.
    TooLarge,
    /// It is smaller than the smallest, or shorter than the shortest, that makes sense.
    TooSmall,
}

/// The store could not decide. Goes to the failure policy, never to the client.
#[derive(Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl StoreError {
    /// An error of this `kind` without a cause.
    #[must_use]
    pub const fn new(kind: StoreErrorKind) -> Self {
        Self { kind, source: None }
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What went wrong, for a program.
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

/// What kept a store from deciding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The store answers, but this node has more to ask than it decides within the deadline.
    ///
    /// Overload of the node's own queue is not an outage: a flood of requests must not bring the
    /// failure policy about. The request is to come back later, whatever that policy is.
    Busy,
    /// New rules were not valid; the old ones stay.
    Rules,
    /// The answer did not come before the deadline.
    Timeout,
    /// The store cannot be reached, or is starting.
    Unavailable,
}
