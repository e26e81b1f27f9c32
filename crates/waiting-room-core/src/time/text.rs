//! Timestamps as text, in the format of RFC 3339, such as `2026-12-24T10:00:00Z`.

use std::{
    fmt,
    str::FromStr,
    time::{SystemTime, UNIX_EPOCH},
};

use super::Timestamp;
use crate::{ConfigError, error::ConfigErrorKind};

/// Reads a time in the format of RFC 3339, with any offset from UTC.
///
/// ```
/// use waiting_room_core::Timestamp;
///
/// let doors: Timestamp = "2026-12-24T10:00:00+01:00".parse()?;
/// assert_eq!(doors, "2026-12-24T09:00:00Z".parse()?);
/// assert_eq!(doors.to_string(), "2026-12-24T09:00:00Z");
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
///
/// The seconds may have up to nine decimal places. The second 60, which occurs only as a leap
/// second, is read as the second 59.
impl FromStr for Timestamp {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let wrong = |kind, expected: &str| {
            ConfigError::new(kind, "timestamp", format_args!("{text:?}"), expected)
        };
        let nanos = nanos_since_epoch(text.as_bytes()).ok_or_else(|| {
            let expected = "a time in the format of RFC 3339, such as 2026-12-24T10:00:00Z";
            wrong(ConfigErrorKind::Malformed, expected)
        })?;
        u64::try_from(nanos).map(Self::from_nanos).map_err(|_| {
            if nanos < 0 {
                wrong(ConfigErrorKind::TooSmall, &format!("at least {}", Self::ZERO))
            } else {
                wrong(ConfigErrorKind::TooLarge, &format!("at most {}", Self::MAX))
            }
        })
    }
}

/// Fails for a time before the Unix epoch or after [`Timestamp::MAX`].
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// use waiting_room_core::Timestamp;
///
/// let at = UNIX_EPOCH + Duration::from_secs(7);
/// assert_eq!(Timestamp::try_from(at)?, Timestamp::from_secs(7));
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
impl TryFrom<SystemTime> for Timestamp {
    type Error = ConfigError;

    fn try_from(time: SystemTime) -> Result<Self, ConfigError> {
        let wrong = |kind, given: String, expected: String| {
            Err(ConfigError::new(kind, "timestamp", given, expected))
        };
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => match u64::try_from(since.as_nanos()) {
                Ok(nanos) => Ok(Self::from_nanos(nanos)),
                Err(_) => {
                    let given = format!("{since:?} after the Unix epoch");
                    wrong(ConfigErrorKind::TooLarge, given, format!("at most {}", Self::MAX))
                }
            },
            Err(error) => {
                let given = format!("{:?} before the Unix epoch", error.duration());
                wrong(ConfigErrorKind::TooSmall, given, format!("at least {}", Self::ZERO))
            }
        }
    }
}

impl From<Timestamp> for SystemTime {
    fn from(at: Timestamp) -> Self {
        UNIX_EPOCH + at.since(Timestamp::ZERO)
    }
}

