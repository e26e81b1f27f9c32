//! Calendar minutes, by which traffic and slots are counted.

use std::time::Duration;

use waiting_room_core::Timestamp;

/// A calendar minute, as a count of minutes since the Unix epoch. The article's `bucketId`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minute(u32);

impl Minute {
    /// How long it is.
    pub const LENGTH: Duration = Duration::from_secs(60);

    /// The minute in which `at` falls.
    #[must_use]
    pub fn of(at: Timestamp) -> Self {
        Self(u32::try_from(at.as_secs() / 60).unwrap_or(u32::MAX))
    }

    /// The minute before, or this one if it is the first of all.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// The minute after.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Its first instant.
    #[must_use]
    pub fn start(self) -> Timestamp {
        Timestamp::from_secs(60 * u64::from(self.0))
    }

    /// The first instant after it.
    #[must_use]
    pub fn end(self) -> Timestamp {
        self.start() + Self::LENGTH
    }
}
