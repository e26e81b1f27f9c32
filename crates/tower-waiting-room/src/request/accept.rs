//! Negotiates the form of an answer, based on the `Accept` header (RFC 9110 section 12.5.1).
//!
//! A client can send a new `Accept` header with every request, so in a flood the parser may have to
//! run for every refusal. A general parser that builds a list of media types, such as the one in
//! the `headers-accept` crate, needs 20 000 instructions for a browser's header and a million for a
//! header of 1 KiB. This parser therefore does not build a list. It looks only for the ranges
//! that match one of the four [`Offer`]s, and skips all others. A property test compares its
//! results with those of `headers-accept`.

use super::list::{MAX_ELEMENTS, MAX_WEIGHT, elements};

/// A form of answer that can be negotiated. If one range accepts several forms, the one that is
/// declared first is chosen. For `*/*`, that is JSON unless HTML is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// `text/html`
    Html,
    /// `application/json`
    Json,
    /// `application/problem+json`
    Problem,
    /// `text/plain`
    Text,
}

/// The forms that a client prefers. A field is `None` if the header excludes all forms that the
/// field could contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Preference {
    /// The preferred form. HTML is considered only if the header names it.
    pub(super) any: Option<Offer>,
    /// The preferred form other than HTML.
    pub(super) data: Option<Offer>,
}

impl Preference {
    /// Determines the preference of a client from its `Accept` header. Returns `None` if the header
    /// contains no range, or an element that has no slash and therefore is not a range.
    ///
    /// Only the first [`MAX_ELEMENTS`] elements of the list are read. Parameters other than weights
    /// are ignored. The forms have no parameters, so a strict comparison would reject a range with
    /// `charset=utf-8` even though the client accepts the type.
    pub(super) fn of(accept: &[u8]) -> Option<Self> {
        let ranges = Ranges::of(accept)?;
        // HTML is offered only if a range names it, because `*/*` is the default in HTTP libraries
        // and does not mean that a page is wanted.
        let names_html = ranges.ranks[Range::Html as usize] > 0;
        Some(Self { any: ranges.best(names_html), data: ranges.best(false) })
    }
}

/// A range that matches forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Range {
    /// `*/*`
    Any,
    /// `application/*`
    Application,
    /// `text/html`
    Html,
    /// `application/json`
    Json,
    /// `text/plain`
    Plain,
    /// `application/problem+json`
    Problem,
    /// `text/*`
    Text,
}

impl Range {
    /// The number of ranges.
    const COUNT: usize = 7;

    /// Returns the range with this name, or `None` if it matches no form.
    #[inline]
    fn of(name: &[u8]) -> Option<Self> {
        let (is_named, range) = match name.len() {
            3 => (is(name, b"*/*"), Self::Any),
            6 => (is(name, b"text/*"), Self::Text),
            9 => (is(name, b"text/html"), Self::Html),
            10 => (is(name, b"text/plain"), Self::Plain),
            13 => (is(name, b"application/*"), Self::Application),
            16 => (is(name, b"application/json"), Self::Json),
            24 => (is(name, b"application/problem+json"), Self::Problem),
            _ => return None,
        };
        is_named.then_some(range)
    }
}

/// Returns whether a name is `expected`, which is in lower case. The case of the name is ignored.
///
/// The comparison ignores the bit that distinguishes upper from lower case, in all characters. This
/// is safe, because changing this bit in `*`, `/`, `+` or `-` gives a character that a header
/// cannot contain.
#[inline(always)]
fn is<const LEN: usize>(name: &[u8], expected: &[u8; LEN]) -> bool {
    <[u8; LEN]>::try_from(name).is_ok_and(|name| name.map(|byte| byte | 0x20) == *expected)
}

/// The ranges of a header.
#[derive(Default)]
struct Ranges {
    /// The precedence of each range, or 0 if the header does not contain it.
    ranks: [Rank; Range::COUNT],
}

/// The precedence of a range. From the most to the least significant bits, it contains the weight
/// and the position in the header. An earlier position gives a higher rank.
type Rank = usize;

impl Ranges {
    /// Reads a header. The result is the same as that of [`Preference::of`].
    fn of(accept: &[u8]) -> Option<Self> {
        let mut ranges = Self::default();
        let mut is_empty = true;
        let elements = elements(accept, Range::of);
        for ((element, range), earliness) in elements.zip((1..=MAX_ELEMENTS).rev()) {
            if let Some(range) = range {
                // A malformed weight counts as 1, the default.
                let weight = element.weight.unwrap_or(MAX_WEIGHT);
                let rank = &mut ranges.ranks[range as usize];
                *rank = (*rank).max(usize::from(weight) << WEIGHT | earliness);
                is_empty = false;
            } else if element.name.contains(&b'/') {
                is_empty = false;
            } else if !element.name.is_empty() {
                return None;
            }
        }
        (!is_empty).then_some(ranges)
    }

    /// Returns the form with the highest weight. Ties are broken by the precedence of the range
    /// that applies to the form: the most specific range that matches it, or, among equally
    /// specific ranges, the first in the header.
    fn best(&self, offers_html: bool) -> Option<Offer> {
        let mut best = None;
        let mut highest = [0; 3];
        for (form, [only, group]) in FORMS {
            let ranks = [only, group, Range::Any].map(|range| self.ranks[range as usize]);
            let (specificity, rank) = match ranks {
                [0, 0, rank] => (0, rank),
                [0, rank, _] => (1, rank),
                [rank, ..] => (2, rank),
            };
            let weight = rank >> WEIGHT;
            let order = [weight, specificity, rank];
            if weight > 0 && order > highest && (form != Offer::Html || offers_html) {
                best = Some(form);
                highest = order;
            }
        }
        best
    }
}

/// The lowest bit of the weight in a [`Rank`]. The position occupies the lower bits.
const WEIGHT: u32 = 8;

/// The forms with the ranges that match them, apart from `*/*`.
const FORMS: [(Offer, [Range; 2]); 4] = [
    (Offer::Html, [Range::Html, Range::Text]),
    (Offer::Json, [Range::Json, Range::Application]),
    (Offer::Problem, [Range::Problem, Range::Application]),
    (Offer::Text, [Range::Plain, Range::Text]),
];

#[cfg(test)]
mod tests;
