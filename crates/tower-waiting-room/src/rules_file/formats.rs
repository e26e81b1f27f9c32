//! Reads YAML and TOML as nodes. Only the YAML features that TOML also has are supported, so that a
//! file means the same in both formats.
//!
//! Aliases are rejected rather than bounded: a rules file does not need to repeat itself, and a
//! message could not name the line of a value that is defined elsewhere. Tags and further documents
//! are also rejected. The cost of reading a file is therefore bounded by the length of the file.
//!
//! Scalars are kept as they are written. A value such as `010`, `yes` or `1e9` is valid in some
//! fields only, so the check of each field needs the original text.

use std::{collections::HashMap, path::Path};

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    error::RulesFileError,
    node::{Node, NodeField, Value, shortened},
    text::Text,
};

/// A function that reads text in one of the formats.
type ReadText = fn(Text<'_>) -> Result<Node, RulesFileError>;

/// Returns the reader for the format that the file's extension indicates.
///
/// # Errors
///
/// Returns an error if the file has another extension or no extension. The format is never guessed
/// from the content.
pub(super) fn format_of(path: &Path) -> Result<ReadText, RulesFileError> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => Ok(read_toml),
        Some("yaml" | "yml") => Ok(read_yaml),
        _ => {
            let given = "does not have the extension .yaml, .yml or .toml".to_owned();
            Err(RulesFileError::whole(path, given))
        }
    }
}

/// Reads a YAML text.
///
/// # Errors
///
/// Returns an error if the text is not YAML, or if it uses aliases, tags, several documents,
/// duplicate fields, or more than [`MAX_NESTING`] levels.
fn read_yaml(text: Text<'_>) -> Result<Node, RulesFileError> {
    let mut reader = YamlReader { text, events: Parser::new_from_str(text.as_str()), nesting: 0 };
    let mut root = None;
    while let Some((event, span)) = reader.next()? {
        let begins_document = matches!(event, Event::DocumentStart(..));
        if begins_document && root.is_some() {
            return Err(text.wrong(offset(&span), "a second document begins", "only one"));
        }
        let is_frame = matches!(event, Event::DocumentEnd | Event::StreamEnd | Event::StreamStart);
        if !begins_document && !is_frame {
            root = Some(reader.node(event, &span)?);
        }
    }
    // A file that contains only comments is a table without fields, as in TOML.
    Ok(match root {
        Some(Node { value: Value::Nothing, .. }) | None => {
            Node { at: 0, value: Value::Table(Vec::new()) }
        }
        Some(root) => root,
    })
}

/// Builds nodes from the events of the YAML parser.
struct YamlReader<'a> {
    text: Text<'a>,
    events: Parser<'a, StrInput<'a>>,
    /// The number of lists and tables that contain the next event.
    nesting: usize,
}

impl<'a> YamlReader<'a> {
    /// Returns the next event, or `None` after the last event.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not YAML at this point.
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, RulesFileError> {
        self.events.next().transpose().map_err(|error: ScanError| {
            let at = error.marker().byte_offset().unwrap_or(error.marker().index());
            self.text.unreadable(at, format_args!("is not YAML: {}", error.kind()))
        })
    }

