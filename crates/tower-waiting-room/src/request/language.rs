//! The language in which a client is answered.

/// A language in which a visitor can be answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// 中文
    Chinese,
    /// English, also for visitors who read none of these.
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
        match self {
            Self::Chinese => "zh",
            Self::English => "en",
            Self::French => "fr",
            Self::German => "de",
            Self::Spanish => "es",
        }
    }

    /// The language that an `Accept-Language` header prefers (RFC 9110 section 12.5.4).
    ///
    /// By the primary subtag: a client that prefers `de-AT` gets German. The first of equals wins,
    /// and a language that is named wins over `*`, which stands for the default.
    ///
    /// `fluent-langneg` does not do this: it ignores the weights, and drops tags with an extension.
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

    /// The language of a range such as `de-AT`, if it is one of these.
    fn of_range(range: &str) -> Option<Self> {
        let primary = range.trim().split('-').next()?;
        Self::ALL.into_iter().find(|it| it.tag().eq_ignore_ascii_case(primary))
    }
}

/// The weight among the parameters of a range (RFC 9110 section 12.4.2): 1 if there is none, and 0,
/// which is not acceptable, if it is no number from 0 to 1.
fn weight(parameters: &str) -> f32 {
    let mut parameters = parameters.split(';').filter_map(|it| it.split_once('='));
    let weight = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    let weight = weight.map_or(Ok(1.0), |(_, value)| value.trim().parse());
    weight.ok().filter(|weight| (0.0..=1.0).contains(weight)).unwrap_or(0.0)
}

/// At most this many ranges of a header are looked at. Browsers send one for each language in
/// their settings.
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
