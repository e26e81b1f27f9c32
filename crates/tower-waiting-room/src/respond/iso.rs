//! Points in time in ISO 8601 format, as answers contain them.

use serde::{Serialize, Serializer};
use waiting_room_core::Timestamp;

/// A point in time in ISO 8601 format, in UTC and with milliseconds, such as
/// `2026-11-21T08:00:00.000Z`.
pub(crate) struct Iso(pub(crate) Timestamp);

impl Iso {
    /// The length of a formatted point in time, in bytes.
    pub(crate) const LEN: usize = "2026-11-21T08:00:00.000Z".len();

    /// Formats the point in time into `buffer` and returns it as text.
    pub(crate) fn format<'a>(&self, buffer: &'a mut [u8; Self::LEN]) -> &'a str {
        *buffer = self.bytes();
        std::str::from_utf8(buffer).unwrap_or("1970-01-01T00:00:00.000Z")
    }

    /// Formats the point in time. Every [`Timestamp`] fits, because the latest one is in the year
    /// 2554, so the year always has four digits.
    pub(super) fn bytes(&self) -> [u8; Self::LEN] {
        // The days and the milliseconds of a day fit in 32 bits, in which divisions cost less.
        let days = self.0.as_millis() / 86_400_000;
        let millis = self.0.as_millis() % 86_400_000;
        let days = low_bits(days);
        let millis = low_bits(millis);
        let [year, month, day] = date(days);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        write_two(&mut text, 0, year / 100);
        write_two(&mut text, 2, year % 100);
        write_two(&mut text, 5, month);
        write_two(&mut text, 8, day);
        let seconds = millis / 1_000;
        let millis = millis % 1_000;
        write_two(&mut text, 11, seconds / 3_600);
        write_two(&mut text, 14, seconds / 60 % 60);
        write_two(&mut text, 17, seconds % 60);
        write_two(&mut text, 20, millis / 10);
        text[22] = digit(millis % 10);
        text
    }
}

/// Returns the year, the month and the day of the month, for a number of days since 1970-01-01.
///
/// This is the algorithm `civil_from_days` by Howard Hinnant. Its years begin in March, so that the
/// leap day is the last day of a year.
fn date(days: u32) -> [u32; 3] {
    // 719 468 days lie between 0000-03-01 and 1970-01-01, and 146 097 days are 400 years.
    let days = days + 719_468;
    let era = days / 146_097;
    let day = days % 146_097;
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Of five months from March on, three have 31 days, which are 153 days in all.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    [400 * era + year + u32::from(month <= 2), month, day]
}

/// Returns a number that fits in 32 bits.
const fn low_bits(number: u64) -> u32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Writes a number below 100 as two digits.
fn write_two(text: &mut [u8; Iso::LEN], at: usize, number: u32) {
    text[at] = digit(number / 10);
    text[at + 1] = digit(number % 10);
}

/// Returns a number below 10 as a digit.
const fn digit(number: u32) -> u8 {
    b'0' + number.to_le_bytes()[0]
}

impl Serialize for Iso {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.format(&mut [0; Self::LEN]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Compares the text of a point in time with that of a library.
    fn compare(nanos: u64) {
        let time = jiff::Timestamp::from_nanosecond(nanos.into()).unwrap();
        let expected = format!("{time:.3}");
        assert_eq!(Iso(Timestamp::from_nanos(nanos)).format(&mut [0; Iso::LEN]), expected);
    }

    #[test]
    fn every_day_has_the_text_of_the_library() {
        const DAY: u64 = 86_400 * 1_000_000_000;
        for day in 0..=u64::MAX / DAY {
            compare(day * DAY);
            compare((day * DAY).saturating_add(DAY - 1));
        }
    }

    proptest! {
        #[test]
        fn every_point_in_time_has_the_text_of_the_library(nanos in any::<u64>()) {
            compare(nanos);
        }
    }
}
