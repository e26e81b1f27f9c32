//! Times and waits, as answers write them.

use std::time::Duration;

use jiff::fmt::{StdIoWrite, temporal::DateTimePrinter};
use serde::{Serialize, Serializer};
use waiting_room_core::{Timestamp, Wait};

/// A point in time as ISO 8601 has it: `2026-11-21T08:00:00.000Z`.
pub(super) struct Iso(pub(super) Timestamp);

impl Iso {
    pub(super) const LEN: usize = "2026-11-21T08:00:00.000Z".len();

    /// The text, in `buffer`. The years of a [`Timestamp`] have four digits.
    pub(super) fn format<'a>(&self, buffer: &'a mut [u8; Self::LEN]) -> &'a str {
        let nanos = i128::from(self.0.as_nanos());
        let time = jiff::Timestamp::from_nanosecond(nanos).unwrap_or(jiff::Timestamp::MAX);
        let mut rest = &mut buffer[..];
        let printer = DateTimePrinter::new().precision(Some(3));
        let is_written = printer.print_timestamp(&time, StdIoWrite(&mut rest)).is_ok();
        let text = std::str::from_utf8(buffer).ok().filter(|_| is_written);
        text.unwrap_or("1970-01-01T00:00:00.000Z")
    }
}

impl Serialize for Iso {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.format(&mut [0; Self::LEN]))
    }
}

/// A wait and its range, in whole seconds.
#[derive(Serialize)]
pub(super) struct WaitSeconds {
    p25: u64,
    p50: u64,
    p75: u64,
}

impl WaitSeconds {
    pub(super) fn new(wait: Wait) -> Self {
        let Wait { p25, p50, p75, .. } = wait;
        let [p25, p50, p75] = [p25, p50, p75].map(|it: Duration| it.as_secs());
        Self { p25, p50, p75 }
    }
}

/// Whole seconds, rounded up, and at least one: a client that waits for them is never early.
pub(super) fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0)).max(1)
}

/// Whole minutes, rounded up, and at least one.
pub(super) fn whole_minutes(duration: Duration) -> u64 {
    whole_seconds(duration).div_ceil(60)
}

/// Whole seconds since the Unix epoch, rounded up.
pub(super) fn unix_seconds(time: Timestamp) -> u64 {
    time.as_nanos().div_ceil(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_up_to_whole_seconds_and_at_least_one() {
        let millis = [0, 1, 999, 1_000, 1_001, 8_200, 9_000];
        let told = millis.map(|it| whole_seconds(Duration::from_millis(it)));
        assert_eq!(told, [1, 1, 1, 1, 2, 9, 9]);
        assert_eq!(whole_seconds(Duration::MAX), u64::MAX);
    }

    #[test]
    fn a_unix_time_is_rounded_up_to_whole_seconds() {
        let millis = [0, 1, 1_000, 1_001, 1_900];
        assert_eq!(millis.map(|it| unix_seconds(Timestamp::from_millis(it))), [0, 1, 1, 2, 2]);
        assert_eq!(unix_seconds(Timestamp::MAX), 18_446_744_074);
    }

    #[test]
    fn every_point_in_time_has_a_text() {
        let text = |time| Iso(time).format(&mut [0; Iso::LEN]).to_owned();
        assert_eq!(text(Timestamp::from_millis(1_500)), "1970-01-01T00:00:01.500Z");
        assert_eq!(text(Timestamp::MAX), "2554-07-21T23:34:33.709Z");
    }
}
