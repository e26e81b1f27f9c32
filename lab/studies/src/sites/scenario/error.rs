//! Errors in a scenario, with their place.

use std::{error::Error, fmt, ops::Range};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

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
    /// An error of the whole file.
    pub(super) fn of_file(message: impl fmt::Display) -> Self {
        Self { file: String::new(), place: None, message: message.to_string() }
    }

    /// An error at this place of the source.
    pub(super) fn at(source: &str, span: Range<usize>, message: impl fmt::Display) -> Self {
        let start = span.start.min(source.len());
        let before = &source.as_bytes()[..start];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let place = Place { line, field: field_at(source, &span) };
        Self { file: String::new(), place: Some(place), message: message.to_string() }
    }

    /// Adds the name of the file.
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

/// The field at this place, with the names of its tables. `None` if the file is not valid TOML.
fn field_at(source: &str, span: &Range<usize>) -> Option<String> {
    let file = DeTable::parse(source).ok()?;
    field_in(file.get_ref(), span)
}

fn field_in(table: &DeTable<'_>, place: &Range<usize>) -> Option<String> {
    let is_at = |span: Range<usize>| span.start <= place.start && place.end <= span.end;
    table.iter().find_map(|(name, value)| {
        let name_of = name.get_ref();
        match field_of(value, place) {
            Some(field) => Some(format!("{name_of}.{field}")),
            None => (is_at(name.span()) || is_at(value.span())).then(|| name_of.to_string()),
        }
    })
}

/// The field of a table, or of one of several tables with the same name.
fn field_of(value: &Spanned<DeValue<'_>>, place: &Range<usize>) -> Option<String> {
    match value.get_ref() {
        DeValue::Table(table) => field_in(table, place),
        DeValue::Array(list) => list.iter().find_map(|item| field_of(item, place)),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => None,
    }
}