/// Writes the time in UTC in the format of RFC 3339, with decimal places only if they are needed.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut iso = [0; Self::ISO_LEN];
        let (to_seconds, _) = self.write_iso(&mut iso).split_at(Self::ISO_LEN - ".000Z".len());
        f.write_str(to_seconds)?;
        let nanos = self.as_nanos() % 1_000_000_000;
        if nanos != 0 {
            f.write_str(format!(".{nanos:09}").trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

impl Timestamp {
    /// The length, in bytes, of the text that [`write_iso`](Self::write_iso) writes.
    #[doc(hidden)]
    pub const ISO_LEN: usize = "2026-11-21T08:00:00.000Z".len();

    /// Writes the time in UTC with milliseconds, for the answers of the layer, and returns it as
    /// text. The year has four digits, because the year of [`MAX`](Self::MAX) is 2554.
    #[doc(hidden)]
    #[must_use]
    pub fn write_iso(self, text: &mut [u8; Self::ISO_LEN]) -> &str {
        // The days and the milliseconds of a day fit in 32 bits, and 32-bit divisions cost less.
        let days = low_bits(self.as_millis() / 86_400_000);
        let millis = low_bits(self.as_millis() % 86_400_000);
        let [year, month, day] = date(days);
        *text = *b"0000-00-00T00:00:00.000Z";
        write_two(text, 0, year / 100);
        write_two(text, 2, year % 100);
        write_two(text, 5, month);
        write_two(text, 8, day);
        let seconds = millis / 1_000;
        let millis = millis % 1_000;
        write_two(text, 11, seconds / 3_600);
        write_two(text, 14, seconds / 60 % 60);
        write_two(text, 17, seconds % 60);
        write_two(text, 20, millis / 10);
        text[22] = digit(millis % 10);
        std::str::from_utf8(text).unwrap_or_default()
    }
}

/// Reads a `date-time` of RFC 3339, section 5.6, as nanoseconds since the Unix epoch.
fn nanos_since_epoch(text: &[u8]) -> Option<i128> {
    let (date, text) = text.split_at_checked("2026-12-24".len())?;
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = date else { return None };
    let year = number(&[y1, y2, y3, y4], 0, 9_999)?;
    let month = number(&[m1, m2], 1, 12)?;
    let day = number(&[d1, d2], 1, days_in(year, month))?;

    let (time, text) = text.split_at_checked("T10:00:00".len())?;
    let &[b'T' | b't', h1, h2, b':', n1, n2, b':', s1, s2] = time else { return None };
    let hour = number(&[h1, h2], 0, 23)?;
    let minute = number(&[n1, n2], 0, 59)?;
    let second = number(&[s1, s2], 0, 60)?.min(59);

    let (nanos, text) = fraction(text)?;
    let offset = match *text {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', n1, n2] => {
            let minutes = 60 * number(&[h1, h2], 0, 23)? + number(&[n1, n2], 0, 59)?;
            if sign == b'-' { -60 * minutes } else { 60 * minutes }
        }
        _ => return None,
    };
    let seconds = 86_400 * days(year, month, day) + 3_600 * hour + 60 * minute + second - offset;
    Some(i128::from(seconds) * 1_000_000_000 + i128::from(nanos))
}

/// Reads the decimal places of a second, if there are any, as nanoseconds. Returns the remaining
/// text as well.
fn fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let Some(text) = text.strip_prefix(b".") else { return Some((0, text)) };
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut digits = [b'0'; 9];
    digits.get_mut(..len)?.copy_from_slice(&text[..len]);
    if len == 0 {
        return None;
    }
    Some((number(&digits, 0, 999_999_999)?, &text[len..]))
}

/// Reads digits as a number between `least` and `most`.
fn number(digits: &[u8], least: i64, most: i64) -> Option<i64> {
    let mut number = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = 10 * number + i64::from(digit - b'0');
    }
    (least..=most).contains(&number).then_some(number)
}

/// Returns the number of days in a month.
const fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the number of days from 1970-01-01 to a date, which may be earlier.
///
/// This is the algorithm `days_from_civil` by Howard Hinnant. Its years begin in March, so that the
/// leap day is the last day of a year.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    // Counted from March, each group of five months has 153 days, because three of them have 31
    // days. 719 468 days lie between 0000-03-01 and 1970-01-01.
    let day = (153 * month + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day - 719_468
}

/// Returns the year, the month and the day of the month, for a number of days since 1970-01-01.
///
/// This is the algorithm `civil_from_days`, the inverse of [`days`].
const fn date(days: u32) -> [u32; 3] {
    // 146 097 days are 400 years.
    let days = days + 719_468;
    let era = days / 146_097;
    let day = days % 146_097;
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    if month < 10 {
        [400 * era + year, month + 3, day]
    } else {
        [400 * era + year + 1, month - 9, day]
    }
}

/// Returns a number that fits in 32 bits.
const fn low_bits(number: u64) -> u32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Writes a number below 100 as two digits.
fn write_two(text: &mut [u8], at: usize, number: u32) {
    text[at] = digit(number / 10);
    text[at + 1] = digit(number % 10);
}

