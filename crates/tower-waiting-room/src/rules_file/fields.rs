//! Typed access to nodes. Each value is read together with its place, which its errors name.
//!
//! ```text
//!   Node ─► Given      a value at its place: text(), number(), flag(), list(), table(), …
//!             │
//!             └─► Fields   a table: take() and require() return the next Given
//! ```
//!
//! Every error has the same form: the path of the field from the root, the given value, and the
//! expected one. A table knows the names of all its fields in advance, so a misspelled field is an
//! error and not an option that silently has no effect.

use std::fmt::Display;

use super::{
    error::RulesFileError,
    node::{Node, NodeField, Value, shortened},
    text::Text,
};

/// The place of a value: its position in the text, and its path from the root.
#[derive(Clone, Debug)]
pub(super) struct Span<'a> {
    text: Text<'a>,
    at: usize,
    /// The path, such as `descriptors[0].rate_limit.unit`. Empty for the root.
    path: String,
}

impl<'a> Span<'a> {
    /// The place of the root: the beginning of the file.
    pub(super) fn root(text: Text<'a>) -> Self {
        Self { text, at: 0, path: String::new() }
    }

    /// Returns the line of the place, counted from 1.
    pub(super) fn line(&self) -> usize {
        self.text.line(self.at)
    }

    /// Returns an error for this place, in the form that all errors have: the field, the given
    /// value, and the expected one.
    pub(super) fn wrong(&self, given: impl Display, expected: impl Display) -> RulesFileError {
        let field = if self.path.is_empty() { "the file" } else { &self.path };
        self.text.wrong(self.at, format_args!("{field} is {given}"), expected)
    }

    /// Returns the place of a field in the table at this place.
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
    /// Returns the error for this value, with the values that are valid instead.
    pub(super) fn wrong(&self, expected: impl Display) -> RulesFileError {
        self.place.wrong(&self.value, expected)
    }

    /// Returns the value as a text. In YAML, a number or a boolean without quotes counts as the
    /// text that is written.
    ///
    /// # Errors
    ///
    /// If the value is not a text, is empty, or is longer than [`MAX_TEXT`].
    pub(super) fn text(self) -> Result<String, RulesFileError> {
        match self.value {
            Value::Plain(text) | Value::Text(text) if (1..=MAX_TEXT).contains(&text.len()) => {
                Ok(text)
            }
            _ => Err(self.wrong(format_args!("a text of 1 to {MAX_TEXT} bytes"))),
        }
    }

    /// Returns the value as a whole number in decimal digits.
    ///
    /// # Errors
    ///
    /// If it is not one, lies outside of `least` to `most`, is in quotes, or begins with a zero:
    /// some readers take `010` for an octal number.
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

    /// Returns the value as a boolean.
    ///
    /// # Errors
    ///
    /// If it is not `true` or `false`. The other booleans of YAML 1.1, such as `yes`, are refused.
    pub(super) fn flag(&self) -> Result<bool, RulesFileError> {
        match &self.value {
            Value::Plain(text) if text == "true" => Ok(true),
            Value::Plain(text) if text == "false" => Ok(false),
            _ => Err(self.wrong("true or false")),
        }
    }

    /// Returns the meaning of a name. There must be at least two names to choose from.
    ///
    /// # Errors
    ///
    /// If the value is none of the names. The error lists them all.
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

    /// Returns the items of a list, each at its own place.
    ///
    /// # Errors
    ///
    /// If the value is not a list.
    pub(super) fn list(self) -> Result<Vec<Self>, RulesFileError> {
        let Value::List(nodes) = self.value else { return Err(self.wrong("a list")) };
        let Span { text, path, .. } = self.place;
        let nodes = nodes.into_iter().enumerate().map(|(i, Node { at, value })| {
            let place = Span { text, at, path: format!("{path}[{i}]") };
            Given { place, value }
        });
        Ok(nodes.collect())
    }

    /// Returns the fields of a table.
    ///
    /// # Errors
    ///
    /// If the value is not a table, or has a field that is not among the `names`.
    pub(super) fn table(self, names: &[&str]) -> Result<Fields<'a>, RulesFileError> {
        let Value::Table(fields) = self.value else { return Err(self.wrong("a table")) };
        Fields::new(self.place, fields, names)
    }
}

/// The fields of a table that have not been taken yet.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    pub(super) place: Span<'a>,
    fields: Vec<NodeField>,
}

impl<'a> Fields<'a> {
    /// Returns the fields of the root, which must be a table.
    ///
    /// # Errors
    ///
    /// If the root is not a table, or has a field that is not among the `names`.
    pub(super) fn root(text: Text<'a>, root: Node, names: &[&str]) -> Result<Self, RulesFileError> {
        Given { place: Span::root(text), value: root.value }.table(names)
    }

    /// Checks the names of all fields before any of them is read, so the first mistake that is
    /// reported does not depend on the order in which the caller takes them.
    fn new(
        place: Span<'a>,
        fields: Vec<NodeField>,
        names: &[&str],
    ) -> Result<Self, RulesFileError> {
        match fields.iter().find(|field| !names.contains(&&*field.name)) {
            Some(unknown) => {
                let place = place.field(&unknown.name, unknown.at);
                Err(place.wrong("not a field", any_of(names)))
            }
            None => Ok(Self { place, fields }),
        }
    }

    /// Takes a field out of the table; `None` if it is not there, or was taken before.
    pub(super) fn take(&mut self, name: &str) -> Option<Given<'a>> {
        let index = self.fields.iter().position(|field| field.name == name)?;
        let NodeField { node: Node { at, value }, .. } = self.fields.remove(index);
        Some(Given { place: self.place.field(name, at), value })
    }

    /// Takes a field out of the table.
    ///
    /// # Errors
    ///
    /// If it is not there. The error is reported at the place of the table.
    pub(super) fn require(
        &mut self,
        name: &str,
        expected: &str,
    ) -> Result<Given<'a>, RulesFileError> {
        self.take(name).ok_or_else(|| self.missing(name, expected))
    }

    /// Returns the error for a field that is missing.
    pub(super) fn missing(&self, name: &str, expected: &str) -> RulesFileError {
        self.place.field(name, self.place.at).wrong("missing", expected)
    }

    /// Checks that all fields have been taken, since `other` excludes any further field.
    ///
    /// # Errors
    ///
    /// The first field that is left.
    pub(super) fn only_beside(self, other: &str) -> Result<(), RulesFileError> {
        let Some(field) = self.fields.into_iter().next() else { return Ok(()) };
        let place = self.place.field(&field.name, field.at);
        Err(place.wrong(field.node.value, format_args!("nothing beside {other}")))
    }
}

/// Joins names for a message: `a, b or c`.
pub(super) fn any_of(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// The maximum length of a text in a field, in bytes.
pub(super) const MAX_TEXT: usize = 256;
