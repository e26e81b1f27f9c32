//! The texts of each language: its file, its parsed sentences, and how a sentence is composed.

use std::{borrow::Cow, sync::OnceLock};

use super::{
    Args, NAMES, Phrase,
    parse::{Sentence, parse},
    rules::{Grouping, Rules},
};
use crate::request::Language;

/// The sentences of one language, in the order of [`Phrase`], and its rules.
pub(super) struct Texts {
    /// The sentences, with `None` for each untranslated sentence.
    pub(super) sentences: Box<[Option<Sentence>]>,
    pub(super) rules: Rules,
}

impl Texts {
    /// Returns the texts of a language, and parses them first if they are built in and were not
    /// needed before.
    pub(super) fn of(language: Language) -> &'static Self {
        TEXTS[language.index()].get_or_init(|| {
            let mut sentences: Vec<_> = NAMES.iter().map(|_| None).collect();
            let parsed = parse(file(language), &mut sentences);
            debug_assert!(parsed.is_ok(), "{language}: {parsed:?}");
            Self::new(sentences, language)
        })
    }

    /// Creates the texts of a language.
    pub(super) fn new(sentences: Vec<Option<Sentence>>, language: Language) -> Self {
        Self { sentences: sentences.into(), rules: Rules::of(language.tag()) }
    }

    /// Returns the sentence `id` with its arguments filled in. A sentence that is not translated is in
    /// English, with the plural forms of English. Tests ensure that English has every sentence.
    pub(super) fn sentence(&self, id: Phrase, args: Args<'_>) -> Cow<'static, str> {
        if let Some(sentence) = &self.sentences[id as usize] {
            return sentence.filled(&self.rules, args);
        }
        let english = Self::of(Language::ENGLISH);
        let sentence = english.sentences[id as usize].as_ref();
        sentence.map(|sentence| sentence.filled(&english.rules, args)).unwrap_or_default()
    }
}

impl Language {
    /// Returns the sentence `id` with its arguments filled in.
    pub(in super::super) fn sentence(self, id: Phrase, args: Args<'_>) -> Cow<'static, str> {
        Texts::of(self).sentence(id, args)
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
            let ends_group = if is_indian {
                left == 3 || (left > 3 && (left - 3).is_multiple_of(2))
            } else {
                left.is_multiple_of(3)
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

/// Declares the files of the built-in languages.
macro_rules! files {
    ($($name:ident => $file:literal,)+) => {
        /// Returns the Fluent file of a built-in language.
        pub(super) fn file(language: Language) -> &'static str {
            match language {
                $(Language::$name => include_str!($file),)+
                _ => include_str!("en.ftl"),
            }
        }
    };
}

files! {
    ARABIC => "ar.ftl",
    BULGARIAN => "bg.ftl",
    CHINESE_SIMPLIFIED => "zh-Hans.ftl",
    CHINESE_TRADITIONAL => "zh-Hant.ftl",
    CROATIAN => "hr.ftl",
    CZECH => "cs.ftl",
    DANISH => "da.ftl",
    DUTCH => "nl.ftl",
    FILIPINO => "fil.ftl",
    FINNISH => "fi.ftl",
    FRENCH => "fr.ftl",
    GERMAN => "de.ftl",
    GREEK => "el.ftl",
    HEBREW => "he.ftl",
    HINDI => "hi.ftl",
    HUNGARIAN => "hu.ftl",
    INDONESIAN => "id.ftl",
    ITALIAN => "it.ftl",
    JAPANESE => "ja.ftl",
    KOREAN => "ko.ftl",
    LATVIAN => "lv.ftl",
    LITHUANIAN => "lt.ftl",
    MALAY => "ms.ftl",
    NORWEGIAN => "nb.ftl",
    PERSIAN => "fa.ftl",
    POLISH => "pl.ftl",
    PORTUGUESE_BRAZIL => "pt-BR.ftl",
    PORTUGUESE_PORTUGAL => "pt-PT.ftl",
    ROMANIAN => "ro.ftl",
    RUSSIAN => "ru.ftl",
    SERBIAN => "sr.ftl",
    SERBIAN_LATIN => "sr-Latn.ftl",
    SLOVAK => "sk.ftl",
    SLOVENIAN => "sl.ftl",
    SPANISH => "es.ftl",
    SWEDISH => "sv.ftl",
    THAI => "th.ftl",
    TURKISH => "tr.ftl",
    UKRAINIAN => "uk.ftl",
    VIETNAMESE => "vi.ftl",
}

/// The texts of each language, by [`Language::index`].
pub(super) static TEXTS: [OnceLock<Texts>; Language::MAX] =
    [const { OnceLock::new() }; Language::MAX];
