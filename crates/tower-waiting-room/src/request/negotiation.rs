//! The negotiation of a language with the `Accept-Language` header (RFC 9110 section 12.5.4).
//!
//! A client can send a new header with every request, so the negotiation does not allocate memory,
//! reads a bounded number of ranges, and splits only ranges of available languages. The
//! `fluent-langneg` crate cannot replace this code, because that crate ignores weights, drops
//! ranges with an extension, and allocates several lists. Tests check the choice between the
//! variants of a language against the table of likely subtags in the `unic-langid` crate.

use std::{cmp::Reverse, sync::LazyLock};

use super::{
    language::Language,
    list::{Element, MAX_WEIGHT, elements},
};

/// The languages between which the clients of one layer can choose.
#[derive(Clone, Debug)]
pub(crate) struct Languages {
    /// The language for clients that accept no other.
    default: Language,
    /// The languages, sorted by their primary subtags. Languages with the same primary subtag are in
    /// the order of preference.
    offers: Vec<AvailableLanguage>,
    /// For each pair of letters, the index of the first language whose primary subtag begins with
    /// this pair, or the number of languages if there is none.
    starts: Box<[u16; LETTERS * LETTERS]>,
}

/// An available language, by the subtags of its tag.
#[derive(Clone, Copy, Debug)]
struct AvailableLanguage {
    primary: Subtag,
    variant: Variant,
    language: Language,
    /// Whether the primary subtag differs from the one in the language's own tag.
    is_alias: bool,
}

impl Languages {
    /// Returns the built-in languages, with English as the default.
    pub(crate) fn built_in() -> &'static Self {
        static BUILT_IN: LazyLock<Languages> = LazyLock::new(|| {
            let mut languages = Languages {
                default: Language::ENGLISH,
                offers: Vec::new(),
                starts: Box::new([0; LETTERS * LETTERS]),
            };
            let aliases = ALIASES.iter().map(|(alias, language)| AvailableLanguage {
                is_alias: true,
                ..AvailableLanguage::new(alias, *language)
            });
            let named = Language::ALL
                .into_iter()
                .map(|language| AvailableLanguage::new(language.tag(), language));
            languages.offers = named.chain(aliases).collect();
            languages.sort();
            languages
        });
        &BUILT_IN
    }

    /// Adds a language, which replaces any language with the same tag.
    pub(crate) fn with(&self, language: Language) -> Self {
        let mut languages = self.clone();
        let replaced = |known: Language| known.tag() == language.tag();
        if replaced(self.default) {
            languages.default = language;
        }
        let mut is_new = true;
        for offer in languages.offers.iter_mut().filter(|offer| replaced(offer.language)) {
            offer.language = language;
            is_new = false;
        }
        if is_new {
            let new = AvailableLanguage::new(language.tag(), language);
            languages.offers.retain(|offer| !(offer.is_alias && offer.primary == new.primary));
            languages.offers.push(new);
            languages.sort();
        }
        languages
    }

    /// Sets the fallback language, for clients that accept none of the available languages.
    pub(crate) fn with_default(&self, default: Language) -> Self {
        Self { default, ..self.clone() }
    }

    /// Sorts the languages by their primary subtags, and updates the index.
    fn sort(&mut self) {
        self.offers.sort_by_key(|offer| offer.primary);
        let end = |index: usize| u16::try_from(index).unwrap_or(u16::MAX);
        self.starts.fill(end(self.offers.len()));
        for (index, offer) in self.offers.iter().enumerate().rev() {
            if let Some(letters) = first_letters(offer.primary) {
                self.starts[letters] = end(index);
            }
        }
    }

    /// Returns the language with exactly this tag.
    pub(crate) fn tagged(&self, tag: &str) -> Option<Language> {
        let mut languages = self.offers.iter().map(|offer| offer.language);
        languages.find(|language| language.tag().eq_ignore_ascii_case(tag))
    }

    /// Returns the tags of all languages.
    pub(crate) fn tags(&self) -> Vec<&'static str> {
        let named = self.offers.iter().filter(|offer| !offer.is_alias);
        named.map(|offer| offer.language.tag()).collect()
    }

    /// Returns the language for clients that accept no other.
    pub(crate) const fn default(&self) -> Language {
        self.default
    }

    /// Returns the language that an `Accept-Language` header prefers.
    ///
    /// If several ranges have the same weight, the first of these ranges is chosen. The range `*`
    /// denotes the default language, but a named language of the same weight takes precedence. If
    /// no language is acceptable, the default language is sent nevertheless, which RFC 9110
    /// permits: a page in a foreign language is better than none.
    pub(super) fn negotiate(&self, accept_language: &[u8]) -> Language {
        let mut preferred = None;
        let mut best = 0;
        let mut rest = 0;
        let known = |name: &[u8]| (name == b"*" || self.may_offer(name)).then_some(());
        for (Element { name, weight }, is_known) in elements(accept_language, known) {
            if is_known.is_none() {
                continue;
            }
            // A malformed weight counts as 0, so the range is not acceptable.
            let weight = weight.unwrap_or(0);
            if name == b"*" {
                rest = rest.max(weight);
            } else if weight > best
                && let Some(offers) = self.offers_of(name)
            {
                preferred = Some((offers, name));
                best = weight;
            }
            // No other range can have a higher weight.
            if best == MAX_WEIGHT {
                break;
            }
        }
        match preferred {
            Some((offers, range)) if rest <= best => closest(offers, range),
            _ => self.default,
        }
    }

    /// Returns whether the primary subtag of a range begins like that of an available language.
    #[inline]
    fn may_offer(&self, range: &[u8]) -> bool {
        let letters = primary_subtag(range).and_then(first_letters);
        letters.is_some_and(|letters| usize::from(self.starts[letters]) < self.offers.len())
    }

    /// Returns the language of a range such as `de-AT`, or `None` if the language is not available.
    ///
    /// The primary subtag has to be that of an available language. Of several languages with this
    /// primary subtag, one with the same script is preferred, then one with the same region, and
    /// then the one for all regions.
    #[cfg(test)]
    pub(crate) fn named(&self, range: &[u8]) -> Option<Language> {
        Some(closest(self.offers_of(range)?, range))
    }

    /// Returns the languages, beginning with the first one that has the primary subtag of a range.
    /// Returns `None` if no language has this subtag.
    #[inline]
    fn offers_of(&self, range: &[u8]) -> Option<&[AvailableLanguage]> {
        let primary = primary_subtag(range)?;
        let offers = self.offers.get(usize::from(self.starts[first_letters(primary)?])..)?;
        let offers = &offers[offers.iter().position(|offer| offer.primary >= primary)?..];
        (offers.first()?.primary == primary).then_some(offers)
    }
}

