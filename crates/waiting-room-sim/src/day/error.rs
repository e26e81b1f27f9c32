//! What is wrong with a file.

use std::{error::Error, fmt};

/// A file that is not a day, or not one of use: what is wrong, and in which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayError {
    file: String,
    line: Option<u64>,
    message: String,
}

impl DayError {
    /// Something is wrong with the file as a whole.
    pub(super) fn new(message: impl fmt::Display) -> Self {
        Self { file: String::new(), line: None, message: message.to_string() }
    }

    /// Something is wrong in this line.
    pub(super) fn at(line: u64, message: impl fmt::Display) -> Self {
        Self { line: Some(line), ..Self::new(message) }
    }

    /// The same, with the name of the file.
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
