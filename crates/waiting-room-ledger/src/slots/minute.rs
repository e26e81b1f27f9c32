//! Calendar minutes, by which traffic and slots are counted, and the pacing of slots within one.

use std::time::Duration;

use waiting_room_core::Timestamp;

/// A calendar minute, counted from the Unix epoch. It is the article's `bucketId`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minute(u32);

/// The rate at which the slots of a minute become available.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pacing {
    /// A sixth of the slots is available at once, and the rest evenly over the next 50 seconds.
    ///
    /// All nodes get new slots at the start of a minute. Without pacing, all visitors that have
    /// waited for it are admitted at the same moment. The price is that a burst may have to wait
    /// although the minute has slots for it.
    Linear,
    /// All slots are available from the first instant, as in the article.
    #[default]
    None,
}

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

impl Pacing {
    /// The number of the minute's `slots` that are open at `now`.
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

/// The part of the minute that counts as elapsed when it begins: the sixth that is open at once.
const HEAD_START: Duration = Duration::from_secs(10);