/// Returns the language that suits a range best among the languages at the beginning of `offers`
/// that have the primary subtag of the range.
fn closest(offers: &[AvailableLanguage], range: &[u8]) -> Language {
    let first = &offers[0];
    let primary = offers[0].primary;
    let offers = offers.iter().take_while(|offer| offer.primary == primary);
    let wanted = Variant::new(primary, range.split(|byte| *byte == b'-').skip(1));
    // Of several languages with the highest score, the first is chosen.
    let score = |offer: &&AvailableLanguage| Reverse(offer.variant.score(wanted));
    offers.min_by_key(score).unwrap_or(first).language
}

impl AvailableLanguage {
    fn new(tag: &str, language: Language) -> Self {
        let mut subtags = tag.as_bytes().split(|byte| *byte == b'-');
        let primary = subtags.next().and_then(subtag).unwrap_or_default();
        Self { primary, variant: Variant::new(primary, subtags), language, is_alias: false }
    }
}

/// A subtag in lower case, followed by zeros. All zeros if there is no subtag.
type Subtag = [u8; 4];

/// The subtags that distinguish the variants of a language.
#[derive(Clone, Copy, Debug, Default)]
struct Variant {
    script: Subtag,
    region: Subtag,
    /// The region whose variant this region shares, if this region has no variant of its own.
    parent: Subtag,
}

impl Variant {
    /// Reads the subtags after the primary one. If a script is missing, the region determines it.
    /// Extended languages, variants and extensions are ignored.
    fn new<'a>(primary: Subtag, subtags: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut variant = Self::default();
        for text in subtags.take(MAX_SUBTAGS) {
            let Some(subtag) = subtag(text) else { break };
            match text {
                [_] => break,
                [_, _] | [b'0'..=b'9', _, _] => {
                    variant.region = subtag;
                    break;
                }
                [_, _, _, _] => variant.script = subtag,
                _ => {}
            }
        }
        for likely in LIKELY.iter().filter(|likely| likely.primary == primary) {
            let is_listed = likely.regions.contains(&variant.region);
            if variant.script == Subtag::default() {
                variant.script = if is_listed { likely.script } else { likely.otherwise };
            }
            if is_listed {
                variant.parent = likely.region;
            }
        }
        variant
    }

    /// Returns how well a language with these subtags matches the subtags that a client wants.
    fn score(self, wanted: Self) -> u8 {
        let of_region = match self.region {
            region if region == Subtag::default() => 1,
            region if region == wanted.region => 3,
            region if region == wanted.parent => 2,
            _ => 0,
        };
        if self.script == wanted.script { 4 + of_region } else { of_region }
    }
}

