//! Calendar minutes, by which traffic and slots are counted, and how slots are spread over one.

use std::time::Duration;

use waiting_room_core::Timestamp;

/// A calendar minute, as a count of minutes since the Unix epoch. The article's `bucketId`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minute(u32);

/// From when on the slots of a minute may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pacing {
    /// A sixth at once, and the rest evenly over the next 50 seconds.
    ///
    /// Everybody's slots are new at the turn of a minute. Whoever waited comes in then, all at
    /// once, unless they are paced. The price: a burst that would have had slots may have to wait.
    Linear,
    /// All from the first instant, as in the article.
    #[default]
    None,
}

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

impl Pacing {
    /// How many of the `slots` of this minute are open at `now`.
    #[must_use]
    pub fn open(self, slots: u32, minute: Minute, now: Timestamp) -> u32 {
        match self {
            Self::Linear => {
                let into = now.since(minute.start()) + HEAD_START;
                let millis = into.min(Minute::LENGTH).as_millis();
                let open = (u128::from(slots) * millis).div_ceil(Minute::LENGTH.as_millis());
                u32::try_from(open).unwrap_or(slots)
            }
            Self::None => slots,
        }
    }
}

/// So much of the minute counts as over when it begins.
const HEAD_START: Duration = Duration::from_secs(10);
