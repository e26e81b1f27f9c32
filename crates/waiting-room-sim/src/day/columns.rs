//! Which column of a file is which.

use csv::StringRecord;

use super::{DayError, minute};

/// Where a row has its minute and its count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    minute: usize,
    requests: usize,
}

impl Columns {
    /// The columns of a file without a header.
    const BARE: Self = Self { minute: 0, requests: 1 };

    /// Looks at the first row. `None` stands for a row of data in a file without a header.
    ///
    /// The names count in any order, in upper or lower case, and other columns may stand between.
    pub(super) fn of(first: &StringRecord) -> Result<(Self, Option<Header>), DayError> {
        let find = |name: &str| first.iter().position(|field| field.eq_ignore_ascii_case(name));
        match (find("minute"), find("requests")) {
            (Some(minute), Some(requests)) => Ok((Self { minute, requests }, Some(Header))),
            _ if first.get(0).is_some_and(|field| minute::parse(field).is_some()) => {
                Ok((Self::BARE, None))
            }
            _ => {
                let given: Vec<&str> = first.iter().collect();
                let message =
                    format!("the header is {:?}, expected \"minute,requests\"", given.join(","));
                Err(DayError::at(line(first), message))
            }
        }
    }

    /// The minute and the count of a row, as they are written.
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

/// The first row names the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header;

/// The line of a row, counted from 1.
pub(super) fn line(row: &StringRecord) -> u64 {
    row.position().map_or(0, csv::Position::line)
}
