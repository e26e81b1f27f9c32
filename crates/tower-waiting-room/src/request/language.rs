//! The language of answers, negotiated from the `Accept-Language` header.

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

    /// Returns the language tag (BCP 47) for the attribute `lang` and the header
    /// `Content-Language`.
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
    /// stands for the default language, but a named language of the same weight takes precedence.
    ///
    /// The crate `fluent-langneg` cannot replace this function, because it ignores weights and
    /// drops tags with an extension.
    pub(crate) fn negotiate(accept_language: &str) -> Self {
        let (mut preferred, mut best, mut rest) = (Self::default(), 0.0, 0.0_f32);
        for element in accept_language.split(',').take(MAX_RANGES) {
            let (range, parameters) = element.split_once(';').unwrap_or((element, ""));
            let weight = weight(parameters);
            if range.trim() == "*" {
                rest = rest.max(weight);
            } else if weight > best
                && let Some(language) = Self::of_range(range)
            {
                (preferred, best) = (language, weight);
            }
        }
        if rest > best { Self::default() } else { preferred }
    }

    /// Returns the language of a range such as `de-AT`, or `None` if the language is not available.
    fn of_range(range: &str) -> Option<Self> {
        let primary = range.trim().split('-').next()?;
        Self::ALL.into_iter().find(|it| it.tag().eq_ignore_ascii_case(primary))
    }
}

/// Returns the weight of a range (RFC 9110 section 12.4.2), from 0 to 1. The default weight is 1. A
/// malformed weight counts as 0, so the range is not acceptable.
fn weight(parameters: &str) -> f32 {
    let mut parameters = parameters.split(';').filter_map(|it| it.split_once('='));
    let weight = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    let weight = weight.map_or(Ok(1.0), |(_, value)| value.trim().parse());
    weight.ok().filter(|weight| (0.0..=1.0).contains(weight)).unwrap_or(0.0)
}

/// The maximum number of ranges of a header that are compared. Browsers send one or two ranges for
/// each language in their settings.
const MAX_RANGES: usize = 64;

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
            ("de-DE-u-co-phonebk", German),
            ("fr; Q=0.4 , es ;q=0.6", Spanish),
            ("de;q=0.3, *;q=0.5", English),
            ("*, de", German),
            ("ja, *;q=0.1, de;q=0.5", German),
            ("de;q=5, de;q=-1, de;q=inf, de;q=, fr;q=0.001", French),
        ];
        for (header, language) in cases {
            assert_eq!(Language::negotiate(header), language, "{header:?}");
        }
    }

    #[test]
    fn no_more_ranges_are_looked_at_than_a_header_may_have() {
        let behind = |ranges: usize| Language::negotiate(&("ja,".repeat(ranges) + "de"));
        assert_eq!(behind(MAX_RANGES - 1), Language::German);
        assert_eq!(behind(MAX_RANGES), Language::English);
    }
}
