//! How busy each minute was.

use std::{error::Error, fmt, ops::Range, path::Path, str::FromStr};

/// Requests in each minute of some day, scaled as needed.
///
/// ```
/// use waiting_room_sim::Trace;
///
/// let trace: Trace = "minute,requests\n09:00,100\n09:01,300\n".parse()?;
/// assert_eq!(trace.scaled_to(40.0).counts(), [10.0, 30.0]);
/// # Ok::<(), waiting_room_sim::TraceError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    counts: Vec<f64>,
}

impl Trace {
    /// The header that a file begins with.
    const HEADER: [&str; 2] = ["minute", "requests"];
    const HOUR: usize = 60;

    /// The trace in a file of comma-separated values: a header `minute,requests`, then one line
    /// for each minute, in order and without gaps. The first column is only a label.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or the line that is wrong.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| TraceError { line: None, message: format!("{path:?}: {error}") })?;
        text.parse()
    }

    /// Requests in each minute.
    #[must_use]
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// Requests in all.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// Requests in the busiest minute.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.counts.iter().copied().fold(0.0, f64::max)
    }

    /// The same day with so many requests in all.
    #[must_use]
    pub fn scaled_to(&self, total: f64) -> Self {
        let factor = if self.total() > 0.0 { total / self.total() } else { 0.0 };
        Self { counts: self.counts.iter().map(|count| count * factor).collect() }
    }

    /// These minutes alone; what lies outside of the trace is left out.
    #[must_use]
    pub fn minutes(&self, minutes: Range<usize>) -> Self {
        let end = minutes.end.min(self.counts.len());
        let start = minutes.start.min(end);
        Self { counts: self.counts[start..end].to_vec() }
    }

    /// The hour with the steepest rise: the 60 minutes in which the busiest minute exceeds the
    /// *first* one by the most requests. Of equal ones the earliest; the whole trace if it is
    /// shorter than an hour.
    ///
    /// It begins in the quiet before the rush and holds its summit, so it shows in one hour how a
    /// room fills. A steady fall has no rise at all.
    #[must_use]
    pub fn steepest_hour(&self) -> Range<usize> {
        let rise = |window: &[f64]| window.iter().copied().fold(0.0, f64::max) - window[0];
        let mut best = (0.0, 0);
        for (start, window) in self.counts.windows(Self::HOUR).enumerate() {
            let rise = rise(window);
            if rise > best.0 {
                best = (rise, start);
            }
        }
        best.1..(best.1 + Self::HOUR).min(self.counts.len())
    }
}

impl FromStr for Trace {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let mut reader =
            csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
        let header = reader.headers().map_err(TraceError::from_csv)?;
        if header != Self::HEADER.as_slice() {
            return Err(TraceError::at(1, "expected the header minute,requests"));
        }
        let mut counts = Vec::new();
        for record in reader.records() {
            let record = record.map_err(TraceError::from_csv)?;
            let line = record.position().map_or(0, csv::Position::line);
            let requests: u32 = record[1].parse().map_err(|_| {
                TraceError::at(line, format_args!("{:?} is not a number of requests", &record[1]))
            })?;
            counts.push(f64::from(requests));
        }
        if counts.is_empty() {
            return Err(TraceError::at(2, "expected at least one minute"));
        }
        Ok(Self { counts })
    }
}

/// A trace that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    line: Option<u64>,
    message: String,
}

impl TraceError {
    /// The line that is wrong, counted from 1.
    #[must_use]
    pub const fn line(&self) -> Option<u64> {
        self.line
    }

    fn at(line: u64, message: impl fmt::Display) -> Self {
        Self { line: Some(line), message: message.to_string() }
    }

    fn from_csv(error: csv::Error) -> Self {
        let line = error.position().map(csv::Position::line);
        let message = match error.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("expected {expected_len} columns, found {len}")
            }
            _ => error.to_string(),
        };
        Self { line, message }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl Error for TraceError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(counts: impl IntoIterator<Item = u32>) -> Trace {
        Trace { counts: counts.into_iter().map(f64::from).collect() }
    }

    #[test]
    fn a_file_is_read_minute_by_minute() {
        let read: Trace = "minute,requests\n09:00,1\n09:01, 2\n09:02,0\n".parse().unwrap();
        assert_eq!(read, trace([1, 2, 0]));
        assert_eq!((read.total(), read.peak()), (3.0, 2.0));
    }

    #[test]
    fn each_error_names_its_line() {
        for (text, message) in [
            ("", "line 1: expected the header minute,requests"),
            ("09:00,1\n09:01,2\n", "line 1: expected the header minute,requests"),
            ("minute,requests\n", "line 2: expected at least one minute"),
            ("minute,requests\na,1\nb,-2\n", "line 3: \"-2\" is not a number of requests"),
            ("minute,requests\na,1\nb,x\n", "line 3: \"x\" is not a number of requests"),
            ("minute,requests\na,1\nb\n", "line 3: expected 2 columns, found 1"),
        ] {
            let error = text.parse::<Trace>().unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Trace::open(Path::new("/nowhere/trace.csv")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/trace.csv"));
        assert_eq!(error.line(), None);
    }

    #[test]
    fn the_steepest_hour_begins_in_the_quiet_and_holds_the_summit() {
        let quiet = 0..100;
        let slow_rise = (0..100).map(|minute| 50 + minute);
        let rush = (0..30).map(|minute| 150 + 20 * minute);
        let counts = quiet.map(|_| 50).chain(slow_rise).chain(rush).chain([100; 200]);
        let day = trace(counts);
        let hour = day.steepest_hour();
        let minutes = day.minutes(hour.clone());
        assert_eq!(hour, 170..230);
        assert_eq!((minutes.counts()[0], minutes.peak()), (120.0, 730.0));
    }

    #[test]
    fn a_fall_has_no_rise_and_a_short_trace_is_its_own_hour() {
        assert_eq!(trace((0..300).rev()).steepest_hour(), 0..60);
        assert_eq!(trace([1, 9, 3]).steepest_hour(), 0..3);
    }

    #[test]
    fn scaling_keeps_the_shape() {
        assert_eq!(trace([1, 3]).scaled_to(8.0), trace([2, 6]));
        assert_eq!(trace([0, 0]).scaled_to(8.0), trace([0, 0]));
        assert_eq!(trace([1, 2, 3]).minutes(1..9), trace([2, 3]));
    }
}
