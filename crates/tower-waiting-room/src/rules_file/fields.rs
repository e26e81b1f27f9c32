//! Typed access to nodes. Each value is read together with its location, and every error about a
//! value names that location.
//!
//! ```text
//!   Node ─► Given      a value at a location: text(), number(), flag(), list(), table(), …
//!             │
//!             └─► Fields   a table: take() and require() return the next Given
//! ```
//!
//! Every error has the same form: the path of the field from the root, the given value, and the
//! expected value. The names of all fields of a table are known in advance, so a misspelled field
//! is an error rather than an option that silently has no effect.

use std::fmt::Display;

use super::{
    error::RulesFileError,
    node::{Node, NodeField, Value, shortened},
    text::Text,
};

/// The location of a value: its position in the text, and its path from the root.
#[derive(Clone, Debug)]
pub(super) struct Span<'a> {
    /// The text of a rules file. In a configuration file, positions are known only to its parser.
    text: Option<Text<'a>>,
    at: usize,
    /// The path of the value, such as `descriptors[0].rate_limit.unit`. The path of the root is
    /// empty.
    path: String,
}

impl<'a> Span<'a> {
    /// Returns the location of the root, which is the beginning of the file.
    pub(super) fn root(text: Text<'a>) -> Self {
        Self { text: Some(text), at: 0, path: String::new() }
    }

    /// Returns a phrase that refers to this location, for errors at another location.
    pub(super) fn reference(&self) -> String {
        match &self.text {
            Some(text) => format!("on line {}", text.line(self.at)),
            None => format!("in {}", self.path),
        }
    }

    /// Returns an error for this location, in the form that all errors have: the field, the given
    /// value, and the expected value.
    pub(super) fn wrong(&self, given: impl Display, expected: impl Display) -> RulesFileError {
        let field = if self.path.is_empty() { "the file" } else { &self.path };
        let given = format!("{field} is {given}");
        match &self.text {
            Some(text) => text.wrong(self.at, given, expected),
            None => RulesFileError::without_text(given, expected.to_string()),
        }
    }

    /// Returns the location of a field in the table at this location.
    fn field(&self, name: &str, at: usize) -> Self {
        let name = shortened(name);
        let path = if self.path.is_empty() { name } else { format!("{}.{name}", self.path) };
        Self { text: self.text, at, path }
    }
}

/// A value with its location.
#[derive(Debug)]
pub(super) struct Given<'a> {
    pub(super) place: Span<'a>,
    value: Value,
}

impl<'a> Given<'a> {
    /// Returns the value of a field of a configuration file.
    pub(super) fn without_text(field: &str, node: Node) -> Self {
        let place = Span { text: None, at: 0, path: field.to_owned() };
        Self { place, value: node.value }
    }

    /// Returns an error that contains this value and a description of the valid values.
    pub(super) fn wrong(&self, expected: impl Display) -> RulesFileError {
        self.place.wrong(&self.value, expected)
    }

    /// Returns the value as a string. A value without quotes, such as a number or a boolean, counts
    /// as a string too.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a string, is empty, or is longer than [`MAX_TEXT`].
    pub(super) fn text(self) -> Result<String, RulesFileError> {
        match self.value {
            Value::Plain(text) | Value::Text(text) if (1..=MAX_TEXT).contains(&text.len()) => {
                Ok(text)
            }
            Value::List(_)
            | Value::Nothing
            | Value::Plain(_)
            | Value::Table(_)
            | Value::Text(_) => Err(self.wrong(format_args!("a string of 1 to {MAX_TEXT} bytes"))),
        }
    }

    /// Returns whether the value is this string.
    pub(super) fn is(&self, text: &str) -> bool {
        matches!(&self.value, Value::Plain(given) | Value::Text(given) if given == text)
    }

