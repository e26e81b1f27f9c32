//! TOML, as nodes.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    error::RulesFileError,
    node::{Field, Node, Value},
    text::Text,
};

pub(super) fn read(text: Text<'_>) -> Result<Node, RulesFileError> {
    let table = DeTable::parse(text.as_str()).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        text.unreadable(at, format_args!("is not TOML: {}", error.message()))
    })?;
    Ok(Node { at: 0, value: of_table(text, table.into_inner()) })
}

/// The parser bounds how deep tables and lists are nested, and so this recursion.
fn node(text: Text<'_>, value: Spanned<DeValue<'_>>) -> Node {
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::Array(array) => {
            Value::List(array.into_iter().map(|value| node(text, value)).collect())
        }
        // Without the underscores that may stand between digits.
        DeValue::Integer(integer) => Value::Plain(integer.to_string()),
        DeValue::String(string) => Value::Text(string.into_owned()),
        DeValue::Table(table) => of_table(text, table),
        DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Float(_) => {
            Value::Plain(text.as_str().get(span.clone()).unwrap_or_default().to_owned())
        }
    };
    Node { at: span.start, value }
}

fn of_table(text: Text<'_>, table: DeTable<'_>) -> Value {
    let mut fields: Vec<Field> = table
        .into_iter()
        .map(|(name, value)| Field {
            at: name.span().start,
            name: name.into_inner().into_owned(),
            node: node(text, value),
        })
        .collect();
    // The parser sorts by name.
    fields.sort_by_key(|field| field.at);
    Value::Table(fields)
}
