//! The values that YAML and TOML have in common, and their positions.
//!
//! A node stores a value exactly as it is written: `5`, `"5"` and `05` are different nodes. The
//! meaning of a value depends on its field, and is determined by the typed accessors in `fields`.

use std::{collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Unexpected, Visitor},
};

/// A value in a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// The offset of the first byte of the value.
    pub(super) at: usize,
    pub(super) value: Value,
}

/// A value, without its position.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A YAML sequence or a TOML array.
    List(Vec<Node>),
    /// YAML's null. A YAML field that is left empty is also null. TOML has no null.
    Nothing,
    /// An unquoted value, as it is written: a number, a boolean, a date or, in YAML, any word.
    Plain(String),
    /// The fields of a table, in the order in which the file lists them. No name occurs twice.
    Table(Vec<NodeField>),
    /// A quoted string, or a YAML block scalar.
    Text(String),
}

/// A name in a table, with its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NodeField {
    /// The offset of the name.
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) node: Node,
}

/// Reads a value of a configuration file, whose positions only the parser of the file knows.
impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor).map(|value| Self { at: 0, value })
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Plain(flag.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Plain(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Plain(number.to_string()))
    }

    /// Refuses the number, whose digits are not known: `1.50` would be the value `1.5`.
    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Err(E::invalid_type(Unexpected::Float(number), &"a whole number, or a string in quotes"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element()? {
            nodes.push(node);
        }
        Ok(Value::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Value, A::Error> {
        let mut fields = Vec::new();
        let mut names = HashSet::new();
        while let Some((name, node)) = table.next_entry::<String, _>()? {
            if !names.insert(name.clone()) {
                return Err(A::Error::custom(format_args!("{} is given twice", shortened(&name))));
            }
            fields.push(NodeField { at: 0, name, node });
        }
        Ok(Value::Table(fields))
    }
}

/// Formats the value for a message: short, on one line, and in quotes unless it is a number or a
/// boolean.
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

/// Returns whether a plain value looks like a number or a boolean.
fn is_literal(plain: &str) -> bool {
    plain.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        || matches!(plain, "true" | "false")
}

/// Returns enough of the beginning of a string to find the string in the file.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The maximum number of characters of a value that a message shows.
const MAX_SHOWN: usize = 60;
