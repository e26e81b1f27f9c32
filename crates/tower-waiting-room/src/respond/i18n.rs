//! The languages of the page: which there are, which one a visitor reads, and their sentences.
//!
//! The sentences are in one Fluent file per language, with the plural rules of CLDR. A language
//! is added by a file, a variant of [`Language`] and a line of the table in
//! [`Language::table`]; the tests then demand every sentence of it.

use std::{borrow::Cow, sync::LazyLock};

use fluent_bundle::{FluentArgs, FluentResource, concurrent::FluentBundle};

/// A language in which a visitor can be answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// 中文
    Chinese,
    /// English, also for who reads none of these.
    #[default]
    English,
    /// Français
    French,
    /// Deutsch
    German,
    /// Español
    Spanish,
}

impl Language {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 5] =
        [Self::Chinese, Self::English, Self::French, Self::German, Self::Spanish];

    /// The tag for `lang` and `Content-Language` (BCP 47).
    #[must_use]
    pub const fn tag(self) -> &'static str {
        self.table().0
    }

    /// The language that an `Accept-Language` header prefers (RFC 9110 §12.5.4).
    ///
    /// By the primary subtag: who asks for `de-AT` reads German. The first of equals wins.
    pub(crate) fn negotiate(accept_language: &str) -> Self {
        let ranges = accept_language.split(',').filter_map(Self::range);
        let preferred = ranges.reduce(|best, next| if next.1 > best.1 { next } else { best });
        preferred.map_or_else(Self::default, |(language, _)| language)
    }

    /// The sentence `id`, with its `args` filled in.
    pub(super) fn sentence(self, id: &'static str, args: &FluentArgs<'_>) -> Cow<'static, str> {
        let bundle = &BUNDLES[self as usize];
        let pattern = bundle.get_message(id).and_then(|message| message.value());
        // Every file has every sentence: a test sees to it.
        pattern.map_or(Cow::Borrowed(id), |it| bundle.format_pattern(it, Some(args), &mut vec![]))
    }

    /// A sentence without arguments.
    pub(super) fn phrase(self, id: &'static str) -> Cow<'static, str> {
        self.sentence(id, &FluentArgs::new())
    }

    /// A count as it is written, with its thousands apart.
    pub(super) fn count(self, count: u32) -> String {
        let digits = count.to_string();
        let mut written = String::with_capacity(digits.len() + 4);
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                written.push(self.table().1);
            }
            written.push(digit);
        }
        written
    }

    /// What stands between two sentences.
    pub(super) const fn space(self) -> &'static str {
        match self {
            Self::Chinese => "",
            _ => " ",
        }
    }

    /// The tag, the mark between thousands, and the sentences.
    const fn table(self) -> (&'static str, char, &'static str) {
        match self {
            Self::Chinese => ("zh", ',', include_str!("i18n/zh.ftl")),
            Self::English => ("en", ',', include_str!("i18n/en.ftl")),
            Self::French => ("fr", '\u{202f}', include_str!("i18n/fr.ftl")),
            Self::German => ("de", '.', include_str!("i18n/de.ftl")),
            Self::Spanish => ("es", '\u{202f}', include_str!("i18n/es.ftl")),
        }
    }

    /// One element of the header, with its weight; `None` for a language that we do not have.
    fn range(element: &str) -> Option<(Self, f32)> {
        let mut parts = element.split(';').map(str::trim);
        let primary = parts.next()?.split('-').next()?;
        let language = Self::ALL.into_iter().find(|it| it.tag().eq_ignore_ascii_case(primary))?;
        let weight = parts.find_map(|part| part.strip_prefix("q="));
        let weight = weight.map_or(1.0, |weight| weight.parse().unwrap_or(0.0));
        (weight > 0.0).then_some((language, weight))
    }

    fn bundle(self) -> FluentBundle<FluentResource> {
        let resource = FluentResource::try_new(self.table().2.to_owned())
            .expect("the sentences are embedded, and a test parses them");
        let language = self.tag().parse().expect("the tags of the table are well-formed");
        let mut bundle = FluentBundle::new_concurrent(vec![language]);
        // The isolation marks are for text of mixed direction; none of ours is.
        bundle.set_use_isolating(false);
        bundle.add_resource(resource).expect("no sentence is there twice");
        bundle
    }
}

static BUNDLES: LazyLock<[FluentBundle<FluentResource>; Language::ALL.len()]> =
    LazyLock::new(|| Language::ALL.map(Language::bundle));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_language_is_chosen_by_weight_then_order() {
        use Language::{Chinese, English, French, German, Spanish};
        let cases = [
            ("", English),
            ("de", German),
            ("de-AT,de;q=0.9,en;q=0.8", German),
            ("FR-ca", French),
            ("en;q=0.5, es;q=0.9", Spanish),
            ("ja,zh-TW;q=0.8,en;q=0.7", Chinese),
            ("ja, pt-BR;q=0.9", English),
            ("de;q=0, fr;q=0.1", French),
            ("de;q=NaN, de;q=x, fr;q=0.1", French),
            ("en-GB,fr", English),
            ("*", English),
            (",;,=,-", English),
        ];
        for (header, language) in cases {
            assert_eq!(Language::negotiate(header), language, "{header:?}");
        }
    }

    #[test]
    fn every_language_has_every_sentence() {
        let ids = |language: Language| -> Vec<String> {
            let resource = FluentResource::try_new(language.table().2.to_owned()).unwrap();
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
