//! Calendar minutes, by which traffic and slots are counted.

use std::time::Duration;

use waiting_room_core::Timestamp;

/// A calendar minute, counted from the Unix epoch. It is the article's `bucketId`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minute(u32);

impl Minute {
    /// The length of a minute.
    pub const LENGTH: Duration = Duration::from_secs(60);

    /// The minute with this number since the Unix epoch.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number of the minute since the Unix epoch.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The minute in which `at` falls.
    #[must_use]
    pub fn of(at: Timestamp) -> Self {
        Self(u32::try_from(at.as_secs() / 60).unwrap_or(u32::MAX))
    }

    /// The previous minute, or this one if it is the first after the epoch.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// The next minute.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The first instant of the minute.
    #[must_use]
    pub fn start(self) -> Timestamp {
        Timestamp::from_secs(60 * u64::from(self.0))
    }

    /// The first instant after the minute.
    #[must_use]
    pub fn end(self) -> Timestamp {
        self.start() + Self::LENGTH
    }
}
