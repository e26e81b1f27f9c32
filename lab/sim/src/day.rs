//! A day of real traffic, read from a file: one count for each minute.

mod format;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fs::File, io::Read, ops::Range, path::Path};

use csv::{ReaderBuilder, Trim};

use self::format::{Columns, Style, label, line, parse};
use crate::Trace;

pub use self::format::DayError;

/// The requests in consecutive minutes of a day, read from a file.
///
/// The file is CSV with the columns `minute` and `requests`, in any order and among others; a
/// minute is a time such as `1998-06-30T14:05`, a time of the day, or a number.
///
/// ```
/// use waiting_room_sim::Day;
///
/// let day = Day::read("minute,requests\n09:00,100\n09:02,300\n".as_bytes())?;
/// assert_eq!((day.counts(), day.missing()), (&[100, 0, 300][..], 1));
/// assert_eq!(day.label(2), "09:02");
/// # Ok::<(), waiting_room_sim::DayError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Day {
    counts: Vec<u32>,
    missing: usize,
    style: Style,
    first: i64,
}

impl Day {
    /// The largest file that is read.
    const MAX_BYTES: u64 = 16 * 1024 * 1024;
    /// The most minutes from the first to the last, about two months.
    const MAX_MINUTES: usize = 100_000;

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Returns an error, with the name of the file and the line, if the file cannot be read or is
    /// not a day.
    pub fn open(path: &Path) -> Result<Self, DayError> {
        let of = |error: DayError| error.of(path.display());
        let file = File::open(path).map_err(|error| of(DayError::new(error)))?;
        Self::read(file).map_err(of)
    }

    /// Reads the content of a file.
    ///
    /// # Errors
    ///
    /// Returns an error, with the line, if the content cannot be read or is not a day.
    pub fn read(source: impl Read) -> Result<Self, DayError> {
        let source = Bounded { source, left: Self::MAX_BYTES };
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(Trim::All)
            .comment(Some(b'#'))
            .from_reader(source);
        let mut rows = Rows::default();
        let mut columns = None;
        for row in reader.records() {
            let row = row.map_err(of_csv)?;
            let columns = match columns {
                Some(columns) => columns,
                None => {
                    let (found, header) = Columns::of(&row)?;
                    columns = Some(found);
                    if header.is_some() {
                        continue;
                    }
                    found
                }
            };
            let (minute, requests) = columns.cut(&row)?;
            rows.add(line(&row), minute, requests)?;
        }
        rows.into_day()
    }

    /// The requests by minute; a minute that is missing in the file counts as 0.
    #[must_use]
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// The number of minutes that are missing in the file.
    #[must_use]
    pub const fn missing(&self) -> usize {
        self.missing
    }

    /// The label of a minute, in the style of the file.
    #[must_use]
    pub fn label(&self, index: usize) -> String {
        let offset = i64::try_from(index).unwrap_or(i64::MAX);
        label(self.style, self.first.saturating_add(offset))
    }

    /// Finds the index of a minute that is written as in the file, or as a time of its first day.
    fn find(&self, text: &str) -> Option<usize> {
        let (style, at) = parse(text)?;
        let offset = match (style, self.style) {
            (Style::Clock, Style::Date) => (at - self.first).rem_euclid(MINUTES_OF_A_DAY),
            (given, own) if given == own => at.checked_sub(self.first)?,
            _ => return None,
        };
        usize::try_from(offset).ok().filter(|index| *index < self.counts.len())
    }
}

impl Day {
    /// Finds the stretch of `minutes` with the steepest rise: the one whose busiest minute exceeds
    /// its *first* minute by the most.
    ///
    /// Among equal stretches, it takes the one with the most requests, and if there are several,
    /// the last, so that a rush is not cut off after its peak. If the day is shorter, all of it is
    /// taken.
    ///
    /// # Errors
    ///
    /// Returns an error if the day has no requests.
    pub fn steepest(&self, minutes: u32) -> Result<Range<usize>, DayError> {
        let length = length(minutes).min(self.counts.len());
        let mut best = ((0, 0), 0..length);
        for start in 0..=self.counts.len() - length {
            let stretch = start..start + length;
            let counts = &self.counts[stretch.clone()];
            let steepness = (rise(counts), total(counts));
            if steepness >= best.0 {
                best = (steepness, stretch);
            }
        }
        match best {
            ((_, total), stretch) if total > 0 => Ok(stretch),
            _ => Err(DayError::new("there are no requests in it")),
        }
    }

