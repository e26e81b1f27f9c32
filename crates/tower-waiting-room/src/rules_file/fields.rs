//! Typed access to nodes, with the name and the place of each for the messages.

use std::fmt::Display;

use super::{
    error::RulesFileError,
    node::{Field, Node, Value, shortened},
    text::Text,
};

/// Where a field stands: in the text, and on the way from the root.
#[derive(Clone, Debug)]
pub(super) struct Span<'a> {
    text: Text<'a>,
    at: usize,
    /// Such as `descriptors[0].rate_limit.unit`; empty for the root.
    path: String,
}

impl<'a> Span<'a> {
    pub(super) fn root(text: Text<'a>) -> Self {
        Self { text, at: 0, path: String::new() }
    }

    pub(super) fn line(&self) -> usize {
        self.text.line(self.at)
    }

    /// An error of the form that all have: the field, what it is, and what it should be.
    pub(super) fn wrong(&self, given: impl Display, expected: impl Display) -> RulesFileError {
        let field = if self.path.is_empty() { "the file" } else { &self.path };
        self.text.wrong(self.at, format_args!("{field} is {given}"), expected)
    }

    fn field(&self, name: &str, at: usize) -> Self {
        let name = shortened(name);
        let path = if self.path.is_empty() { name } else { format!("{}.{name}", self.path) };
        Self { text: self.text, at, path }
    }
}

/// A value at its place.
#[derive(Debug)]
pub(super) struct Given<'a> {
    pub(super) place: Span<'a>,
    value: Value,
}

impl<'a> Given<'a> {
    pub(super) fn wrong(&self, expected: impl Display) -> RulesFileError {
        self.place.wrong(&self.value, expected)
    }

    /// A text that is not empty; in YAML also a number or a boolean, as it is written.
    pub(super) fn text(self) -> Result<String, RulesFileError> {
        match self.value {
            Value::Plain(text) | Value::Text(text) if (1..=MAX_TEXT).contains(&text.len()) => {
                Ok(text)
            }
            _ => Err(self.wrong(format_args!("a text of 1 to {MAX_TEXT} bytes"))),
        }
    }

    /// A whole number in decimal digits. A leading zero is refused: to some it means octal.
    pub(super) fn number(&self, least: u64, most: u64) -> Result<u64, RulesFileError> {
        let number = match &self.value {
            Value::Plain(digits) if digits == "0" || !digits.starts_with('0') => {
                digits.parse().ok().filter(|number| (least..=most).contains(number))
            }
            _ => None,
        };
        number.ok_or_else(|| {
            let form = "without quotes or leading zeros";
            self.wrong(format_args!("a whole number from {least} to {most}, {form}"))
        })
    }

    pub(super) fn flag(&self) -> Result<bool, RulesFileError> {
        match &self.value {
            Value::Plain(text) if text == "true" => Ok(true),
            Value::Plain(text) if text == "false" => Ok(false),
            _ => Err(self.wrong("true or false")),
        }
    }

    /// One of these names, of which there are at least two.
    pub(super) fn one_of<T: Copy>(&self, names: &[(&str, T)]) -> Result<T, RulesFileError> {
        let given = match &self.value {
            Value::Plain(text) | Value::Text(text) => text,
            _ => "",
        };
        let found = names.iter().find(|(name, _)| *name == given);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            self.wrong(any_of(&names))
        })
    }

    pub(super) fn list(self) -> Result<Vec<Self>, RulesFileError> {
        let Value::List(nodes) = self.value else { return Err(self.wrong("a list")) };
        let Span { text, path, .. } = self.place;
        let nodes = nodes.into_iter().enumerate().map(|(i, Node { at, value })| {
            let place = Span { text, at, path: format!("{path}[{i}]") };
            Given { place, value }
        });
        Ok(nodes.collect())
    }

    /// A table that has no fields but these.
    pub(super) fn table(self, names: &[&str]) -> Result<Fields<'a>, RulesFileError> {
        let Value::Table(fields) = self.value else { return Err(self.wrong("a table")) };
        Fields::new(self.place, fields, names)
    }
}

/// The fields of a table that have not been taken yet.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    pub(super) place: Span<'a>,
    fields: Vec<Field>,
}

impl<'a> Fields<'a> {
    /// The table of the whole file.
    pub(super) fn root(text: Text<'a>, root: Node, names: &[&str]) -> Result<Self, RulesFileError> {
        Given { place: Span::root(text), value: root.value }.table(names)
    }

    fn new(place: Span<'a>, fields: Vec<Field>, names: &[&str]) -> Result<Self, RulesFileError> {
        match fields.iter().find(|field| !names.contains(&&*field.name)) {
            Some(unknown) => {
                let place = place.field(&unknown.name, unknown.at);
                Err(place.wrong("not a field", any_of(names)))
            }
            None => Ok(Self { place, fields }),
        }
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Given<'a>> {
        let index = self.fields.iter().position(|field| field.name == name)?;
        let Field { node: Node { at, value }, .. } = self.fields.remove(index);
        Some(Given { place: self.place.field(name, at), value })
    }

    pub(super) fn require(
        &mut self,
        name: &str,
        expected: &str,
    ) -> Result<Given<'a>, RulesFileError> {
        self.take(name).ok_or_else(|| self.missing(name, expected))
    }

    /// The error for a field that is not there.
    pub(super) fn missing(&self, name: &str, expected: &str) -> RulesFileError {
        self.place.field(name, self.place.at).wrong("missing", expected)
    }

    /// Refuses every field that has not been taken.
    pub(super) fn only_beside(self, other: &str) -> Result<(), RulesFileError> {
        let Some(field) = self.fields.into_iter().next() else { return Ok(()) };
        let place = self.place.field(&field.name, field.at);
        Err(place.wrong(field.node.value, format_args!("nothing beside {other}")))
    }
}

/// `a, b or c`.
pub(super) fn any_of(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// The longest text that a field may have, in bytes.
pub(super) const MAX_TEXT: usize = 256;
