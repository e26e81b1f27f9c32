//! Negotiates the form of an answer, based on the `Accept` header (RFC 9110 section 12.5.1).
//!
//! A client can send a new `Accept` header with every request, so in a flood the parser may have to
//! run for every refusal. A general parser that builds a list of media types, such as the one in
//! the `headers-accept` crate, needs 20 000 instructions for a browser's header and a million for a
//! header of 1 KiB. This parser therefore does not build a list. It reads each byte once,
//! recognizes only the four [`Offer`]s, and keeps the best range for each of them. A property test
//! compares its results with those of `headers-accept`.

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
    /// is empty or malformed.
    ///
    /// Parameters other than weights are ignored. The forms have no parameters, so a strict
    /// comparison would reject a range with `charset=utf-8` even though the client accepts the
    /// type.
    pub(super) fn of(accept: &[u8]) -> Option<Self> {
        let (mut parser, mut ranks) = (Parser { rest: accept }, BestRanges::default());
        let mut order = 0;
        parser.skip_spaces();
        while !parser.rest.is_empty() {
            parser.range(order, &mut ranks)?;
            // Empty elements of a list are ignored (RFC 9110 section 5.6.1.2).
            while parser.skip(b',') {}
            parser.skip_spaces();
            order += 1;
        }
        (order > 0).then(|| Self { any: ranks.best(ranks.names_html), data: ranks.best(false) })
    }
}

/// The range that applies to each form: the most specific range that matches the form. Ties are
/// broken by the weight, and then by the other parts of a [`Rank`].
#[derive(Default)]
struct BestRanges {
    /// The rank for each form, in the order of [`Offer::ALL`], or 0 if no range matches the form.
    ranks: [Rank; Offer::ALL.len()],
    /// Whether a range names `text/html`. HTML is offered only in that case, because `*/*` is the
    /// default in HTTP libraries and does not mean that a page is wanted.
    names_html: bool,
}

/// The precedence of a range. From the most to the least significant bits, it contains the
/// specificity, the weight, the number of parameters, and the position in the header. An earlier
/// position gives a higher rank.
type Rank = u64;