    /// Returns the stretch of `minutes` that begins at `from`, up to the end of the day.
    ///
    /// # Errors
    ///
    /// Returns an error if the day does not have this minute, or has no requests in the stretch.
    pub fn from(&self, from: &str, minutes: u32) -> Result<Range<usize>, DayError> {
        let last = self.counts.len() - 1;
        let Some(start) = self.find(from) else {
            let first = self.label(0);
            let last = self.label(last);
            let message = format!("--from is {from:?}, expected a minute from {first} to {last}");
            return Err(DayError::new(message));
        };
        let stretch = start..(start + length(minutes)).min(last + 1);
        if total(&self.counts[stretch.clone()]) == 0 {
            let first = self.label(start);
            let last = self.label(stretch.end - 1);
            let message = format!("there are no requests from {first} to {last}");
            return Err(DayError::new(message));
        }
        Ok(stretch)
    }
}

impl From<&Day> for Trace {
    fn from(day: &Day) -> Self {
        day.counts().iter().copied().collect()
    }
}

/// The rows read so far.
#[derive(Default)]
struct Rows {
    style: Option<Style>,
    by_minute: BTreeMap<i64, (u32, u64)>,
}

impl Rows {
    fn add(&mut self, line: u64, minute: &str, requests: &str) -> Result<(), DayError> {
        let wrong = |message: String| Err(DayError::at(line, message));
        let Some((style, at)) = parse(minute) else {
            return wrong(format!(
                "minute is {minute:?}, expected a whole minute such as 1998-06-30T14:05"
            ));
        };
        if *self.style.get_or_insert(style) != style {
            return wrong(format!("minute is {minute:?}, expected the form of the lines before"));
        }
        let Ok(count) = requests.parse::<u32>() else {
            let limit = u32::MAX;
            return wrong(format!("requests is {requests:?}, expected a number from 0 to {limit}"));
        };
        match self.by_minute.insert(at, (count, line)) {
            Some((_, earlier)) => {
                wrong(format!("minute is {minute:?}, which line {earlier} has already"))
            }
            None => Ok(()),
        }
    }

    fn into_day(self) -> Result<Day, DayError> {
        let ends = self.by_minute.first_key_value().zip(self.by_minute.last_key_value());
        let (Some(style), Some(((&first, _), (&last, (_, line))))) = (self.style, ends) else {
            return Err(DayError::new("there are no minutes in it"));
        };
        let span = last.checked_sub(first).and_then(|span| usize::try_from(span).ok());
        let Some(span) = span.filter(|span| *span < Day::MAX_MINUTES) else {
            let first = label(style, first);
            let last = label(style, last);
            let limit = Day::MAX_MINUTES;
            let message =
                format!("it goes from {first} to {last}, expected at most {limit} minutes");
            return Err(DayError::at(*line, message));
        };
        let mut counts = vec![0; span + 1];
        for (at, (count, _)) in &self.by_minute {
            if let Some(slot) = usize::try_from(at - first).ok().and_then(|at| counts.get_mut(at)) {
                *slot = *count;
            }
        }
        Ok(Day { missing: counts.len() - self.by_minute.len(), counts, style, first })
    }
}

/// A reader that fails after a given number of bytes.
struct Bounded<R> {
    source: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.source.read(buffer)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => {
                let limit = Day::MAX_BYTES;
                return Err(std::io::Error::other(format!("it has more than {limit} bytes")));
            }
        }
        Ok(read)
    }
}

fn of_csv(error: csv::Error) -> DayError {
    let line = error.position().map(csv::Position::line);
    let message = match error.into_kind() {
        csv::ErrorKind::Io(error) => error.to_string(),
        csv::ErrorKind::Utf8 { .. } => "it is not UTF-8".to_owned(),
        csv::ErrorKind::UnequalLengths { .. }
        | csv::ErrorKind::Seek
        | csv::ErrorKind::Serialize(_)
        | csv::ErrorKind::Deserialize { .. }
        | _ => "it is not CSV".to_owned(),
    };
    match line {
        Some(line) => DayError::at(line, message),
        None => DayError::new(message),
    }
}

fn rise(counts: &[u32]) -> u32 {
    let highest = counts.iter().copied().max().unwrap_or(0);
    highest - counts.first().copied().unwrap_or(0)
}

fn total(counts: &[u32]) -> u64 {
    counts.iter().map(|&count| u64::from(count)).sum()
}

fn length(minutes: u32) -> usize {
    usize::try_from(minutes).unwrap_or(usize::MAX)
}

const MINUTES_OF_A_DAY: i64 = 24 * 60;
