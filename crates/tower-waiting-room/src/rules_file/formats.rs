//! YAML and TOML, read as nodes: the part of YAML that TOML has as well, so that both mean the same.
//!
//! Aliases are refused rather than bounded: a file of limits has no need to multiply itself, and a
//! value that stands elsewhere has no line of its own. So are tags and further documents.

use std::{collections::HashMap, path::Path};

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    error::RulesFileError,
    node::{Field, Node, Value, shortened},
    text::Text,
};

/// Reads a text in one of the formats.
type ReadText = fn(Text<'_>) -> Result<Node, RulesFileError>;

/// The format that the extension of a file names.
pub(super) fn format_of(path: &Path) -> Result<ReadText, RulesFileError> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => Ok(read_toml),
        Some("yaml" | "yml") => Ok(read_yaml),
        _ => {
            let given = "has none of the extensions .yaml, .yml and .toml".to_owned();
            Err(RulesFileError::whole(path, given))
        }
    }
}

fn read_yaml(text: Text<'_>) -> Result<Node, RulesFileError> {
    let mut reader = YamlReader { text, events: Parser::new_from_str(text.as_str()), nesting: 0 };
    let mut root = None;
    while let Some((event, span)) = reader.next()? {
        match event {
            Event::DocumentStart(..) if root.is_some() => {
                return Err(text.wrong(offset(&span), "a second document begins", "only one"));
            }
            Event::DocumentEnd
            | Event::DocumentStart(..)
            | Event::StreamEnd
            | Event::StreamStart => {}
            event => root = Some(reader.node(event, &span)?),
        }
    }
    // A file of nothing but comments is a table without fields, as it is in TOML.
    Ok(match root {
        Some(Node { value: Value::Nothing, .. }) | None => {
            Node { at: 0, value: Value::Table(Vec::new()) }
        }
        Some(root) => root,
    })
}

struct YamlReader<'a> {
    text: Text<'a>,
    events: Parser<'a, StrInput<'a>>,
    nesting: usize,
}

impl<'a> YamlReader<'a> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, RulesFileError> {
        self.events.next().transpose().map_err(|error: ScanError| {
            let at = error.marker().byte_offset().unwrap_or(error.marker().index());
            self.text.unreadable(at, format_args!("is not YAML: {}", error.kind()))
        })
    }

    /// The node that begins with this event.
    fn node(&mut self, event: Event<'a>, span: &Span) -> Result<Node, RulesFileError> {
        let at = offset(span);
        let value = match event {
            Event::Scalar(.., Some(_)) | Event::SequenceStart(.., Some(_)) => self.tag(span)?,
            Event::MappingStart(.., Some(_)) => self.tag(span)?,
            Event::MappingStart(..) => self.nested(at, Self::table)?,
            Event::Scalar(text, style, ..) => scalar(text.into_owned(), style),
            Event::SequenceStart(..) => self.nested(at, Self::list)?,
            _ => {
                return Err(self.text.wrong(at, "an alias is not supported", "the value itself"));
            }
        };
        Ok(Node { at, value })
    }

    fn tag(&self, span: &Span) -> Result<Value, RulesFileError> {
        let at = span.tag_start.and_then(|start| start.byte_offset()).unwrap_or(offset(span));
        Err(self.text.wrong(at, "a tag is not supported", "the value without it"))
    }

    fn nested(
        &mut self,
        at: usize,
        read: fn(&mut Self) -> Result<Value, RulesFileError>,
    ) -> Result<Value, RulesFileError> {
        if self.nesting == MAX_NESTING {
            let expected = format_args!("at most {MAX_NESTING} levels");
            return Err(self.text.wrong(at, "nested too deep", expected));
        }
        self.nesting += 1;
        let value = read(self)?;
        self.nesting -= 1;
        Ok(value)
    }

    fn list(&mut self) -> Result<Value, RulesFileError> {
        let mut nodes = Vec::new();
        while let Some((event, span)) = self.next()? {
            if matches!(event, Event::SequenceEnd) {
                break;
            }
            nodes.push(self.node(event, &span)?);
        }
        Ok(Value::List(nodes))
    }

    fn table(&mut self) -> Result<Value, RulesFileError> {
        let mut fields = Vec::new();
        let mut places = HashMap::new();
        while let Some((event, span)) = self.next()? {
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let Node { at, value } = self.node(event, &span)?;
            let (Value::Plain(name) | Value::Text(name)) = value else {
                let given = format_args!("the name of a field is {value}");
                return Err(self.text.wrong(at, given, "a text"));
            };
            if let Some(earlier) = places.insert(name.clone(), at) {
                let name = shortened(&name);
                let line = self.text.line(earlier);
                let expected = format_args!("once: the first is in line {line}");
                return Err(self.text.wrong(at, format_args!("{name} is given twice"), expected));
            }
            let Some((event, span)) = self.next()? else { break };
            fields.push(Field { at, name, node: self.node(event, &span)? });
        }
        Ok(Value::Table(fields))
    }
}

fn scalar(text: String, style: ScalarStyle) -> Value {
    match style {
        ScalarStyle::Plain if matches!(&*text, "" | "~" | "null" | "Null" | "NULL") => {
            Value::Nothing
        }
        ScalarStyle::Plain => Value::Plain(text),
        _ => Value::Text(text),
    }
}

fn offset(span: &Span) -> usize {
    span.start.byte_offset().unwrap_or(span.start.index())
}

fn read_toml(text: Text<'_>) -> Result<Node, RulesFileError> {
    let table = DeTable::parse(text.as_str()).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        text.unreadable(at, format_args!("is not TOML: {}", error.message()))
    })?;
    Ok(Node { at: 0, value: toml_table(text, table.into_inner()) })
}

/// The parser bounds how deep tables and lists are nested, and so this recursion.
fn toml_node(text: Text<'_>, value: Spanned<DeValue<'_>>) -> Node {
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::Array(array) => {
            Value::List(array.into_iter().map(|value| toml_node(text, value)).collect())
        }
        // Without the underscores that may stand between digits.
        DeValue::Integer(integer) => Value::Plain(integer.to_string()),
        DeValue::String(string) => Value::Text(string.into_owned()),
        DeValue::Table(table) => toml_table(text, table),
        DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Float(_) => {
            Value::Plain(text.as_str().get(span.clone()).unwrap_or_default().to_owned())
        }
    };
    Node { at: span.start, value }
}

fn toml_table(text: Text<'_>, table: DeTable<'_>) -> Value {
    let mut fields: Vec<Field> = table
        .into_iter()
        .map(|(name, value)| Field {
            at: name.span().start,
            name: name.into_inner().into_owned(),
            node: toml_node(text, value),
        })
        .collect();
    // The parser sorts by name.
    fields.sort_by_key(|field| field.at);
    Value::Table(fields)
}

/// How deep lists and tables may be nested: more than descriptors of the greatest depth need.
const MAX_NESTING: usize = 32;
