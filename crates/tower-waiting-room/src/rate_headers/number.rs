//! Integers in headers.

use std::time::Duration;

use http::HeaderValue;
use waiting_room_core::{Quota, Timestamp};

/// An integer as the value of a header. Below a thousand, as most are, it takes no memory.
pub(super) fn value(number: u64) -> HeaderValue {
    let small = usize::try_from(number).ok().and_then(|index| NUMERALS.get(index));
    small.map_or_else(|| large(bounded(number)), |numeral| HeaderValue::from_static(numeral))
}

/// Of just as many bytes as it has digits; the conversion that `http` has reserves more.
fn large(number: u64) -> HeaderValue {
    let digits = HeaderValue::from_str(itoa::Buffer::new().format(number));
    digits.unwrap_or_else(|_| HeaderValue::from(number))
}

/// The number itself, or the largest that a structured field can carry (RFC 9651 section 3.3.1).
pub(super) fn bounded(number: u64) -> u64 {
    number.min(Quota::MAX_LIMIT)
}

/// Whole seconds, rounded up, so that a client that waits for them is never early.
pub(super) fn seconds(time: Duration) -> u64 {
    bounded(time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0)))
}

/// Whole seconds, rounded up, and at least one: a client that waits for them is never early.
pub(crate) fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0)).max(1)
}

/// Whole seconds since the Unix epoch, rounded up.
pub(super) fn unix_seconds(time: Timestamp) -> u64 {
    time.as_nanos().div_ceil(1_000_000_000)
}

/// The numbers from 0 to 999.
static NUMERALS: [&str; 1000] = {
    let mut numerals = [""; 1000];
    let mut number = 0;
    while number < 1000 {
        let zeros = if number < 10 { 2 } else { (number < 100) as usize };
        let (_, digits) = DIGITS[number].split_at(zeros);
        numerals[number] = match str::from_utf8(digits) {
            Ok(numeral) => numeral,
            Err(_) => panic!("digits are text"),
        };
        number += 1;
    }
    numerals
};

/// The same with zeros before them, from 000 to 999.
static DIGITS: [[u8; 3]; 1000] = {
    let mut digits = [*b"000"; 1000];
    let mut number = 1;
    while number < 1000 {
        digits[number] = digits[number - 1];
        let mut place = 2;
        while digits[number][place] == b'9' {
            digits[number][place] = b'0';
            place -= 1;
        }
        digits[number][place] += 1;
        number += 1;
    }
    digits
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_the_number_in_digits() {
        for number in (0..1_100).chain([Quota::MAX_LIMIT - 1, Quota::MAX_LIMIT]) {
            assert_eq!(value(number), number.to_string());
        }
        assert_eq!(value(u64::MAX), "999999999999999");
    }

    #[test]
    fn times_are_rounded_up() {
        let millis = [0, 1, 1_000, 1_001, 1_900];
        assert_eq!(millis.map(|it| seconds(Duration::from_millis(it))), [0, 1, 1, 2, 2]);
        assert_eq!(seconds(Duration::MAX), Quota::MAX_LIMIT);
    }

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
}
