//! The tags of a Mustache template: how they are found and checked, and the steps that render a page.

use std::fmt;

use memchr::memmem;

/// The maximum number of tags of a template, comments included.
pub(super) const MAX_TAGS: usize = 10_000;

/// The maximum depth of nested sections.
pub(super) const MAX_DEPTH: usize = 16;

/// A mistake in a template.
#[derive(Debug, PartialEq)]
pub(in crate::respond) struct Mistake {
    /// The line of the mistake, counted from 1.
    pub(in crate::respond) line: usize,
    /// A description of the mistake.
    pub(in crate::respond) what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} ({})", self.line, self.what)
    }
}

/// The kinds of tags that a page may contain.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// `{{/name}}`
    Close,
    /// `{{! … }}`
    Comment,
    /// `{{name}}`
    Escaped,
    /// `{{^name}}`
    Inverse,
    /// `{{#name}}`
    Section,
    /// `{{{name}}}` or `{{&name}}`
    Unescaped,
}

/// A tag of a template.
struct Tag<'a> {
    kind: Kind,
    /// The content, without surrounding spaces.
    name: &'a str,
    /// The number of bytes, including all braces.
    len: usize,
}

/// A step in rendering a page.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Continues with the step at the index `to` if the variable's truth value equals `when`.
    Skip { name: &'static str, when: bool, to: usize },
    /// Writes a constant text.
    Text(Box<str>),
    /// Writes the value of a variable.
    Value { name: &'static str, is_escaped: bool },
}

/// A section whose end has not been found yet.
struct OpenSection {
    name: &'static str,
    /// The line of its first tag.
    line: usize,
    /// The index of its [`Step::Skip`].
    step: usize,
}

/// Returns the steps of a template whose variables have these names. A section is a [`Step::Skip`],
/// followed by the steps inside it, so no step is rendered twice.
///
/// # Errors
///
/// Returns the first mistake: a tag or section that does not end, an unknown name, a kind of tag
/// that pages do not support, or too many tags or nested sections.
pub(super) fn steps(source: &str, names: &[&'static str]) -> Result<Vec<Step>, Mistake> {
    let mut steps = Vec::new();
    let mut open: Vec<OpenSection> = Vec::new();
    let mut rest = source;
    let mut line = 1;
    let mut tags = 0;
    while let Some(at) = memmem::find(rest.as_bytes(), b"{{") {
        let (text, from_tag) = rest.split_at(at);
        push_text(&mut steps, text);
        line += lines(text);
        let wrong = |what| Mistake { line, what };
        let tag = Tag::read(from_tag).map_err(wrong)?;
        tags += 1;
        if tags > MAX_TAGS {
            return Err(wrong(format!("more than {MAX_TAGS} tags")));
        }
        let known = names.iter().find(|name| **name == tag.name).copied();
        let name = || {
            let unknown = || wrong(format!("no variable has the name {:?}", shortened(tag.name)));
            known.ok_or_else(unknown)
        };
        match tag.kind {
            Kind::Close => {
                let section = closed(open.pop(), tag.name).map_err(wrong)?;
                let end = steps.len();
                if let Step::Skip { to, .. } = &mut steps[section.step] {
                    *to = end;
                }
            }
            Kind::Comment => {}
            Kind::Escaped => steps.push(Step::Value { name: name()?, is_escaped: true }),
            Kind::Section | Kind::Inverse => {
                let name = name()?;
                if open.len() == MAX_DEPTH {
                    return Err(wrong(format!("more than {MAX_DEPTH} nested sections")));
                }
                open.push(OpenSection { name, line, step: steps.len() });
                steps.push(Step::Skip { name, when: tag.kind == Kind::Inverse, to: 0 });
            }
            Kind::Unescaped => steps.push(Step::Value { name: name()?, is_escaped: false }),
        }
        let (tag, after) = from_tag.split_at(tag.len);
        line += lines(tag);
        rest = after;
    }
    if let Some(OpenSection { name, line, .. }) = open.pop() {
        return Err(Mistake { line, what: format!("the section {name:?} does not end") });
    }
    push_text(&mut steps, rest);
    Ok(steps)
}

/// Adds a constant text, unless it is empty.
fn push_text(steps: &mut Vec<Step>, text: &str) {
    if !text.is_empty() {
        steps.push(Step::Text(text.into()));
    }
}

/// Checks that a tag closes the innermost section, and returns the section.
fn closed(section: Option<OpenSection>, name: &str) -> Result<OpenSection, String> {
    let closed = shortened(name);
    match section {
        Some(section) if section.name == name => Ok(section),
        Some(OpenSection { name, line, .. }) => {
            Err(format!("{{{{/{closed}}}}} inside the section {name:?} that begins on line {line}"))
        }
        None => Err(format!("{{{{/{closed}}}}} closes no section")),
    }
}

impl<'a> Tag<'a> {
    /// Reads the tag at the beginning of `text`, which starts with two braces.
    ///
    /// # Errors
    ///
    /// Returns a description of the mistake if the tag does not end, or if pages do not support its
    /// kind.
    fn read(text: &'a str) -> Result<Self, String> {
        let (kind, begin, end) = match text.as_bytes().get(2) {
            Some(b'!') => (Kind::Comment, 3, "}}"),
            Some(b'#') => (Kind::Section, 3, "}}"),
            Some(b'&') => (Kind::Unescaped, 3, "}}"),
            Some(b'/') => (Kind::Close, 3, "}}"),
            Some(b'=') => return Err("a tag that changes the delimiters".to_owned()),
            Some(b'>') => return Err("a partial".to_owned()),
            Some(b'^') => (Kind::Inverse, 3, "}}"),
            Some(b'{') => (Kind::Unescaped, 3, "}}}"),
            _ => (Kind::Escaped, 2, "}}"),
        };
        let Some(len) = memmem::find(&text.as_bytes()[begin..], end.as_bytes()) else {
            return Err(format!("a tag without {end}"));
        };
        let name = text[begin..begin + len].trim();
        Ok(Self { kind, name, len: begin + len + end.len() })
    }
}

/// Returns the number of line feeds in a text.
fn lines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

/// Returns the beginning of a name, for an error message.
fn shortened(name: &str) -> String {
    name.chars().take(40).collect()
}
