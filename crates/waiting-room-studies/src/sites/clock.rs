//! The time of a run: milliseconds since its start.

use waiting_room_core::Timestamp;

/// When a run begins by the clocks in it: midnight before the day of the article, a whole minute.
const START: Timestamp = Timestamp::from_secs(1_694_390_400);

/// What a clock in the run shows.
pub(super) fn timestamp(now: u32) -> Timestamp {
    Timestamp::from_millis(START.as_millis() + u64::from(now))
}

/// The millisecond of the run at which a clock in it shows this.
pub(super) fn millis(at: Timestamp) -> u32 {
    u32::try_from(at.as_millis().saturating_sub(START.as_millis())).unwrap_or(u32::MAX)
}

/// Seconds as milliseconds, rounded.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
pub(super) fn from_seconds(seconds: f64) -> u32 {
    (1_000.0 * seconds).round() as u32
}

pub(super) const SECOND: u32 = 1_000;
pub(super) const MINUTE: u32 = 60 * SECOND;