/// Returns the index of the first two letters of a primary subtag, or `None` if it does not begin
/// with two letters.
fn first_letters(primary: Subtag) -> Option<usize> {
    let [first, second] =
        [primary[0], primary[1]].map(|letter| usize::from(letter.wrapping_sub(b'a')));
    (first < LETTERS && second < LETTERS).then_some(first * LETTERS + second)
}

/// Returns the primary subtag of a range in lower case, or `None` if its length is not that of a
/// language subtag.
#[inline]
fn primary_subtag(range: &[u8]) -> Option<Subtag> {
    match *range {
        [a, b] | [a, b, b'-', ..] => subtag(&[a, b]),
        [a, b, c] | [a, b, c, b'-', ..] => subtag(&[a, b, c]),
        [a, b, c, d] | [a, b, c, d, b'-', ..] => subtag(&[a, b, c, d]),
        _ => None,
    }
}

/// Returns a subtag of up to four letters or digits in lower case. The bit that distinguishes lower
/// from upper case is already set in digits, so digits do not change.
#[inline]
fn subtag(text: &[u8]) -> Option<Subtag> {
    let lower = |byte: u8| byte | 0x20;
    Some(match *text {
        [] => [0; 4],
        [a] => [lower(a), 0, 0, 0],
        [a, b] => [lower(a), lower(b), 0, 0],
        [a, b, c] => [lower(a), lower(b), lower(c), 0],
        [a, b, c, d] => [lower(a), lower(b), lower(c), lower(d)],
        _ => return None,
    })
}

/// The variant that the regions of a language imply.
struct Likely {
    primary: Subtag,
    regions: &'static [Subtag],
    /// The script in these regions, and below it the script in all other regions.
    script: Subtag,
    otherwise: Subtag,
    /// The region whose variant these regions share, if they have no variant of their own.
    region: Subtag,
}

/// Languages with several built-in variants. The scripts are from CLDR's `likelySubtags`. The
/// regions of Portuguese are from CLDR's `parentLocales`.
const LIKELY: [Likely; 3] = [
    Likely {
        primary: *b"pt\0\0",
        regions: &[
            *b"ao\0\0", *b"ch\0\0", *b"cv\0\0", *b"fr\0\0", *b"gq\0\0", *b"gw\0\0", *b"lu\0\0",
            *b"mo\0\0", *b"mz\0\0", *b"st\0\0", *b"tl\0\0",
        ],
        script: *b"latn",
        otherwise: *b"latn",
        region: *b"pt\0\0",
    },
    Likely {
        primary: *b"sr\0\0",
        regions: &[*b"me\0\0", *b"ro\0\0", *b"ru\0\0", *b"tr\0\0"],
        script: *b"latn",
        otherwise: *b"cyrl",
        region: [0; 4],
    },
    Likely {
        primary: *b"zh\0\0",
        regions: &[
            *b"au\0\0", *b"bn\0\0", *b"gb\0\0", *b"gf\0\0", *b"hk\0\0", *b"id\0\0", *b"mo\0\0",
            *b"pa\0\0", *b"pf\0\0", *b"ph\0\0", *b"sr\0\0", *b"th\0\0", *b"tw\0\0", *b"us\0\0",
            *b"vn\0\0",
        ],
        script: *b"hant",
        otherwise: *b"hans",
        region: [0; 4],
    },
];

/// Other primary subtags of built-in languages: deprecated and macrolanguage subtags (CLDR,
/// `supplementalMetadata`), and languages that are written in the same way.
const ALIASES: [(&str, Language); 9] = [
    ("cmn", Language::CHINESE_SIMPLIFIED),
    ("in", Language::INDONESIAN),
    ("iw", Language::HEBREW),
    ("mo", Language::ROMANIAN),
    ("nn", Language::NORWEGIAN),
    ("no", Language::NORWEGIAN),
    ("sh", Language::SERBIAN_LATIN),
    ("tl", Language::FILIPINO),
    ("yue", Language::CHINESE_TRADITIONAL),
];

/// The number of letters with which a primary subtag may begin.
const LETTERS: usize = 26;

/// The maximum number of subtags after the primary one that are read.
const MAX_SUBTAGS: usize = 4;

#[cfg(test)]
mod tests;
