//! The language of answers, negotiated from the `Accept-Language` header.

use memchr::memchr;

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
        let mut elements = accept_language;
        for _ in 0..MAX_RANGES {
            let end = memchr(b',', elements).unwrap_or(elements.len());
            let element = without_spaces(&elements[..end]);
            if let Some(language) = Self::of_range(element) {
                let weight = weight(element);
                if weight > best {
                    (preferred, best) = (language, weight);
                }
            } else if let [b'*', after @ ..] = element
                && matches!(without_spaces(after), [] | [b';', ..])
            {
                rest = rest.max(weight(element));
            }
            // No other range can have a higher weight.
            let Some(after) = elements.get(end + 1..).filter(|_| best < MAX_WEIGHT) else { break };
            elements = after;
        }
        if rest > best { Self::default() } else { preferred }
    }

    /// Returns the language of a range such as `de-AT;q=0.9`, or `None` if the language is not
    /// available.
    fn of_range(element: &[u8]) -> Option<Self> {
        let (primary, after) = element.split_at_checked(2)?;
        let language = match [primary[0].to_ascii_lowercase(), primary[1].to_ascii_lowercase()] {
            [b'd', b'e'] => Self::German,
            [b'e', b'n'] => Self::English,
            [b'e', b's'] => Self::Spanish,
            [b'f', b'r'] => Self::French,
            [b'z', b'h'] => Self::Chinese,
            _ => return None,
        };
        let ends = match after {
            [] | [b'-' | b';', ..] => true,
            _ => matches!(without_spaces(after), [] | [b';', ..]),
        };
        ends.then_some(language)
    }
}

/// Returns the weight of a range (RFC 9110 section 12.4.2) in millionths. The default weight is 1.
/// A malformed weight counts as 0, so the range is not acceptable.
fn weight(element: &[u8]) -> u32 {
    let mut rest = element;
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte == b';'
            && let [b'q' | b'Q', after @ ..] = without_spaces(after)
            && let [b'=', value @ ..] = without_spaces(after)
        {
            return millionths(value).unwrap_or(0);
        }
    }
    MAX_WEIGHT
}

/// Returns the rest of a range after spaces and tabs.
fn without_spaces(mut rest: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', after @ ..] = rest {
        rest = after;
    }
    rest
}

/// Parses a decimal number from 0 to 1, without a sign, in millionths. The number may be surrounded
/// by spaces, and ends before a semicolon. Further digits are cut off.
fn millionths(text: &[u8]) -> Option<u32> {
    let (mut value, mut unit, mut has_digits) = (0, MAX_WEIGHT, false);
    let mut rest = without_spaces(text);
    while let [byte, after @ ..] = rest {
        match byte {
            b'0'..=b'9' => {
                let digit = u32::from(byte - b'0') * unit;
                value = if unit == MAX_WEIGHT { 10 * value + digit } else { value + digit };
                unit = if unit == MAX_WEIGHT { unit } else { unit / 10 };
                has_digits = true;
            }
            b'.' if unit == MAX_WEIGHT => unit /= 10,
            b' ' | b'\t' | b';' => break,
            _ => return None,
        }
        if value > MAX_WEIGHT {
            return None;
        }
        rest = after;
    }
    let ends = matches!(without_spaces(rest), [] | [b';', ..]);
    (has_digits && ends).then_some(value)
}

/// The highest weight in millionths.
const MAX_WEIGHT: u32 = 1_000_000;

/// The maximum number of ranges in a header that are compared. Browsers send one or two ranges for
/// each language in their settings.
const MAX_RANGES: usize = 16;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
        assert_eq!(behind(MAX_RANGES - 1), Language::German);
        assert_eq!(behind(MAX_RANGES), Language::English);
    }

    /// The naive implementation of [`Language::negotiate`].
    fn expected(accept_language: &str) -> Language {
        let (mut preferred, mut best, mut rest) = (Language::default(), 0.0, 0.0_f32);
        for element in accept_language.split(',').take(MAX_RANGES) {
            let (range, parameters) = element.split_once(';').unwrap_or((element, ""));
            let mut parameters = parameters.split(';').filter_map(|it| it.split_once('='));
            let weight = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
            let weight = weight.map_or(Ok(1.0), |(_, value)| value.trim().parse());
            let weight = weight.ok().filter(|it| (0.0..=1.0).contains(it)).unwrap_or(0.0);
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
