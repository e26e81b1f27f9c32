//! Expressions of Cloudflare's Rules language, as far as a bypass rule can express them.
//!
//! ```text
//! expression ─► words ─► tree of or, and, tests ─► branches, each a list of tests
//! ```
//!
//! An expression is a disjunction of branches, and each branch becomes a rule. A branch with a test
//! that has no counterpart is returned as its text. The other branches still apply: they exempt
//! fewer requests than the expression, never more.

use serde_json::{Value, json};

/// A test in the form of a configuration file, such as `{"path": "/healthz"}`.
type Test = Value;

/// One branch of an expression.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Branch {
    /// The tests, all of which have to hold.
    pub(super) tests: Vec<Test>,
    /// The text of the first test that has no counterpart.
    pub(super) unreadable: Option<String>,
}

/// Returns the branches of an expression.
///
/// # Errors
///
/// Returns the reason if the whole expression cannot be read, or if it has too many branches.
pub(super) fn branches(expression: &str) -> Result<Vec<Branch>, &'static str> {
    if expression.len() > MAX_LEN {
        return Err("it is longer than 4096 bytes");
    }
    let words = words(expression)?;
    let mut parser = Parser { expression, words: &words, at: 0, depth: 0 };
    let branches = parser.either()?;
    if parser.at < words.len() {
        return Err("its parentheses do not match");
    }
    Ok(branches)
}

/// A word of an expression.
#[derive(Clone, Debug, PartialEq)]
struct Word {
    kind: Kind,
    /// The text of the word; for a string, its content.
    text: String,
    /// The beginning and the end of the word in the expression.
    span: (usize, usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// A field, a function, an operator in letters, a number or an address.
    Name,
    /// A sign: one or two characters.
    Sign,
    /// A string.
    Text,
}

/// Splits an expression into words.
fn words(expression: &str) -> Result<Vec<Word>, &'static str> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(first) = expression[at..].chars().next() {
        let rest = &expression[at..];
        let (kind, text, len) = match first {
            _ if first.is_whitespace() => {
                at += first.len_utf8();
                continue;
            }
            '"' => {
                let (text, len) = string(rest)?;
                (Kind::Text, text, len)
            }
            _ if SIGNS.iter().any(|sign| rest.starts_with(sign)) => {
                (Kind::Sign, rest[..2].to_owned(), 2)
            }
            '(' | ')' | '{' | '}' | ',' | '!' | '<' | '>' | '~' => {
                (Kind::Sign, first.to_string(), 1)
            }
            _ => {
                let is_end = |c: char| c.is_whitespace() || "\"(){},!=<>~&|^".contains(c);
                let len = rest.find(is_end).unwrap_or(rest.len()).max(first.len_utf8());
                (Kind::Name, rest[..len].to_owned(), len)
            }
        };
        words.push(Word { kind, text, span: (at, at + len) });
        at += len;
    }
    Ok(words)
}

/// Reads a string in quotation marks. Returns its content, and its length in the expression.
fn string(rest: &str) -> Result<(String, usize), &'static str> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Ok((text, at + 1)),
            '\\' => match chars.next() {
                Some((_, escaped @ ('"' | '\\'))) => text.push(escaped),
                _ => return Err("it has an escape in a string that is neither \\\" nor \\\\"),
            },
            other => text.push(other),
        }
    }
    Err("it has a string that does not end")
}

struct Parser<'a> {
    expression: &'a str,
    words: &'a [Word],
    /// The next word.
    at: usize,
    /// The number of open parentheses and negations.
    depth: usize,
}