    /// Reads the node that begins with this event, up to the end of the node.
    fn node(&mut self, event: Event<'a>, span: &Span) -> Result<Node, RulesFileError> {
        let at = offset(span);
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "a node begins with one of three events"
        )]
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

    /// Returns the error for a tag, such as `!!str`.
    fn tag(&self, span: &Span) -> Result<Value, RulesFileError> {
        let at = span.tag_start.and_then(|start| start.byte_offset()).unwrap_or(offset(span));
        Err(self.text.wrong(at, "a tag is not supported", "the value without it"))
    }

    /// Reads a list or a table, which adds one level of nesting.
    ///
    /// The depth is checked before `read` is called, so [`MAX_NESTING`] bounds the recursion of
    /// this reader.
    fn nested(
        &mut self,
        at: usize,
        read: fn(&mut Self) -> Result<Value, RulesFileError>,
    ) -> Result<Value, RulesFileError> {
        if self.nesting == MAX_NESTING {
            let expected = format_args!("at most {MAX_NESTING} levels");
            return Err(self.text.wrong(at, "nested too deeply", expected));
        }
        self.nesting += 1;
        let value = read(self)?;
        self.nesting -= 1;
        Ok(value)
    }

    /// Reads the items of a list, after the event that begins it.
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

    /// Reads the fields of a table, after the event that begins it.
    ///
    /// # Errors
    ///
    /// Returns an error if a name is not a string, or if it occurs twice. A parser that kept only
    /// the last of two fields with the same name would hide a mistake.
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
                return Err(self.text.wrong(at, given, "a string"));
            };
            if let Some(earlier) = places.insert(name.clone(), at) {
                let name = shortened(&name);
                let line = self.text.line(earlier);
                let expected = format_args!("once: the first is on line {line}");
                return Err(self.text.wrong(at, format_args!("{name} is given twice"), expected));
            }
            let Some((event, span)) = self.next()? else { break };
            fields.push(NodeField { at, name, node: self.node(event, &span)? });
        }
        Ok(Value::Table(fields))
    }
}

/// Returns the value of a scalar. Quoted scalars and block scalars are strings, even if they look
/// like numbers.
fn scalar(text: String, style: ScalarStyle) -> Value {
    match style {
        ScalarStyle::Plain if matches!(&*text, "" | "~" | "null" | "Null" | "NULL") => {
            Value::Nothing
        }
        ScalarStyle::Plain => Value::Plain(text),
        ScalarStyle::SingleQuoted
        | ScalarStyle::DoubleQuoted
        | ScalarStyle::Literal
        | ScalarStyle::Folded => Value::Text(text),
    }
}

/// Returns the byte offset at which an event begins.
fn offset(span: &Span) -> usize {
    span.start.byte_offset().unwrap_or(span.start.index())
}

/// Reads a TOML text.
///
/// # Errors
///
/// Returns an error if the text is not TOML, or if it has duplicate fields.
fn read_toml(text: Text<'_>) -> Result<Node, RulesFileError> {
    let table = DeTable::parse(text.as_str()).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        text.unreadable(at, format_args!("is not TOML: {}", error.message()))
    })?;
    Ok(Node { at: 0, value: toml_table(text, table.into_inner()) })
}

/// Turns a TOML value into a node.
///
/// The recursion is bounded, because the parser bounds the nesting depth of tables and lists.
fn toml_node(text: Text<'_>, value: Spanned<DeValue<'_>>) -> Node {
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::Array(array) => {
            Value::List(array.into_iter().map(|value| toml_node(text, value)).collect())
        }
        // TOML allows underscores between digits, and other bases than ten.
        DeValue::Integer(integer) => {
            let number = i64::from_str_radix(integer.as_str(), integer.radix());
            Value::Plain(number.map_or_else(|_| integer.to_string(), |number| number.to_string()))
        }
        DeValue::String(string) => Value::Text(string.into_owned()),
        DeValue::Table(table) => toml_table(text, table),
        // These values keep their original text, as plain scalars in YAML do.
        DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Float(_) => {
            Value::Plain(text.as_str().get(span.clone()).unwrap_or_default().to_owned())
        }
    };
    Node { at: span.start, value }
}

/// Turns a TOML table into fields in the order of the file.
fn toml_table(text: Text<'_>, table: DeTable<'_>) -> Value {
    let mut fields: Vec<NodeField> = table
        .into_iter()
        .map(|(name, value)| NodeField {
            at: name.span().start,
            name: name.into_inner().into_owned(),
            node: toml_node(text, value),
        })
        .collect();
    // The parser sorts the fields by name, but the reported mistake should be the first mistake in
    // the file.
    fields.sort_by_key(|field| field.at);
    Value::Table(fields)
}

/// The maximum nesting depth of lists and tables in YAML. Even the deepest descriptors need less.
const MAX_NESTING: usize = 32;
