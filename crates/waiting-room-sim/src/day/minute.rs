//! A minute, in the ways in which files write it.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

/// How a file writes its minutes. All of one file are written alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `14:05`, within one day.
    Clock,
    /// `1998-06-30T14:05`, with or without `:00`, a blank for the `T`, or a `Z`.
    Date,
    /// `845`, counted from anywhere.
    Number,
}

/// Reads a minute as a count of minutes, from midnight, from the epoch or from anywhere.
pub(super) fn parse(text: &str) -> Option<(Style, i64)> {
    if let Ok(number) = text.parse::<i64>() {
        return Some((Style::Number, number));
    }
    if let Some(minutes) = clock(text) {
        return Some((Style::Clock, minutes));
    }
    let civil: DateTime = text.strip_suffix(['Z', 'z']).unwrap_or(text).parse().ok()?;
    let seconds = civil.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second();
    let is_whole = seconds % 60 == 0 && civil.subsec_nanosecond() == 0 && text.contains(':');
    is_whole.then_some((Style::Date, seconds.div_euclid(60)))
}

/// Writes a minute as its file does.
pub(super) fn label(style: Style, minute: i64) -> String {
    match style {
        Style::Clock => format!("{:02}:{:02}", minute / 60, minute % 60),
        Style::Date => match Timestamp::from_second(minute.saturating_mul(60)) {
            Ok(time) => time.strftime("%Y-%m-%dT%H:%M").to_string(),
            Err(_) => minute.to_string(),
        },
        Style::Number => minute.to_string(),
    }
}

/// Minutes since midnight, by a clock.
fn clock(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str, limit| {
        let is_number = matches!(text.len(), 1 | 2) && text.bytes().all(|it| it.is_ascii_digit());
        text.parse::<i64>().ok().filter(|number| is_number && *number < limit)
    };
    Some(number(hours, 24)? * 60 + number(minutes, 60)?)
}
