//! The language of answers, negotiated from the `Accept-Language` header.

use super::list::{Element, MAX_WEIGHT, elements};

/// A language in which answers of the layer are available.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// 中文
    Chinese,
    /// English, which is also the default for clients that accept none of the available languages.
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
    /// All available languages, in declaration order.
    pub const ALL: [Self; 5] =
        [Self::Chinese, Self::English, Self::French, Self::German, Self::Spanish];

    /// Returns the language tag (BCP 47) for the `lang` attribute and the `Content-Language`
    /// header.
    #[must_use]
    pub const fn tag(self) -> &'static str {
        match self {
            Self::Chinese => "zh",
            Self::English => "en",
            Self::French => "fr",
            Self::German => "de",
            Self::Spanish => "es",
        }
    }

    /// Returns the language that an `Accept-Language` header prefers (RFC 9110 section 12.5.4).
    ///
    /// Only the primary subtag of a range is compared, so a client that prefers `de-AT` gets
    /// German. If several ranges have the same weight, the first of them is chosen. The range `*`
    /// denotes the default language, but a named language of the same weight takes precedence.
    ///
    /// The `fluent-langneg` crate cannot replace this function, because it ignores weights and
    /// drops tags with an extension. A client can send a new header with every request, so this
    /// function does not allocate memory, and parses weights only for available languages and for
    /// `*`.
    pub(crate) fn negotiate(accept_language: &[u8]) -> Self {
        let (mut preferred, mut best, mut rest) = (Self::default(), 0, 0);
        for Element { name, weight } in elements(accept_language) {
            // A malformed weight counts as 0, so the range is not acceptable.
            let weight = weight.unwrap_or(0);
            if let Some(language) = Self::of_range(name) {
                if weight > best {
                    (preferred, best) = (language, weight);
                }
            } else if name == b"*" {
                rest = rest.max(weight);
            }
            // No other range can have a higher weight.
            if best == MAX_WEIGHT {
                break;
            }
        }
        if rest > best { Self::default() } else { preferred }
    }

    /// Returns the language of a range such as `de-AT`, or `None` if the language is not available.
    fn of_range(range: &[u8]) -> Option<Self> {
        let [first, second] = match range {
            [first, second] | [first, second, b'-', ..] => [first, second],
            _ => return None,
        };
        match [first.to_ascii_lowercase(), second.to_ascii_lowercase()] {
            [b'd', b'e'] => Some(Self::German),
            [b'e', b'n'] => Some(Self::English),
            [b'e', b's'] => Some(Self::Spanish),
            [b'f', b'r'] => Some(Self::French),
            [b'z', b'h'] => Some(Self::Chinese),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::list::MAX_ELEMENTS, *};

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
            ("de-DE-u-co-phonebk", German),
            ("fr; Q=0.4 , es ;q=0.6", Spanish),
            ("de;q=0.3, *;q=0.5", English),
            ("*, de", German),
            ("ja, *;q=0.1, de;q=0.5", German),
            ("de;q=5, de;q=-1, de;q=inf, de;q=, fr;q=0.001", French),
        ];
        for (header, language) in cases {
            assert_eq!(Language::negotiate(header.as_bytes()), language, "{header:?}");
        }
    }

    #[test]
    fn no_more_ranges_are_looked_at_than_a_header_may_have() {
        let behind = |ranges: usize| Language::negotiate(("ja,".repeat(ranges) + "de").as_bytes());
        assert_eq!(behind(MAX_ELEMENTS - 1), Language::German);
        assert_eq!(behind(MAX_ELEMENTS), Language::English);
    }

    /// The naive implementation of [`Language::negotiate`].
    fn expected(accept_language: &str) -> Language {
        let (mut preferred, mut best, mut rest) = (Language::default(), 0.0, 0.0_f32);
        for element in accept_language.split(',').take(MAX_ELEMENTS) {
            let (range, parameters) = element.split_once(';').unwrap_or((element, ""));
            let mut parameters = parameters.split(';').filter_map(|it| it.split_once('='));
            let weight = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
            let is_number = |it: &str| it.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.'));
            let weight = weight.map_or("1", |(_, value)| value.trim());
            let weight = weight.parse().ok().filter(|it| is_number(weight) && *it <= 1.0);
            let weight = weight.unwrap_or(0.0);
            let primary = range.trim().split('-').next().unwrap();
            let language =
                Language::ALL.into_iter().find(|it| it.tag().eq_ignore_ascii_case(primary));
            if range.trim() == "*" {
                rest = rest.max(weight);
            } else if let Some(language) = language.filter(|_| weight > best) {
                (preferred, best) = (language, weight);
            }
        }
        if rest > best { Language::default() } else { preferred }
    }

    fn range() -> impl Strategy<Value = String> {
        let tag = prop_oneof![
            prop::sample::select(vec!["de", "EN", "es-419", "fr ", " zh-Hant-TW", "*", "* ", "ja"])
                .prop_map(str::to_owned),
            "[a-zA-Z* -]{0,5}",
        ];
        let parameter = prop_oneof![
            3 => "; ?[qQ]=(0(\\.[0-9]{0,3})?|1(\\.0{0,3})?)",
            1 => "[;=] ?[a-zq] ?=? ?[a-z0-9.-]{0,4}",
        ];
        (tag, prop::collection::vec(parameter, 0..3))
            .prop_map(|(tag, parameters)| tag + &parameters.concat())
    }

    proptest! {
        #[test]
        fn a_header_means_what_a_naive_parser_says(
            ranges in prop::collection::vec(range(), 0..40),
        ) {
            let header = ranges.join(",");
            prop_assert_eq!(Language::negotiate(header.as_bytes()), expected(&header), "{}", header);
        }
    }
}
