//! How the slots of a minute are spread over it.

use std::time::Duration;

use waiting_room_core::Timestamp;

use crate::Minute;

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
