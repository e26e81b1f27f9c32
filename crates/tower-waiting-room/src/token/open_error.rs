//! Why a token was not believed.

/// Why a token was not believed. For metrics and spans; the client is never told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenError {
    /// Once valid; void by now.
    Expired,
    /// The seal does not fit: changed, or sealed for another room, kind or key.
    Forged,
    /// Stamped later than clocks can differ.
    FromTheFuture,
    /// Not a token at all: too long, not base64url, or not of the form.
    Malformed,
    /// Sealed with a key that is not on the ring.
    UnknownKey,
    /// Sealed by another version of this crate.
    UnknownVersion,
}

impl OpenError {
    /// The stable name, as a metric's label.
    #[must_use]
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Forged => "forged",
            Self::FromTheFuture => "from_the_future",
            Self::Malformed => "malformed",
            Self::UnknownKey => "unknown_key",
            Self::UnknownVersion => "unknown_version",
        }
    }
}
