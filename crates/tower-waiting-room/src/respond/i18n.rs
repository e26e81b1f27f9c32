//! The sentences of answers in each language.
//!
//! Each language has one Fluent file in `i18n/`, with the plural rules of CLDR. To add a language,
//! add a file, a variant of [`Language`] and a line in the table below. Tests then require the file
//! to have every sentence of the English file, in the same order.
//!
//! The files are parsed once per process, when the first answer needs a sentence.

use std::{borrow::Cow, sync::LazyLock};

use fluent_bundle::{FluentResource, concurrent::FluentBundle};

use crate::request::Language;

/// The arguments of a sentence, by name.
pub(super) use fluent_bundle::FluentArgs as Args;

impl Language {
    /// Returns the sentence `id` with its arguments filled in.
    pub(super) fn sentence(self, id: &'static str, args: &Args<'_>) -> Cow<'static, str> {
        let bundle = &BUNDLES[self as usize];
        let pattern = bundle.get_message(id).and_then(|message| message.value());
        // A test checks that every file has every sentence, so the fallback is never used. Another
        // test fills in every sentence, so formatting errors can be ignored here.
        pattern.map_or(Cow::Borrowed(id), |it| bundle.format_pattern(it, Some(args), &mut vec![]))
    }

    /// Returns the sentence `id`, which has no arguments.
    pub(super) fn phrase(self, id: &'static str) -> Cow<'static, str> {
        self.sentence(id, &Args::new())
    }

    /// Formats a count with the separator of thousands of this language.
    pub(super) fn count(self, count: u32) -> String {
        let digits = count.to_string();
        let mut written = String::with_capacity(digits.len() + 4);
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                written.push(self.table().0);
            }
            written.push(digit);
        }
        written
    }

    /// Returns the separator between two sentences. Chinese needs no separator, because its full
    /// stop (`。`) includes the space.
    pub(super) const fn space(self) -> &'static str {
        match self {
            Self::Chinese => "",
            _ => " ",
        }
    }

    /// Returns the separator of thousands and the Fluent file of this language.
    const fn table(self) -> (char, &'static str) {
        match self {
            Self::Chinese => (',', include_str!("i18n/zh.ftl")),
            Self::English => (',', include_str!("i18n/en.ftl")),
            Self::French => ('\u{202f}', include_str!("i18n/fr.ftl")),
            Self::German => ('.', include_str!("i18n/de.ftl")),
            Self::Spanish => ('\u{202f}', include_str!("i18n/es.ftl")),
        }
    }

    /// Parses the sentences of this language.
    fn bundle(self) -> FluentBundle<FluentResource> {
        let resource = FluentResource::try_new(self.table().1.to_owned())
            .expect("the embedded sentences are valid, as a test checks");
        let language = self.tag().parse().expect("every language tag is well-formed");
        let mut bundle = FluentBundle::new_concurrent(vec![language]);
        // Fluent surrounds arguments with invisible isolation marks, for text of mixed direction.
        // None of these languages needs the marks, which would end up in titles and plain text.
        bundle.set_use_isolating(false);
        bundle.add_resource(resource).expect("no sentence occurs twice");
        bundle
    }
}

/// The parsed sentences, in the order of [`Language::ALL`].
static BUNDLES: LazyLock<[FluentBundle<FluentResource>; Language::ALL.len()]> =
    LazyLock::new(|| Language::ALL.map(Language::bundle));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_every_sentence() {
        let ids = |language: Language| -> Vec<String> {
            let resource = FluentResource::try_new(language.table().1.to_owned()).unwrap();
            let id = |line: &str| line.split_once(" = ").map(|(id, _)| id.to_owned());
            resource
                .source()
                .lines()
                .filter(|line| !line.starts_with([' ', '#']))
                .filter_map(id)
                .collect()
        };
        for language in Language::ALL {
            assert_eq!(ids(language), ids(Language::English), "{language:?}");
        }
    }

    #[test]
    fn the_order_of_the_bundles_is_that_of_the_variants() {
        for (index, language) in Language::ALL.into_iter().enumerate() {
            assert_eq!(language as usize, index);
        }
    }

    #[test]
    fn counts_have_their_thousands_apart() {
        assert_eq!(Language::English.count(7), "7");
        assert_eq!(Language::English.count(999), "999");
        assert_eq!(Language::English.count(1_000), "1,000");
        assert_eq!(Language::German.count(1_234_567), "1.234.567");
        assert_eq!(Language::French.count(12_345), "12\u{202f}345");
    }
}
