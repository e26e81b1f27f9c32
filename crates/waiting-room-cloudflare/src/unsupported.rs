//! What does not carry over.

use std::fmt;

/// A setting of Cloudflare Waiting Room that has no counterpart in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsupported {
    /// The field, such as `turnstile_mode` or `rules[2].expression`.
    pub field: String,
    /// The reason, with the value of the field and with what to do instead.
    pub why: String,
}

impl Unsupported {
    pub(super) fn new(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self { field: field.into(), why: why.into() }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.why)
    }
}
