//! The format of a day's file: its columns, its minutes, and its errors.

use std::{error::Error, fmt};

use csv::StringRecord;
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

/// The columns that contain the minute and the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    minute: usize,
    requests: usize,
}

impl Columns {
    /// The columns of a file without a header.
    const BARE: Self = Self { minute: 0, requests: 1 };

    /// Finds the columns from the first row. Returns no header if that row is data.
    ///
    /// The names may be in any order and in upper or lower case, among other columns.
    pub(super) fn of(first: &StringRecord) -> Result<(Self, Option<Header>), DayError> {
        let find = |name: &str| first.iter().position(|field| field.eq_ignore_ascii_case(name));
        match (find("minute"), find("requests")) {
            (Some(minute), Some(requests)) => Ok((Self { minute, requests }, Some(Header))),
            _ if first.get(0).is_some_and(|field| parse(field).is_some()) => Ok((Self::BARE, None)),
            _ => {
                let given: Vec<&str> = first.iter().collect();
                let message =
                    format!("the header is {:?}, expected \"minute,requests\"", given.join(","));
                Err(DayError::at(line(first), message))
            }
        }
    }

    /// Returns the minute and the count of a row, as text.
    pub(super) fn cut(self, row: &StringRecord) -> Result<(&str, &str), DayError> {
        let cut = |index, name| {
            row.get(index).ok_or_else(|| {
                let message = format!("there is no {name}, expected \"minute,requests\"");
                DayError::at(line(row), message)
            })
        };
        Ok((cut(self.minute, "minute")?, cut(self.requests, "count of requests")?))
    }
}

/// Marks a first row that names the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header;

/// The line of a row, counted from 1.
pub(super) fn line(row: &StringRecord) -> u64 {
    row.position().map_or(0, csv::Position::line)
}

/// The form of the minutes in a file, which is the same for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `14:05`, within one day.
    Clock,
    /// `1998-06-30T14:05`, with or without `:00`, a blank for the `T`, or a `Z`.
    Date,
    /// `845`, counted from any origin.
    Number,
}

/// Reads a minute as a number of minutes: since midnight, since the Unix epoch, or as given.
pub(super) fn parse(text: &str) -> Option<(Style, i64)> {
    if let Ok(number) = text.parse::<i64>() {
        return Some((Style::Number, number));
    }
    if let Some(minutes) = clock(text) {
        return Some((Style::Clock, minutes));
    }
    let civil: DateTime = text.strip_suffix(['Z', 'z']).unwrap_or(text).parse().ok()?;
    let seconds = TimeZone::UTC.to_timestamp(civil).ok()?.as_second();
    let is_whole = seconds % 60 == 0 && civil.subsec_nanosecond() == 0 && text.contains(':');
    is_whole.then_some((Style::Date, seconds.div_euclid(60)))
}

/// Writes a minute in the style of its file.
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

/// Reads a time of the day as minutes since midnight.
fn clock(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str, limit| {
        let is_number =
            matches!(text.len(), 1 | 2) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i64>().ok().filter(|number| is_number && *number < limit)
    };
    Some(number(hours, 24)? * 60 + number(minutes, 60)?)
}

/// A file that cannot be used as a day: what is wrong, and in which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayError {
    file: String,
    line: Option<u64>,
    message: String,
}

impl DayError {
    /// Creates an error about the file as a whole.
    pub(super) fn new(message: impl fmt::Display) -> Self {
        Self { file: String::new(), line: None, message: message.to_string() }
    }

    /// Creates an error about a line.
    pub(super) fn at(line: u64, message: impl fmt::Display) -> Self {
        Self { line: Some(line), ..Self::new(message) }
    }

    /// Adds the name of the file.
    pub(super) fn of(self, file: impl fmt::Display) -> Self {
        Self { file: file.to_string(), ..self }
    }
}

impl fmt::Display for DayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        match (self.file.is_empty(), self.line) {
            (false, Some(line)) => write!(f, ", line {line}: ")?,
            (true, Some(line)) => write!(f, "line {line}: ")?,
            (false, None) => f.write_str(": ")?,
            (true, None) => {}
        }
        f.write_str(&self.message)
    }
}

impl Error for DayError {}