/// Returns a number below 10 as a digit.
const fn digit(number: u32) -> u8 {
    b'0' + number.to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a time with this crate and with a library.
    fn compare(text: &str) {
        let expected = text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_nanosecond);
        let expected = expected.and_then(|nanos| u64::try_from(nanos).ok());
        assert_eq!(text.parse().ok().map(Timestamp::as_nanos), expected, "{text}");
    }

    #[test]
    fn every_day_is_written_and_read_like_the_library_does() {
        const DAY: u64 = 86_400 * 1_000_000_000;
        for day in 0..=u64::MAX / DAY {
            // The first and the last nanosecond of a day, by turns.
            let nanos = (day * DAY).saturating_add(day % 2 * (DAY - 1));
            let at = Timestamp::from_nanos(nanos);
            let library = jiff::Timestamp::from_nanosecond(nanos.into()).unwrap();
            assert_eq!(at.to_string(), library.to_string());
            assert_eq!(at.write_iso(&mut [0; Timestamp::ISO_LEN]), format!("{library:.3}"));
            assert_eq!(at.to_string().parse(), Ok(at));
        }
    }

    #[test]
    fn days_that_do_not_exist_are_refused() {
        for year in 1970..=2400 {
            for month in 0..=13 {
                for day in [0, 1, 28, 29, 30, 31, 32] {
                    compare(&format!("{year}-{month:02}-{day:02}T23:59:59.5Z"));
                }
            }
        }
    }

    #[test]
    fn an_error_names_the_text_and_the_format() {
        let error = |text: &str| text.parse::<Timestamp>().unwrap_err();
        for text in [
            "",
            "2026-12-24",
            "2026-12-24T10:00:00",
            "2026-12-24T10:00Z",
            "2026-12-24T10:00:00.Z",
            "2026-12-24T10:00:00.0123456789Z",
            "2026-12-24T24:00:00Z",
            "2026-12-24T10:60:00Z",
            "2026-12-24T10:00:61Z",
            "2026-12-24T10:00:00+01",
            "2026-12-24T10:00:00+24:00",
            "2026-12-24T10:00:00Z ",
            "+2026-12-24T10:00:00Z",
            "２026-12-24T10:00:00Z",
        ] {
            assert_eq!(error(text).kind(), ConfigErrorKind::Malformed, "{text:?}");
        }
        assert_eq!(
            error("tomorrow").to_string(),
            "timestamp is \"tomorrow\", expected a time in the format of RFC 3339, such as \
             2026-12-24T10:00:00Z",
        );
        assert_eq!(
            error("1970-01-01T00:59:59+01:00").to_string(),
            "timestamp is \"1970-01-01T00:59:59+01:00\", expected at least 1970-01-01T00:00:00Z",
        );
        assert_eq!(
            error("9999-12-31T23:59:59Z").to_string(),
            "timestamp is \"9999-12-31T23:59:59Z\", expected at most \
             2554-07-21T23:34:33.709551615Z",
        );
    }

    #[test]
    fn system_times_outside_of_the_range_are_refused() {
        let second = std::time::Duration::from_secs(1);
        let kind = |time: SystemTime| Timestamp::try_from(time).map_err(|error| error.kind());
        assert_eq!(kind(UNIX_EPOCH - second), Err(ConfigErrorKind::TooSmall));
        assert_eq!(kind(UNIX_EPOCH), Ok(Timestamp::ZERO));
        let last = SystemTime::from(Timestamp::MAX);
        assert_eq!(kind(last), Ok(Timestamp::MAX));
        assert_eq!(kind(last + second), Err(ConfigErrorKind::TooLarge));
    }

    proptest! {
        #[test]
        fn every_time_is_written_like_the_library_does_and_read_back(nanos in any::<u64>()) {
            let at = Timestamp::from_nanos(nanos);
            let library = jiff::Timestamp::from_nanosecond(nanos.into()).unwrap();
            prop_assert_eq!(at.to_string(), library.to_string());
            let mut iso = [0; Timestamp::ISO_LEN];
            prop_assert_eq!(at.write_iso(&mut iso), format!("{library:.3}"));
            prop_assert_eq!(at.to_string().parse(), Ok(at));
            prop_assert_eq!(Timestamp::try_from(SystemTime::from(at)), Ok(at));
        }

        #[test]
        fn every_text_of_the_format_is_read_like_the_library_does(
            text in "(00|19|20|25|99)[0-9]{2}-[01][0-9]-[0-3][0-9][Tt]\
                     [0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{1,9})?([Zz]|[+-]([01][0-9]|2[0-3]):[0-6][0-9])",
        ) {
            compare(&text);
        }

        #[test]
        fn no_text_causes_a_panic(text in "[-0-9T:.Z+ é]{0,40}", any in any::<String>()) {
            let _ = text.parse::<Timestamp>();
            let _ = any.parse::<Timestamp>();
        }
    }
}
