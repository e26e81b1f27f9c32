//! Negotiates the form of an answer, based on the `Accept` header (RFC 9110 section 12.5.1).
//!
//! A client can send a new `Accept` header with every request, so in a flood the parser may have to
//! run for every refusal. A general parser that builds a list of media types, such as the one in
//! the `headers-accept` crate, needs 20 000 instructions for a browser's header and a million for a
//! header of 1 KiB. This parser therefore does not build a list. It looks only for the ranges
//! that match one of the four [`Offer`]s, and skips all others. A property test compares its
//! results with those of `headers-accept`.

use super::list::{MAX_ELEMENTS, MAX_WEIGHT, elements};

/// A form of answer that can be negotiated. If one range accepts several forms, the first of them
/// in this declaration is chosen. For `*/*`, this is JSON unless HTML is offered.
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

impl Offer {
    /// All forms, in declaration order.
    const ALL: [Self; 4] = [Self::Html, Self::Json, Self::Problem, Self::Text];
}

impl Preference {
    /// Determines the preference of a client from its `Accept` header. Returns `None` if the header
    /// contains no range, or an element that has no slash and therefore is not a range.
    ///
    /// Only the first [`MAX_ELEMENTS`] elements of the list are read. Parameters other than weights
    /// are ignored. The forms have no parameters, so a strict comparison would reject a range with
    /// `charset=utf-8` even though the client accepts the type.
    pub(super) fn of(accept: &[u8]) -> Option<Self> {
        let ranges = BestRanges::of(accept)?;
        Some(Self { any: ranges.best(ranges.names_html), data: ranges.best(false) })
    }
}

/// A range that matches a form.
struct Range {
    /// Whether the range is `*/*` (0), has a subtype of `*` (1), or is a single type (2).
    specificity: u64,
    forms: &'static [Offer],
}

impl Range {
    /// Returns the range with this name, or `None` if it matches no form.
    fn of(name: &[u8]) -> Option<Self> {
        use Offer::{Html, Json, Problem, Text};
        // Names are compared only with those of the same length, because comparisons that ignore
        // case are slow.
        let (only, specificity, forms): (&[u8], _, &[_]) = match name.len() {
            3 => (b"*/*", 0, &Offer::ALL),
            6 => (b"text/*", 1, &[Html, Text]),
            9 => (b"text/html", 2, &[Html]),
            10 => (b"text/plain", 2, &[Text]),
            13 => (b"application/*", 1, &[Json, Problem]),
            16 => (b"application/json", 2, &[Json]),
            24 => (b"application/problem+json", 2, &[Problem]),
            _ => return None,
        };
        name.eq_ignore_ascii_case(only).then_some(Self { specificity, forms })
    }
}

/// The range that applies to each form: the most specific range that matches the form. Ties are
/// broken by the weight, and then by the position in the header.
#[derive(Default)]
struct BestRanges {
    /// The rank for each form, in the order of [`Offer::ALL`], or 0 if no range matches the form.
    ranks: [Rank; Offer::ALL.len()],
    /// Whether a range names `text/html`. HTML is offered only in that case, because `*/*` is the
    /// default in HTTP libraries and does not mean that a page is wanted.
    names_html: bool,
}

/// The precedence of a range. From the most to the least significant bits, it contains the
/// specificity, the weight, and the position in the header. An earlier position gives a higher
/// rank.
type Rank = u64;

impl BestRanges {
    /// Reads a header. The result is the same as that of [`Preference::of`].
    fn of(accept: &[u8]) -> Option<Self> {
        let (mut ranges, mut is_empty) = (Self::default(), true);
        for (position, element) in elements(accept).enumerate() {
            if let Some(range) = Range::of(element.name) {
                // A malformed weight counts as 1, the default.
                ranges.add(range, element.weight.unwrap_or(MAX_WEIGHT), position);
                is_empty = false;
            } else if element.name.contains(&b'/') {
                is_empty = false;
            } else if !element.name.is_empty() {
                return None;
            }
        }
        (!is_empty).then_some(ranges)
    }

    /// Adds the range at this position.
    fn add(&mut self, range: Range, weight: u16, position: usize) {
        self.names_html |= range.forms == [Offer::Html];
        let earliness = (MAX_ELEMENTS - position) as u64;
        let rank = range.specificity << 32 | u64::from(weight) << 16 | earliness;
        for form in range.forms {
            let best = &mut self.ranks[*form as usize];
            *best = rank.max(*best);
        }
    }

    /// Returns the form with the highest weight. Ties are broken by the highest rank.
    fn best(&self, offers_html: bool) -> Option<Offer> {
        let offers = if offers_html { &Offer::ALL[..] } else { &Offer::ALL[1..] };
        let ranks = offers.iter().map(|form| (self.ranks[*form as usize], *form));
        let weighted = ranks.map(|(rank, form)| (weight_of(rank), rank, form));
        let accepted = weighted.filter(|(weight, ..)| *weight > 0);
        // If several maxima are equal, `max_by_key` returns the last of them.
        accepted.rev().max_by_key(|(weight, rank, _)| (*weight, *rank)).map(|(.., form)| form)
    }
}

/// Returns the weight of a range in thousandths.
const fn weight_of(rank: Rank) -> u64 {
    rank >> 16 & 0xffff
}

#[cfg(test)]
mod tests;
