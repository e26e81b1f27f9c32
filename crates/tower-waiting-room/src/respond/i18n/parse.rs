//! Parses files with sentences.
//!
//! The files are in the Fluent format. The parser supports only the two features that sentences
//! need: arguments such as `{ $shown }`, and a choice between plural forms that depends on
//! `$count`. Everything else is an error: terms, attributes, functions, text on several lines, and
//! references to other sentences, so that no sentence can contain itself. The parser is not
//! recursive, and reads each byte once.

use std::borrow::Cow;

use super::{
    Args, NAMES,
    rules::{Category, Rules},
};

/// Parses a file into `sentences`, which has an element for each name in [`NAMES`].
///
/// # Errors
///
/// Returns the first flaw of the file.
pub(super) fn parse(file: &'static str, sentences: &mut [Option<Sentence>]) -> Result<(), Flaw> {
    let mut seen = vec![false; NAMES.len()];
    let mut lines = (1..).zip(file.lines());
    while let Some((number, line)) = lines.next() {
        let flaw = |what| Flaw { line: number, what };
        let control = line.chars().find(|character| character.is_control() && *character != '\t');
        if let Some(control) = control {
            return Err(flaw(format!("the control character {control:?}")));
        }
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, text) = line.split_once('=').ok_or_else(|| flaw(not_a_sentence(line)))?;
        let name = name.trim_end();
        let text = text.trim();
        let index = NAMES.iter().position(|known| *known == name);
        let index = index.ok_or_else(|| flaw(unknown(name)))?;
        if std::mem::replace(&mut seen[index], true) {
            return Err(flaw(format!("the sentence `{name}` for the second time")));
        }
        let sentence = match text.strip_prefix('{').map(str::trim_start) {
            Some(choice) if choice.ends_with("->") => {
                let selector = choice.trim_end_matches("->").trim_end();
                if selector != "$count" {
                    return Err(flaw(format!("a choice by `{}` in `{name}`", clipped(selector))));
                }
                choice_of(name, number, &mut lines)?
            }
            _ => Sentence { forms: Box::default(), other: pieces(name, text).map_err(flaw)? },
        };
        sentences[index] = Some(sentence);
    }
    Ok(())
}

/// A flaw in a file, and its line.
#[derive(Debug)]
pub(super) struct Flaw {
    /// The line, starting at 1.
    pub(super) line: usize,
    /// The wrong content of the line, such as "the unknown sentence `positoin`".
    pub(super) what: String,
}