impl BestRanges {
    /// Adds a range that matches these forms.
    fn add(&mut self, forms: &[Offer], rank: Rank) {
        for form in forms {
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

/// Combines the properties of a range into its rank.
fn rank(specificity: u64, weight: u16, parameters: u16, order: u16) -> Rank {
    let (weight, parameters) = (u64::from(weight), u64::from(parameters));
    specificity << 48 | weight << 32 | parameters << 16 | u64::from(u16::MAX - order)
}

/// Returns the weight of a range in thousandths.
const fn weight_of(rank: Rank) -> u64 {
    rank >> 32 & 0xffff
}

/// Reads an `Accept` header from start to end. Each method returns `None` if the header is
/// malformed.
struct Parser<'a> {
    /// The part of the header that has not been read.
    rest: &'a [u8],
}

impl<'a> Parser<'a> {
    /// Reads a range with its parameters, up to the comma after it or the end of the header.
    fn range(&mut self, order: u16, ranks: &mut BestRanges) -> Option<()> {
        let r#type = name(self.run(NAME))?;
        self.skip(b'/').then_some(())?;
        let (subtype, suffix) = self.subtype()?;
        let (mut weight, mut parameters) = (MAX_WEIGHT, 0u16);
        while let Some((name, value)) = self.parameter()? {
            if name.eq_ignore_ascii_case(b"q") {
                weight = thousandths(value);
            } else {
                parameters = parameters.saturating_add(1);
            }
        }
        let is_any = subtype == b"*";
        let rank = |specificity| rank(specificity, weight, parameters, order);
        if r#type == b"*" {
            ranks.add(&Offer::ALL, rank(u64::from(!is_any)));
        } else if r#type.eq_ignore_ascii_case(b"text") {
            let is_html = subtype.eq_ignore_ascii_case(b"html");
            ranks.names_html |= is_html;
            if is_any {
                ranks.add(&[Offer::Html, Offer::Text], rank(1));
            } else if is_html && suffix.is_none() {
                ranks.add(&[Offer::Html], rank(2));
            } else if subtype.eq_ignore_ascii_case(b"plain") && suffix.is_none() {
                ranks.add(&[Offer::Text], rank(2));
            }
        } else if r#type.eq_ignore_ascii_case(b"application") {
            let is_json = |it: &[u8]| it.eq_ignore_ascii_case(b"json");
            if is_any {
                ranks.add(&[Offer::Json, Offer::Problem], rank(1));
            } else if is_json(subtype) && suffix.is_none() {
                ranks.add(&[Offer::Json], rank(2));
            } else if subtype.eq_ignore_ascii_case(b"problem") && suffix.is_some_and(is_json) {
                ranks.add(&[Offer::Problem], rank(2));
            }
        }
        Some(())
    }

    /// Reads a subtype and the suffix after its last plus sign.
    fn subtype(&mut self) -> Option<(&'a [u8], Option<&'a [u8]>)> {
        let all = self.rest;
        let mut subtype = self.run(NAME_WITHOUT_PLUS);
        if !self.skip(b'+') {
            return Some((name(subtype)?, None));
        }
        let mut suffix = self.run(NAME_WITHOUT_PLUS);
        while self.skip(b'+') {
            let len = subtype.len() + 1 + suffix.len();
            (subtype, suffix) = (&all[..len], self.run(NAME_WITHOUT_PLUS));
        }
        // `headers-accept` accepts any first character, but no suffix of a single character.
        name(suffix.get(1..)?)?;
        Some((name(subtype)?, Some(suffix)))
    }

    /// Reads the next parameter of a range. The inner value is `None` if the range has no more
    /// parameters. Quotes are part of a value.
    fn parameter(&mut self) -> Option<Option<(&'a [u8], &'a [u8])>> {
        self.skip_spaces();
        if self.is_end_of_range() {
            return Some(None);
        }
        self.skip(b';').then_some(())?;
        self.skip_spaces();
        // A semicolon at the end of a range is ignored.
        if self.is_end_of_range() {
            return Some(None);
        }
        let name = name(self.run(NAME))?;
        self.skip(b'=').then_some(())?;
        let is_quoted = self.rest.first() == Some(&b'"');
        let value = if is_quoted { self.quoted()? } else { self.run(NAME) };
        Some(Some((name, value)))
    }

    /// Reads a quoted string (RFC 9110 section 5.6.4).
    fn quoted(&mut self) -> Option<&'a [u8]> {
        let (all, mut is_escaped) = (self.rest, false);
        for (index, byte) in all.iter().enumerate().skip(1) {
            match byte {
                b'\t' | b' '..=b'~' if is_escaped => is_escaped = false,
                b'"' => {
                    let (quoted, rest) = all.split_at(index + 1);
                    self.rest = rest;
                    return Some(quoted);
                }
                b'\\' => is_escaped = true,
                b'\t' | b' '..=b'~' => {}
                _ => return None,
            }
        }
        None
    }

    /// Reads all consecutive characters of this class.
    fn run(&mut self, class: u8) -> &'a [u8] {
        let mut rest = self.rest;
        while let [byte, after @ ..] = rest
            && CLASSES[usize::from(*byte)] & class != 0
        {
            rest = after;
        }
        let (run, rest) = self.rest.split_at(self.rest.len() - rest.len());
        self.rest = rest;
        run
    }

    /// Skips spaces and tabs.
    fn skip_spaces(&mut self) {
        while let [b' ' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// Skips this byte, and returns whether it was the next byte.
    fn skip(&mut self, byte: u8) -> bool {
        match self.rest {
            [next, rest @ ..] if *next == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn is_end_of_range(&self) -> bool {
        matches!(self.rest, [] | [b',', ..])
    }
}

/// Returns the text if it begins with a letter, a digit or an asterisk and has at most 127
/// characters (RFC 6838 section 4.2). The caller ensures that all characters are in the class
/// [`NAME`].
fn name(text: &[u8]) -> Option<&[u8]> {
    let is_name = matches!(text, [b'*' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z', ..]);
    (is_name && text.len() <= 127).then_some(text)
}

/// Returns a weight in thousandths (RFC 9110 section 12.4.2). A malformed weight counts as 1, the
/// default.
fn thousandths(weight: &[u8]) -> u16 {
    let [a, b, c] = match *weight {
        [b'0'] | [b'0', b'.'] => return 0,
        [b'0', b'.', a] => [a, b'0', b'0'],
        [b'0', b'.', a, b] => [a, b, b'0'],
        [b'0', b'.', a, b, c] => [a, b, c],
        _ => return MAX_WEIGHT,
    };
    if !(a.is_ascii_digit() && b.is_ascii_digit() && c.is_ascii_digit()) {
        return MAX_WEIGHT;
    }
    let [a, b, c] = [a, b, c].map(|digit| u16::from(digit - b'0'));
    100 * a + 10 * b + c
}

/// The highest weight in thousandths. It is also the default.
const MAX_WEIGHT: u16 = 1000;

/// The class of characters in names and in values without quotes (RFC 6838 section 4.2).
const NAME: u8 = 1;

/// The class of all characters in [`NAME`] except the plus sign.
const NAME_WITHOUT_PLUS: u8 = 2;

/// The classes to which each byte belongs.
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0u8;
    loop {
        let is_name = byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_'
            );
        if is_name {
            classes[byte as usize] = if byte == b'+' { NAME } else { NAME | NAME_WITHOUT_PLUS };
        }
        if byte == u8::MAX {
            break classes;
        }
        byte += 1;
    }
};

#[cfg(test)]
mod tests;
