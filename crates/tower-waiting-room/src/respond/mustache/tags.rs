//! The tags of a Mustache template: how they are found, and the checks that the engine omits.

use std::fmt;

use memchr::memmem;

/// The maximum number of tags of a template, comments included.
pub(super) const MAX_TAGS: usize = 10_000;

/// The maximum number of sections inside one another.
pub(super) const MAX_DEPTH: usize = 16;

/// A mistake in a template.
#[derive(Debug, PartialEq)]
pub(in crate::respond) struct Mistake {
    /// The line of the mistake, counted from 1.
    pub(in crate::respond) line: usize,
    /// What is wrong.
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
    /// The content without spaces at its ends.
    name: &'a str,
    /// The number of bytes from the first brace to behind the last one.
    len: usize,
}

/// Returns the template without comments, and with no spaces in its tags.
///
/// # Errors
///
/// Returns the first mistake: a tag or section that does not end, a name that is not known, a kind
/// of tag that pages do not have, or too many of them.
pub(super) fn checked(source: &str, is_known: fn(&str) -> bool) -> Result<String, Mistake> {
    let mut clean = String::with_capacity(source.len());
    // The sections that have begun, with the line of their first tag.
    let mut open: Vec<(&str, usize)> = Vec::new();
    let (mut rest, mut line, mut tags) = (source, 1, 0);
    while let Some(at) = memmem::find(rest.as_bytes(), b"{{") {
        let (text, from_tag) = rest.split_at(at);
        clean.push_str(text);
        line += lines(text);
        let tag = Tag::read(from_tag).map_err(|what| Mistake { line, what })?;
        let wrong = |what: String| Err(Mistake { line, what });
        tags += 1;
        if tags > MAX_TAGS {
            return wrong(format!("more than {} tags", MAX_TAGS));
        }
        if !matches!(tag.kind, Kind::Comment | Kind::Close) && !is_known(tag.name) {
            return wrong(format!("no variable has the name {:?}", shortened(tag.name)));
        }
        match tag.kind {
            Kind::Section | Kind::Inverse if open.len() == MAX_DEPTH => {
                return wrong(format!("more than {} nested sections", MAX_DEPTH));
            }
            Kind::Section | Kind::Inverse => open.push((tag.name, line)),
            Kind::Close => match open.pop() {
                Some((name, _)) if name == tag.name => {}
                Some((name, begun)) => {
                    let (closed, name) = (shortened(tag.name), shortened(name));
                    return wrong(format!(
                        "{{{{/{closed}}}}} inside the section {name:?} of line {begun}"
                    ));
                }
                None => {
                    let closed = shortened(tag.name);
                    return wrong(format!("{{{{/{closed}}}}} closes no section"));
                }
            },
            Kind::Comment | Kind::Escaped | Kind::Unescaped => {}
        }
        tag.write(&mut clean);
        let (tag, after) = from_tag.split_at(tag.len);
        line += lines(tag);
        rest = after;
    }
    if let Some((name, line)) = open.pop() {
        let what = format!("the section {:?} does not end", shortened(name));
        return Err(Mistake { line, what });
    }
    clean.push_str(rest);
    Ok(clean)
}

impl<'a> Tag<'a> {
    /// Reads the tag at the beginning of `text`, which starts with two braces.
    ///
    /// # Errors
    ///
    /// Returns what is wrong if the tag does not end, or pages do not have tags of this kind.
    fn read(text: &'a str) -> Result<Self, String> {
        let (kind, begin, end) = match text.as_bytes().get(2) {
            Some(b'!') => (Kind::Comment, 3, "}}"),
            Some(b'#') => (Kind::Section, 3, "}}"),
            Some(b'&') => (Kind::Unescaped, 3, "}}"),
            Some(b'/') => (Kind::Close, 3, "}}"),
            Some(b'=') => return Err("a change of the braces".to_owned()),
            Some(b'>') => return Err("a part from another file".to_owned()),
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

    /// Writes the tag in the form that the engine reads.
    fn write(&self, clean: &mut String) {
        let (begin, end) = match self.kind {
            Kind::Close => ("{{/", "}}"),
            Kind::Comment => return,
            Kind::Escaped => ("{{", "}}"),
            Kind::Inverse => ("{{^", "}}"),
            Kind::Section => ("{{#", "}}"),
            Kind::Unescaped => ("{{{", "}}}"),
        };
        clean.extend([begin, self.name, end]);
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
