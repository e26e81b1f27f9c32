//! What is wrong with a scenario, and where.

use std::{error::Error, fmt, ops::Range};

/// A scenario that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScenarioError {
    file: String,
    place: Option<Place>,
    message: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    line: usize,
    field: Option<String>,
}

impl ScenarioError {
    /// The file itself cannot be used.
    pub(super) fn of_file(message: impl fmt::Display) -> Self {
        Self { file: String::new(), place: None, message: message.to_string() }
    }

    /// What stands at this place of the source is wrong.
    pub(super) fn at(source: &str, span: Range<usize>, message: impl fmt::Display) -> Self {
        let start = span.start.min(source.len());
        let before = &source.as_bytes()[..start];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let place = Place { line, field: field_at(source, line) };
        Self { file: String::new(), place: Some(place), message: message.to_string() }
    }

    /// The same with the name of the file.
    pub(super) fn named(mut self, file: impl fmt::Display) -> Self {
        self.file = file.to_string();
        self
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if let Some(place) = &self.place {
            write!(f, "{}:", place.line)?;
            if let Some(field) = &place.field {
                write!(f, " {field}:")?;
            }
        }
        write!(f, " {}", self.message)
    }
}

impl Error for ScenarioError {}

/// The field that this line is about: the key in it, or in the nearest line above that has one, and
/// the table that it belongs to.
fn field_at(source: &str, line: usize) -> Option<String> {
    let above: Vec<_> = source.lines().take(line).collect();
    let header = |text: &str| {
        let text = text.trim();
        let name = text.strip_prefix('[')?.split(']').next()?;
        Some(name.trim_start_matches('[').trim().to_owned())
    };
    let mut key = None;
    for text in above.into_iter().rev() {
        // A list that goes on over several lines may have lines that begin with a bracket too.
        let is_header = text.starts_with('[');
        if is_header {
            let table = header(text)?;
            return Some(key.map_or_else(|| table.clone(), |key| format!("{table}.{key}")));
        }
        let name = text.split('=').next().filter(|name| name.len() < text.len());
        key = key.or_else(|| name.map(|name| name.trim().to_owned()));
    }
    key
}
