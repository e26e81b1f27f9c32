//! Replaces `i18n.rs` if the feature `page` is disabled: every sentence is in English.
//!
//! The sentences come from `i18n/en.ftl`, which is read without the Fluent crate. That file uses
//! two features of Fluent: arguments such as `{ $shown }`, and a choice between `[one]` and
//! `*[other]` by `$count`.

use std::{borrow::Cow, fmt::Display};

use crate::request::Language;

/// The arguments of a sentence, by name.
pub(super) struct Args(Vec<(&'static str, String)>);

impl Args {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    pub(super) fn set(&mut self, name: &'static str, value: impl Display) {
        self.0.push((name, value.to_string()));
    }

    /// Returns the value of an argument, or an empty string if the argument is missing, which a
    /// test rules out.
    fn value(&self, name: &str) -> &str {
        self.0.iter().find(|(of, _)| *of == name).map_or("", |(_, value)| value)
    }
}

impl Language {
    /// Returns the English sentence `id` with its arguments filled in.
    #[expect(clippy::unused_self, reason = "the method in `i18n.rs` has several languages")]
    pub(super) fn sentence(self, id: &'static str, args: &Args) -> Cow<'static, str> {
        // A test checks that every sentence is found, so the fallback is never used.
        let Some(pattern) = pattern(id) else { return Cow::Borrowed(id) };
        filled(chosen(pattern, args), args)
    }

    /// Returns the English sentence `id`, which has no arguments.
    pub(super) fn phrase(self, id: &'static str) -> Cow<'static, str> {
        self.sentence(id, &Args(Vec::new()))
    }

    /// Formats a count with a comma between its thousands.
    #[expect(clippy::unused_self, reason = "the method in `i18n.rs` has several languages")]
    pub(super) fn count(self, count: u32) -> String {
        let digits = count.to_string();
        let mut written = String::with_capacity(digits.len() + 4);
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                written.push(',');
            }
            written.push(digit);
        }
        written
    }

    /// Returns the separator between two sentences.
    #[expect(clippy::unused_self, reason = "the method in `i18n.rs` has several languages")]
    pub(super) const fn space(self) -> &'static str {
        " "
    }
}

/// Returns the text of a sentence in the file: the rest of its line, or the lines of a choice below
/// it.
fn pattern(id: &str) -> Option<&'static str> {
    let mut rest = ENGLISH;
    loop {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        match line.strip_prefix(id).and_then(|line| line.strip_prefix(" = ")) {
            Some("{ $count ->") => return after.split_once("\n}").map(|(choice, _)| choice),
            Some(text) => return Some(text),
            None if after.is_empty() => return None,
            None => rest = after,
        }
    }
}

/// Returns the text for the argument `count` if the sentence depends on a count, and otherwise the
/// whole sentence.
fn chosen(pattern: &'static str, args: &Args) -> &'static str {
    let form = if args.value("count") == "1" { "[one] " } else { "*[other] " };
    pattern.lines().find_map(|line| line.trim_start().strip_prefix(form)).unwrap_or(pattern)
}

/// Replaces the arguments in a text with their values.
fn filled(text: &'static str, args: &Args) -> Cow<'static, str> {
    let mut parts = text.split("{ $");
    let Some(first) = parts.next().filter(|first| first.len() < text.len()) else {
        return Cow::Borrowed(text);
    };
    let mut filled = first.to_owned();
    for part in parts {
        let (name, after) = part.split_once(" }").unwrap_or((part, ""));
        filled.push_str(args.value(name));
        filled.push_str(after);
    }
    Cow::Owned(filled)
}

/// The sentences, in the format of Fluent.
const ENGLISH: &str = include_str!("i18n/en.ftl");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_of_the_file_is_found() {
        let lines = ENGLISH.lines().filter(|line| !line.starts_with([' ', '#', '}']));
        for (id, _) in lines.filter_map(|line| line.split_once(" = ")) {
            assert!(pattern(id).is_some_and(|text| !text.is_empty()), "{id}");
        }
        assert_eq!(pattern("headline"), None);
    }

    #[test]
    fn one_and_several_have_forms_of_their_own() {
        let ahead = |count: u32| {
            let mut args = Args::with_capacity(2);
            args.set("count", count);
            args.set("shown", Language::English.count(count));
            Language::English.sentence("ahead", &args)
        };
        assert_eq!(ahead(1), "About 1 person is ahead of you");
        assert_eq!(ahead(1_200), "About 1,200 people are ahead of you");
    }
}