impl Parser<'_> {
    /// Reads conditions that are joined by `or`, which binds least tightly.
    fn either(&mut self) -> Result<Vec<Branch>, &'static str> {
        let mut all = self.both()?;
        while self.take_one(&["or", "||"]) {
            all.extend(self.both()?);
            check_number(all.len())?;
        }
        Ok(all)
    }

    /// Reads conditions that are joined by `and`.
    fn both(&mut self) -> Result<Vec<Branch>, &'static str> {
        let mut all = self.condition()?;
        while self.take_one(&["and", "&&"]) {
            let others = self.condition()?;
            check_number(all.len().saturating_mul(others.len()))?;
            let joined = all.iter().flat_map(|one| others.iter().map(|other| one.with(other)));
            all = joined.collect();
        }
        Ok(all)
    }

    /// Reads a test, a negation, or an expression in parentheses.
    fn condition(&mut self) -> Result<Vec<Branch>, &'static str> {
        if self.depth >= MAX_DEPTH {
            return Err("it has more than 32 nested parentheses");
        }
        let begin = self.at;
        self.depth += 1;
        let read = if self.take_one(&["not", "!"]) {
            self.condition()?;
            vec![Branch::unreadable(self.text_from(begin))]
        } else if self.take_one(&["("]) {
            let inner = self.either()?;
            if !self.take_one(&[")"]) {
                return Err("its parentheses do not match");
            }
            // What follows, such as `xor` or a comparison, belongs to the same condition.
            match self.rest_of_test() {
                0 => inner,
                _ => vec![Branch::unreadable(self.text_from(begin))],
            }
        } else if self.rest_of_test() == 0 {
            return Err("a condition is missing");
        } else {
            branches_of_test(&self.words[begin..self.at])
                .unwrap_or_else(|| vec![Branch::unreadable(self.text_from(begin))])
        };
        self.depth -= 1;
        Ok(read)
    }

    /// Skips the words up to the next `and`, `or` or closing parenthesis of this level, and returns
    /// their number.
    fn rest_of_test(&mut self) -> usize {
        let begin = self.at;
        let mut open = 0_usize;
        while let Some(word) = self.words.get(self.at) {
            match (word.kind, &*word.text) {
                (Kind::Sign, "(" | "{") => open += 1,
                (Kind::Sign, ")") if open == 0 => break,
                (Kind::Sign, ")" | "}") => open = open.saturating_sub(1),
                (Kind::Name, "and" | "or") | (Kind::Sign, "&&" | "||") if open == 0 => break,
                _ => {}
            }
            self.at += 1;
        }
        self.at - begin
    }

    /// Skips the next word if it is one of these.
    fn take_one(&mut self, words: &[&str]) -> bool {
        let is_next = self
            .words
            .get(self.at)
            .is_some_and(|word| word.kind != Kind::Text && words.contains(&&*word.text));
        self.at += usize::from(is_next);
        is_next
    }

    /// Returns the text of the words from `begin` to the next one.
    fn text_from(&self, begin: usize) -> String {
        let words = self.words.get(begin..self.at).unwrap_or_default();
        match (words.first(), words.last()) {
            (Some(first), Some(last)) => self.expression[first.span.0..last.span.1].to_owned(),
            _ => String::new(),
        }
    }
}

impl Branch {
    fn unreadable(text: String) -> Self {
        Self { tests: Vec::new(), unreadable: Some(text) }
    }

    fn with(&self, other: &Self) -> Self {
        Self {
            tests: self.tests.iter().chain(&other.tests).cloned().collect(),
            unreadable: self.unreadable.as_ref().or(other.unreadable.as_ref()).cloned(),
        }
    }
}

/// Returns the branches of a single test, one for each value of a list, or `None` if the test has
/// no counterpart.
fn branches_of_test(words: &[Word]) -> Option<Vec<Branch>> {
    let branch = |test| Branch { tests: vec![test], unreadable: None };
    match words {
        [function, open, field, comma, prefix, close]
            if is_name(function, "starts_with")
                && is_name(field, PATH)
                && [&*open.text, &*comma.text, &*close.text] == ["(", ",", ")"]
                && prefix.kind == Kind::Text =>
        {
            Some(vec![branch(json!({ "path_prefix": prefix.text }))])
        }
        [field, operator, value] if is_one_of(operator, &["eq", "=="]) => {
            Some(vec![branch(test(field, value)?)])
        }
        [field, operator, open, values @ .., close]
            if is_name(operator, "in") && [&*open.text, &*close.text] == ["{", "}"] =>
        {
            // A list may be separated by commas, as Cloudflare's editor allows.
            let values =
                values.iter().filter(|value| value.text != "," || value.kind == Kind::Text);
            let all =
                values.map(|value| test(field, value).map(branch)).collect::<Option<Vec<_>>>();
            all.filter(|all| !all.is_empty())
        }
        _ => None,
    }
}

/// Returns the test of a field for one value.
fn test(field: &Word, value: &Word) -> Option<Test> {
    let text = &value.text;
    match (&*field.text, value.kind) {
        ("http.host", Kind::Text) => Some(json!({ "host": text })),
        ("http.request.method", Kind::Text) => Some(json!({ "method": text })),
        (PATH, Kind::Text) => Some(json!({ "path": text })),
        // `$name` is a list that is defined elsewhere, and `a..b` is a range.
        ("ip.src", Kind::Name) if !text.starts_with('$') && !text.contains("..") => {
            Some(json!({ "network": text }))
        }
        _ => None,
    }
}

fn is_name(word: &Word, name: &str) -> bool {
    word.kind == Kind::Name && word.text == name
}

fn is_one_of(word: &Word, words: &[&str]) -> bool {
    word.kind != Kind::Text && words.contains(&&*word.text)
}

fn check_number(branches: usize) -> Result<(), &'static str> {
    if branches > MAX_BRANCHES { Err("it stands for more than 100 rules") } else { Ok(()) }
}

/// The path of a request, without the query.
const PATH: &str = "http.request.uri.path";

/// The signs that consist of two characters.
const SIGNS: [&str; 9] = ["==", "!=", "&&", "||", "^^", "<=", ">=", "=~", "!~"];

/// The maximum length of an expression in bytes, the same as Cloudflare's.
const MAX_LEN: usize = 4096;

/// The maximum number of nested parentheses and negations.
const MAX_DEPTH: usize = 32;

/// The maximum number of branches of one expression. A layer has the same maximum number of rules.
const MAX_BRANCHES: usize = 100;