/// Parses the forms of a sentence that depends on `$count`, up to the line with the brace.
fn choice_of(
    name: &str,
    start: usize,
    lines: &mut impl Iterator<Item = (usize, &'static str)>,
) -> Result<Sentence, Flaw> {
    let mut forms = Vec::new();
    let mut other = None;
    for (number, line) in lines {
        let flaw = |what| Flaw { line: number, what };
        let line = line.trim();
        if line == "}" {
            let other = other.ok_or_else(|| Flaw {
                line: start,
                what: format!("`{name}` without the form `*[other]`"),
            })?;
            return Ok(Sentence { forms: forms.into(), other });
        }
        let form = line.trim_start_matches('*').strip_prefix('[');
        let form =
            form.and_then(|form| form.split_once(']')).filter(|_| line.starts_with(['*', '[']));
        let (key, text) = form
            .ok_or_else(|| flaw(format!("{:?} in place of a form of `{name}`", clipped(line))))?;
        let key = key.trim();
        let is_default = line.starts_with('*');
        let text = pieces(name, text.trim()).map_err(flaw)?;
        let is_new = |category| forms.iter().all(|(known, _)| *known != category);
        match Category::of(key) {
            Some(Category::Other) if is_default && other.is_none() => other = Some(text),
            Some(category) if category != Category::Other && !is_default && is_new(category) => {
                forms.push((category, text));
            }
            _ => return Err(flaw(format!("the form `[{}]` of `{name}`", clipped(key)))),
        }
    }
    Err(Flaw { line: start, what: format!("`{name}` without a closing brace") })
}

/// A parsed sentence.
#[derive(Debug, Default)]
pub(super) struct Sentence {
    /// The forms other than `other`. Empty if the sentence does not depend on a count.
    forms: Box<[(Category, Pieces)]>,
    other: Pieces,
}

type Pieces = Box<[Piece]>;

impl Sentence {
    /// Fills in the arguments.
    pub(super) fn filled(&self, rules: &Rules, args: Args<'_>) -> Cow<'static, str> {
        let pieces = if self.forms.is_empty() { &self.other } else { self.form(rules, args.count) };
        if let [Piece::Text(text)] = **pieces {
            return Cow::Borrowed(text);
        }
        let [mut count, mut low] = [itoa::Buffer::new(), itoa::Buffer::new()];
        let count = count.format(args.count);
        let low = low.format(args.low);
        let text = |piece: &Piece| match piece {
            Piece::Count => count,
            Piece::Low => low,
            Piece::Text(text) => text,
            Piece::Argument(_) => args.text,
        };
        let mut filled = String::with_capacity(pieces.iter().map(|piece| text(piece).len()).sum());
        pieces.iter().for_each(|piece| filled.push_str(text(piece)));
        Cow::Owned(filled)
    }

    /// Returns the form for a count.
    fn form(&self, rules: &Rules, count: u64) -> &Pieces {
        let category = rules.category(count);
        let form = self.forms.iter().find(|(known, _)| *known == category);
        form.map_or(&self.other, |(_, pieces)| pieces)
    }

    /// Checks this sentence as a translation of `english`, which has the same name: every form
    /// needs exactly the arguments of the English form `other`. Only the count may be left out, and
    /// only in forms that apply to few numbers, because these forms can spell out the number.
    pub(super) fn check(&self, name: &str, english: &Self) -> Result<(), String> {
        if self.other.is_empty() || self.forms.iter().any(|(_, pieces)| pieces.is_empty()) {
            return Err(format!("`{name}` without a text"));
        }
        if !self.forms.is_empty() && english.forms.is_empty() && !english.has("count") {
            return Err(format!("a choice by `$count` in `{name}`"));
        }
        for (is_other, form) in
            self.forms.iter().map(|(_, form)| (false, form)).chain([(true, &self.other)])
        {
            let used = |argument| form.iter().any(|piece| piece.argument() == Some(argument));
            let mut used_here = form.iter().filter_map(Piece::argument);
            if let Some(unknown) = used_here.find(|argument| !english.has(argument)) {
                return Err(format!("`{name}` with `{{ ${unknown} }}`"));
            }
            let mut needed = english.other.iter().filter_map(Piece::argument);
            let missing =
                needed.find(|argument| !used(argument) && (is_other || *argument != "count"));
            if let Some(missing) = missing {
                return Err(format!("`{name}` without `{{ ${missing} }}`"));
            }
        }
        Ok(())
    }

    /// Returns whether the form `other` contains an argument.
    fn has(&self, argument: &str) -> bool {
        self.other.iter().any(|piece| piece.argument() == Some(argument))
    }

    /// Returns the categories that have a form.
    #[cfg(test)]
    pub(super) fn categories(&self) -> Vec<Category> {
        self.forms.iter().map(|(category, _)| *category).chain([Category::Other]).collect()
    }
}

/// A part of a sentence.
#[derive(Clone, Copy, Debug)]
enum Piece {
    /// The text argument, by its name: `shown`, `span` or `text`.
    Argument(&'static str),
    /// The digits of the count.
    Count,
    /// The digits of the lower end of a range.
    Low,
    /// Constant text.
    Text(&'static str),
}

impl Piece {
    /// Returns the name of the argument, if it is one.
    fn argument(&self) -> Option<&'static str> {
        Some(match self {
            Self::Argument(name) => name,
            Self::Count => "count",
            Self::Low => "low",
            Self::Text(_) => return None,
        })
    }

    /// Returns the argument with this name.
    fn of_argument(name: &str) -> Option<Self> {
        let text = ["shown", "span", "text"].into_iter().find(|known| *known == name);
        match name {
            "count" => Some(Self::Count),
            "low" => Some(Self::Low),
            _ => text.map(Self::Argument),
        }
    }
}

/// Splits a sentence at its arguments.
///
/// # Errors
///
/// Returns a description of the first pair of braces that does not contain an argument.
fn pieces(name: &str, sentence: &'static str) -> Result<Pieces, String> {
    let mut pieces = Vec::new();
    let mut rest = sentence;
    while let Some(at) = rest.find(['{', '}']) {
        pieces.push(Piece::Text(&rest[..at]));
        let braced = rest[at..].strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let (inner, after) = braced.ok_or_else(|| format!("a single brace in `{name}`"))?;
        let inner = inner.trim();
        let argument = inner.strip_prefix('$').and_then(Piece::of_argument);
        pieces.push(argument.ok_or_else(|| not_an_argument(name, inner))?);
        rest = after;
    }
    pieces.push(Piece::Text(rest));
    pieces.retain(|piece| !matches!(piece, Piece::Text("")));
    Ok(pieces.into())
}

/// Describes braces that do not contain an argument.
fn not_an_argument(name: &str, inner: &str) -> String {
    let inner = clipped(inner);
    let first = inner.trim_start_matches('-').chars().next();
    if inner == name {
        format!("`{name}` with `{{ {inner} }}`, which is the sentence itself")
    } else if first.is_some_and(char::is_alphabetic) {
        format!("`{name}` with `{{ {inner} }}`, but a sentence cannot contain another one")
    } else {
        format!("`{name}` with `{{ {inner} }}`")
    }
}

/// Describes a line that is not the beginning of a sentence.
fn not_a_sentence(line: &str) -> String {
    format!("{:?} in place of `name = text`", clipped(line))
}

/// Describes a sentence that does not exist.
fn unknown(name: &str) -> String {
    let name = clipped(name);
    if name.starts_with([' ', '\t', '.', '-']) {
        format!("{name:?} in place of the name of a sentence")
    } else {
        format!("the unknown sentence `{name}`")
    }
}

/// Returns the beginning of a text, for an error.
fn clipped(text: &str) -> &str {
    text.char_indices().nth(MAX_QUOTED).map_or(text, |(end, _)| &text[..end])
}

/// The maximum number of characters of a file that an error quotes.
const MAX_QUOTED: usize = 60;

#[cfg(test)]
mod tests;