    /// Returns the value as a whole number in decimal digits.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a whole number from `least` to `most`, is in quotes, or
    /// has a leading zero. Some parsers interpret `010` as an octal number.
    pub(super) fn number(&self, least: u64, most: u64) -> Result<u64, RulesFileError> {
        let number = match &self.value {
            Value::Plain(digits) if digits == "0" || !digits.starts_with('0') => {
                digits.parse().ok().filter(|number| (least..=most).contains(number))
            }
            Value::List(_)
            | Value::Nothing
            | Value::Plain(_)
            | Value::Table(_)
            | Value::Text(_) => None,
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
    /// Returns an error if the value is not `true` or `false`. The other booleans of YAML 1.1, such
    /// as `yes`, are rejected.
    pub(super) fn flag(&self) -> Result<bool, RulesFileError> {
        match &self.value {
            Value::Plain(text) if text == "true" => Ok(true),
            Value::Plain(text) if text == "false" => Ok(false),
            Value::List(_)
            | Value::Nothing
            | Value::Plain(_)
            | Value::Table(_)
            | Value::Text(_) => Err(self.wrong("true or false")),
        }
    }

    /// Returns the meaning that `names` assigns to the value, which must be one of these names.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not one of the names. The error lists all names.
    pub(super) fn one_of<T: Copy>(&self, names: &[(&str, T)]) -> Result<T, RulesFileError> {
        self.named(names, |name, given| name == given)
    }

    /// The same as [`one_of`](Self::one_of), but in upper or lower case.
    pub(super) fn one_of_any_case<T: Copy>(
        &self,
        names: &[(&str, T)],
    ) -> Result<T, RulesFileError> {
        self.named(names, str::eq_ignore_ascii_case)
    }

    fn named<T: Copy>(
        &self,
        names: &[(&str, T)],
        is: fn(&str, &str) -> bool,
    ) -> Result<T, RulesFileError> {
        let given = match &self.value {
            Value::Plain(text) | Value::Text(text) => text,
            Value::List(_) | Value::Nothing | Value::Table(_) => "",
        };
        let found = names.iter().find(|(name, _)| is(name, given));
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            self.wrong(any_of(&names))
        })
    }

    /// Returns the items of a list, each with its location.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a list.
    pub(super) fn list(self) -> Result<Vec<Self>, RulesFileError> {
        let Value::List(nodes) = self.value else { return Err(self.wrong("a list")) };
        let Span { text, path, .. } = self.place;
        let nodes = nodes.into_iter().enumerate().map(|(i, Node { at, value })| {
            let place = Span { text, at, path: format!("{path}[{i}]") };
            Given { place, value }
        });
        Ok(nodes.collect())
    }

    /// Returns the items of a list, or the value itself if it is not a list.
    ///
    /// # Errors
    ///
    /// Returns an error if the list is empty.
    pub(super) fn one_or_more(self) -> Result<Vec<Self>, RulesFileError> {
        match &self.value {
            Value::List(items) if items.is_empty() => {
                Err(self.place.wrong("an empty list", "at least one value"))
            }
            Value::List(_) => self.list(),
            Value::Nothing | Value::Plain(_) | Value::Table(_) | Value::Text(_) => Ok(vec![self]),
        }
    }

    /// Removes fields from a table, if the value is a table that has them.
    pub(super) fn ignore(&mut self, names: &[&str]) {
        if let Value::Table(fields) = &mut self.value {
            fields.retain(|field| !names.contains(&&*field.name));
        }
    }

    /// Returns the fields of a table.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a table, or has a field that is not among the `names`.
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
    /// Returns an error if the root is not a table, or has a field that is not among the `names`.
    pub(super) fn root(text: Text<'a>, root: Node, names: &[&str]) -> Result<Self, RulesFileError> {
        Given { place: Span::root(text), value: root.value }.table(names)
    }

    /// Checks the names of all fields before any field is read, so the reported mistake does not
    /// depend on the order in which the caller takes the fields.
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

    /// Takes a field out of the table. Returns `None` if the field is missing or was already taken.
    pub(super) fn take(&mut self, name: &str) -> Option<Given<'a>> {
        let index = self.fields.iter().position(|field| field.name == name)?;
        let NodeField { node: Node { at, value }, .. } = self.fields.remove(index);
        Some(Given { place: self.place.field(name, at), value })
    }

    /// Takes a field out of the table.
    ///
    /// # Errors
    ///
    /// Returns an error if the field is missing. The error is reported at the location of the
    /// table.
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

    /// Checks that all fields have been taken, because `other` excludes any further field.
    ///
    /// # Errors
    ///
    /// Returns an error for the first field that has not been taken.
    pub(super) fn only_beside(self, other: &str) -> Result<(), RulesFileError> {
        let Some(field) = self.fields.into_iter().next() else { return Ok(()) };
        let place = self.place.field(&field.name, field.at);
        Err(place.wrong(field.node.value, format_args!("no value together with {other}")))
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

/// The maximum length of a string in a field, in bytes.
pub(super) const MAX_TEXT: usize = 256;
