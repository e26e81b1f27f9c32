//! Languages that applications add or replace.
//!
//! The texts of a language stay in memory until the process ends, so that a [`Language`] is a small
//! index and an answer in it needs no lock. The number of languages and the length of a file are
//! bounded, and a file that was added before is not added again.

use std::sync::{Mutex, PoisonError};

use unic_langid::{CharacterDirection, LanguageIdentifier};
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use super::{
    NAMES,
    parse::{Sentence, parse},
    texts::{self, TEXTS, Texts},
};
use crate::request::Language;

/// Adds the language with this tag and these sentences. Sentences that the file lacks are taken
/// from the built-in language with the same tag or, if there is none, from English.
///
/// # Errors
///
/// Returns an error if the tag is not a BCP 47 tag, if the file is too long or has a flaw, or if
/// there are too many languages.
pub(in super::super) fn add(tag: &str, file: &str) -> Result<Language, ConfigError> {
    let parsed: Option<LanguageIdentifier> = tag.parse().ok().filter(|_| tag.len() <= MAX_TAG_LEN);
    let parsed = parsed.filter(|identifier: &LanguageIdentifier| !identifier.language.is_empty());
    let Some(id) = parsed else {
        let given: String = tag.chars().take(MAX_TAG_LEN).collect();
        let given = format!("the language tag {given:?}");
        return Err(malformed(given, "a tag such as `ja` or `zh-Hant` (BCP 47)"));
    };
    let tag = id.to_string();
    if file.len() > MAX_TEXTS_LEN {
        return Err(ConfigError::new(
            ConfigErrorKind::TooLarge,
            FIELD,
            format_args!("a file of {} bytes for `{tag}`", file.len()),
            format_args!("at most {MAX_TEXTS_LEN} bytes"),
        ));
    }
    let mut added = ADDED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut known = added.iter().filter(|added| added.language.tag() == tag && added.file == file);
    if let Some(known) = known.next() {
        return Ok(known.language);
    }
    // A file with a flaw is leaked too, but then the process does not start. Files are short.
    let file: &'static str = String::leak(file.to_owned());
    let sentences = sentences(&tag, file)?;
    let is_right_to_left = id.character_direction() == CharacterDirection::RTL;
    let Some(language) = Language::add(String::leak(tag), is_right_to_left) else {
        return Err(ConfigError::new(
            ConfigErrorKind::TooLarge,
            FIELD,
            format_args!("{} added languages, and one more", added.len()),
            format_args!("at most {} languages in one process", Language::MAX),
        ));
    };
    TEXTS[language.index()].get_or_init(|| Texts::new(sentences, language));
    added.push(AddedTexts { language, file });
    Ok(language)
}

/// Parses the sentences of a language, on top of those of a built-in language.
fn sentences(tag: &str, file: &'static str) -> Result<Vec<Option<Sentence>>, ConfigError> {
    let mut sentences: Vec<_> = NAMES.iter().map(|_| None).collect();
    if let Err(flaw) = parse(file, &mut sentences) {
        let given = format!("a file for `{tag}` that has in line {} {}", flaw.line, flaw.what);
        return Err(malformed(given, "sentences as in `en.ftl`"));
    }
    let english = Texts::of(Language::ENGLISH).sentences.iter().flatten();
    for ((name, sentence), english) in NAMES.iter().zip(&sentences).zip(english) {
        if let Some(Err(what)) = sentence.as_ref().map(|sentence| sentence.check(name, english)) {
            let given = format!("a file for `{tag}` that has {what}");
            return Err(malformed(given, "sentences with the same arguments as in `en.ftl`"));
        }
    }
    let built_in = Language::ALL.into_iter().find(|language| language.tag() == tag);
    let base = built_in.unwrap_or(Language::ENGLISH);
    let mut complete: Vec<_> = NAMES.iter().map(|_| None).collect();
    let parsed = parse(texts::file(base), &mut complete);
    debug_assert!(parsed.is_ok(), "{tag}: {parsed:?}");
    let complete = complete.into_iter().zip(sentences);
    Ok(complete.map(|(built_in, replaced)| replaced.or(built_in)).collect())
}

fn malformed(given: String, expected: &str) -> ConfigError {
    ConfigError::new(ConfigErrorKind::Malformed, FIELD, given, expected)
}

/// A language that was added, and the file with its sentences.
struct AddedTexts {
    language: Language,
    file: &'static str,
}

/// The languages that were added.
static ADDED: Mutex<Vec<AddedTexts>> = Mutex::new(Vec::new());

/// The maximum length of a file with sentences: 64 KiB. The built-in files have up to 12 KiB.
pub(in super::super) const MAX_TEXTS_LEN: usize = 64 * 1024;

/// The maximum length of a tag, which is enough for a language, a script, a region and four
/// variants.
const MAX_TAG_LEN: usize = 48;

/// The name of the configuration field in errors.
const FIELD: &str = "page.texts";

#[cfg(test)]
mod tests;
