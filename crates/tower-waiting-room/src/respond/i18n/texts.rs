//! The parsed sentences of each language, and how to compose one.

use std::{borrow::Cow, sync::OnceLock};

use super::{
    Args, NAMES, Phrase,
    parse::{Sentence, parse},
    rules::{Grouping, Rules, file},
};
use crate::request::Language;

/// The sentences of one language, in the order of [`Phrase`], and its rules.
pub(super) struct Texts {
    pub(super) sentences: Box<[Sentence]>,
    pub(super) rules: Rules,
}

impl Texts {
    /// Returns the texts of a language, and parses them first if they are built in and were not
    /// needed before.
    pub(super) fn of(language: Language) -> &'static Self {
        TEXTS[language.index()].get_or_init(|| Self::built_in(language))
    }

    /// Parses the file of a built-in language. A sentence that is missing or malformed is empty,
    /// which tests rule out.
    fn built_in(language: Language) -> Self {
        let mut sentences: Vec<_> = NAMES.iter().map(|_| None).collect();
        let parsed = parse(file(language), &mut sentences);
        debug_assert!(parsed.is_ok(), "{language}: {parsed:?}");
        Self::new(sentences, language)
    }

    /// Creates the texts of a language. Missing sentences are empty.
    pub(super) fn new(sentences: Vec<Option<Sentence>>, language: Language) -> Self {
        let sentences = sentences.into_iter().map(Option::unwrap_or_default).collect();
        // Without pages, all sentences are English.
        let tag = if cfg!(feature = "page") { language.tag() } else { "en" };
        Self { sentences, rules: Rules::of(tag) }
    }
}

impl Language {
    /// Returns the sentence `id` with its arguments filled in.
    pub(in super::super) fn sentence(self, id: Phrase, args: Args<'_>) -> Cow<'static, str> {
        let texts = Texts::of(self);
        texts.sentences[id as usize].filled(&texts.rules, args)
    }

    /// Returns the sentence `id`, which has no arguments.
    pub(in super::super) fn phrase(self, id: Phrase) -> Cow<'static, str> {
        self.sentence(id, Args::default())
    }

    /// Formats a count with the thousands separator of this language.
    pub(in super::super) fn count(self, count: u32) -> String {
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(count);
        if digits.len() <= 3 {
            return digits.to_owned();
        }
        let Grouping { separator, is_indian } = Texts::of(self).rules.grouping;
        let mut written = String::with_capacity(digits.len() + 4 * separator.len_utf8());
        for (index, digit) in digits.chars().enumerate() {
            let left = digits.len() - index;
            // In India, the groups above the thousands have two digits.
            let ends_group = match is_indian {
                true => left == 3 || (left > 3 && (left - 3).is_multiple_of(2)),
                false => left.is_multiple_of(3),
            };
            if index > 0 && ends_group {
                written.push(separator);
            }
            written.push(digit);
        }
        written
    }

    /// Returns the separator between two sentences. Chinese and Japanese need no separator, because
    /// their full stop (`。`) includes a space.
    pub(in super::super) fn space(self) -> &'static str {
        Texts::of(self).rules.space
    }
}

/// The texts of each language, by [`Language::index`].
pub(super) static TEXTS: [OnceLock<Texts>; Language::MAX] =
    [const { OnceLock::new() }; Language::MAX];
