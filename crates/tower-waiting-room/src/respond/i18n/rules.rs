//! The rules of each language: its file, its plural forms, and how numbers and sentences are joined.

use super::plural::{Category, PluralRule, rule};
use crate::request::Language;

/// The rules of a language.
pub(super) struct Rules {
    plural: PluralRule,
    pub(super) grouping: Grouping,
    /// The separator between two sentences.
    pub(super) space: &'static str,
}

/// How the digits of a large number are separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grouping {
    pub(super) separator: char,
    /// Whether only the last group has three digits, and all others two.
    pub(super) is_indian: bool,
}

impl Rules {
    /// Returns the rules of the language with this tag.
    pub(super) fn of(tag: &str) -> Self {
        let primary = tag.split('-').next().unwrap_or(tag);
        let separator = match tag {
            "es-MX" | "es-419" | "es-US" => ',',
            _ => separator(primary),
        };
        Self {
            plural: rule(tag, primary),
            grouping: Grouping { separator, is_indian: INDIAN.contains(&primary) },
            space: if matches!(primary, "ja" | "yue" | "zh") { "" } else { " " },
        }
    }

    /// Returns the plural category of a count.
    pub(super) fn category(&self, count: u64) -> Category {
        (self.plural)(count)
    }
}

/// Returns the thousands separator of a language (CLDR, "Number Symbols", with Latin digits). For
/// other languages, this is the separator of ISO 80000-1, a narrow space.
fn separator(primary: &str) -> char {
    match primary {
        "ar" | "cy" | "en" | "fa" | "fil" | "ga" | "he" | "hi" | "ja" | "ko" | "ms" | "sw"
        | "ta" | "th" | "ur" | "yue" | "zh" | "bn" | "gu" | "kn" | "ml" | "mr" | "pa" | "te" => ',',
        "az" | "bs" | "ca" | "da" | "de" | "el" | "eu" | "gl" | "hr" | "id" | "is" | "it"
        | "mk" | "nl" | "pt" | "ro" | "sl" | "sr" | "tr" | "vi" => '.',
        _ => '\u{202f}',
    }
}

/// The languages with groups of two digits.
const INDIAN: [&str; 10] = ["bn", "gu", "hi", "kn", "ml", "mr", "or", "pa", "ta", "te"];

/// Declares the files of the built-in languages.
macro_rules! files {
    ($($name:ident => $file:literal,)+) => {
        /// Returns the Fluent file of a built-in language.
        #[cfg(feature = "page")]
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

/// Returns the English file.
#[cfg(not(feature = "page"))]
pub(super) fn file(_language: Language) -> &'static str {
    include_str!("en.ftl")
}
