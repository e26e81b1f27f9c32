//! What YAML and TOML have in common: values, and where they stand.

use std::fmt;

/// A value of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// The offset of its first byte.
    pub(super) at: usize,
    pub(super) value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    List(Vec<Node>),
    /// YAML's null.
    Nothing,
    /// Without quotes, as written: a number, a boolean, or in YAML any word.
    Plain(String),
    /// In the order of the file.
    Table(Vec<Field>),
    /// In quotes.
    Text(String),
}

/// A name in a table, with its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    /// The offset of the name.
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) node: Node,
}

/// As the subject of a message: short, on one line, and in quotes unless it is a number or so.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(_) => f.write_str("a list"),
            Self::Nothing => f.write_str("empty"),
            Self::Plain(text) if is_literal(text) => f.write_str(&shortened(text)),
            Self::Plain(text) | Self::Text(text) => write!(f, "{:?}", shortened(text)),
            Self::Table(_) => f.write_str("a table"),
        }
    }
}

fn is_literal(plain: &str) -> bool {
    plain.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        || matches!(plain, "true" | "false")
}

/// So much of a text as helps to find it.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// So many characters of a value stand in a message.
const MAX_SHOWN: usize = 60;
