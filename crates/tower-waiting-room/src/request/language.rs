//! The languages of answers.
//!
//! A [`Language`] is an index into the languages of this process: the built-in ones, followed by
//! those that applications have added. The files with their sentences are in `respond/i18n`.

use std::{fmt, sync::OnceLock};

/// Declares the built-in languages.
macro_rules! languages {
    ($($(#[$doc:meta])+ $name:ident = $tag:literal,)+) => {
        /// The indices of the built-in languages.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum BuiltIn { $($name),+ }

        impl Language {
            $($(#[$doc])+ pub const $name: Self = Self(BuiltIn::$name as u8);)+

            /// The built-in languages.
            pub const ALL: [Self; [$($tag),+].len()] = [$(Self::$name),+];
        }

        /// The tags of the built-in languages.
        const TAGS: [&str; Language::ALL.len()] = [$($tag),+];
    };
}

/// A language in which the layer's answers are available, identified by a BCP 47 tag.
///
/// The built-in languages are those of Cloudflare Waiting Room, and a few more. An application can
/// add or replace languages with [`Page::texts`](crate::respond::Page::texts). Two languages with
/// the same tag differ if their sentences differ.
///
/// ```
/// use tower_waiting_room::request::Language;
///
/// assert_eq!(Language::GERMAN.tag(), "de");
/// assert!(Language::ARABIC.is_right_to_left());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Language(u8);

languages! {
    /// العربية
    ARABIC = "ar",
    /// Български
    BULGARIAN = "bg",
    /// 简体中文
    CHINESE_SIMPLIFIED = "zh-Hans",
    /// 繁體中文
    CHINESE_TRADITIONAL = "zh-Hant",
    /// Hrvatski
    CROATIAN = "hr",
    /// Čeština
    CZECH = "cs",
    /// Dansk
    DANISH = "da",
    /// Nederlands
    DUTCH = "nl",
    /// English, which is also the default for clients that accept none of the available languages.
    ENGLISH = "en",
    /// Filipino
    FILIPINO = "fil",
    /// Suomi
    FINNISH = "fi",
    /// Français
    FRENCH = "fr",
    /// Deutsch
    GERMAN = "de",
    /// Ελληνικά
    GREEK = "el",
    /// עברית
    HEBREW = "he",
    /// हिन्दी
    HINDI = "hi",
    /// Magyar
    HUNGARIAN = "hu",
    /// Bahasa Indonesia
    INDONESIAN = "id",
    /// Italiano
    ITALIAN = "it",
    /// 日本語
    JAPANESE = "ja",
    /// 한국어
    KOREAN = "ko",
    /// Latviešu
    LATVIAN = "lv",
    /// Lietuvių
    LITHUANIAN = "lt",
    /// Bahasa Melayu
    MALAY = "ms",
    /// Norsk bokmål
    NORWEGIAN = "nb",
    /// فارسی
    PERSIAN = "fa",
    /// Polski
    POLISH = "pl",
    /// Português do Brasil
    PORTUGUESE_BRAZIL = "pt-BR",
    /// Português de Portugal
    PORTUGUESE_PORTUGAL = "pt-PT",
    /// Română
    ROMANIAN = "ro",
    /// Русский
    RUSSIAN = "ru",
    /// Српски
    SERBIAN = "sr",
    /// Srpski
    SERBIAN_LATIN = "sr-Latn",
    /// Slovenčina
    SLOVAK = "sk",
    /// Slovenščina
    SLOVENIAN = "sl",
    /// Español
    SPANISH = "es",
    /// Svenska
    SWEDISH = "sv",
    /// ไทย
    THAI = "th",
    /// Türkçe
    TURKISH = "tr",
    /// Українська
    UKRAINIAN = "uk",
    /// Tiếng Việt
    VIETNAMESE = "vi",
}

impl Language {
    /// The maximum number of languages in one process, including the built-in ones.
    pub const MAX: usize = 128;

    /// Returns the language tag (BCP 47) for the `lang` attribute and the `Content-Language`
    /// header, such as `pt-BR`.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match TAGS.get(self.index()) {
            Some(tag) => tag,
            None => self.added().map_or(TAGS[Self::ENGLISH.index()], |added| added.tag),
        }
    }

    /// Returns whether the language is written from right to left.
    #[must_use]
    pub fn is_right_to_left(self) -> bool {
        match self {
            Self::ARABIC | Self::HEBREW | Self::PERSIAN => true,
            _ => self.added().is_some_and(|added| added.is_right_to_left),
        }
    }

    /// Returns the position of this language among all languages of the process.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the facts about a language that is not built in.
    fn added(self) -> Option<&'static Added> {
        ADDED.get(self.index().checked_sub(TAGS.len())?)?.get()
    }

    /// Adds a language to the process. Returns `None` if there are already [`MAX`](Self::MAX) of
    /// them.
    pub(crate) fn add(tag: &'static str, is_right_to_left: bool) -> Option<Self> {
        let added = Added { tag, is_right_to_left };
        // The length of `TAGS` plus that of `ADDED` fits in a byte.
        let index = (0_u8..).zip(&ADDED).find(|(_, slot)| slot.set(added).is_ok())?.0;
        Some(Self(Self::ALL.len().to_le_bytes()[0] + index))
    }
}

impl Default for Language {
    fn default() -> Self {
        Self::ENGLISH
    }
}

impl fmt::Debug for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Language").field(&self.tag()).finish()
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.tag())
    }
}

/// The facts about a language that an application has added.
#[derive(Clone, Copy)]
struct Added {
    tag: &'static str,
    is_right_to_left: bool,
}

/// The added languages, in order of addition.
static ADDED: [OnceLock<Added>; Language::MAX - TAGS.len()] =
    [const { OnceLock::new() }; Language::MAX - TAGS.len()];

#[cfg(test)]
mod tests {
    use unic_langid::{CharacterDirection, LanguageIdentifier};

    use super::*;

    #[test]
    fn every_tag_is_canonical_and_has_the_direction_of_the_library() {
        for language in Language::ALL {
            let parsed: LanguageIdentifier = language.tag().parse().unwrap();
            assert_eq!(parsed.to_string(), language.tag());
            let is_rtl = parsed.character_direction() == CharacterDirection::RTL;
            assert_eq!(language.is_right_to_left(), is_rtl, "{language}");
        }
    }

    #[test]
    fn the_locales_of_cloudflare_are_all_there() {
        // The values of `default_template_language`, in the order of Cloudflare's API.
        let locales = "en-US es-ES de-DE fr-FR it-IT ja-JP ko-KR pt-BR zh-CN zh-TW nl-NL pl-PL id-ID \
            tr-TR ar-EG ru-RU fa-IR bg-BG hr-HR cs-CZ da-DK fi-FI lt-LT ms-MY nb-NO ro-RO el-GR \
            he-IL hi-IN hu-HU sr-BA sk-SK sl-SI sv-SE tl-PH th-TH uk-UA vi-VN";
        let languages = super::super::Languages::built_in();
        let found: Vec<_> = locales
            .split_whitespace()
            .map(|locale| languages.named(locale.as_bytes()).map(Language::tag).unwrap_or(locale))
            .collect();
        let expected = "en es de fr it ja ko pt-BR zh-Hans zh-Hant nl pl id tr ar ru fa bg hr cs da \
            fi lt ms nb ro el he hi hu sr sk sl sv fil th uk vi";
        assert_eq!(found, expected.split_whitespace().collect::<Vec<_>>());
        assert_eq!(found.len(), 38);
    }
}
