//! Path rules: the paths that a rule covers, and how a path is compared with a rule.
//!
//! A rule covers either a single path or all paths with a given prefix. Rules that exempt requests
//! are compared exactly ([`PathRule::is`]). Rules that restrict requests ignore a trailing slash
//! (`covers_*`), since routers may trim or add one.
//!
//! A request may be compared with many rules, most of which do not match. The first 16 bytes of
//! each reading and of each rule are therefore also stored as an integer, and one masked comparison
//! rejects most rules.

/// The paths that a rule covers.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PathRule {
    /// The path or the prefix, as configured.
    text: String,
    /// Whether the rule covers all paths that begin with `text`, rather than only the path `text`.
    is_prefix: bool,
    /// The first 16 bytes of `text` without its trailing slash, padded with zeros.
    head: u128,
    /// The bits of `head` that belong to `text`, rather than to the padding.
    mask: u128,
}

impl PathRule {
    /// Creates a rule that covers exactly this path.
    pub(crate) fn exact(text: String) -> Self {
        Self::new(text, false)
    }

    /// Creates a rule that covers all paths that begin with this prefix.
    pub(crate) fn prefix(text: String) -> Self {
        Self::new(text, true)
    }

    fn new(text: String, is_prefix: bool) -> Self {
        let begin = without_slash(&text).as_bytes();
        Self { is_prefix, head: head(begin), mask: head_mask(begin.len()), text }
    }

    /// Returns the path or the prefix, as configured.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the rule covers all paths with a prefix, rather than a single path.
    pub(super) const fn is_prefix(&self) -> bool {
        self.is_prefix
    }

    /// Returns whether the rule covers this path literally, including any trailing slash.
    ///
    /// Rules that exempt requests use this comparison, because they must not cover a path that the
    /// author of the rule did not write.
    pub(super) fn is(&self, path: &str) -> bool {
        if self.is_prefix { path.starts_with(&self.text) } else { path == self.text }
    }

    /// Returns whether the rule covers this path, ignoring a trailing slash in the rule and in the
    /// path.
    ///
    /// Routers that trim or add a trailing slash treat both forms as the same path. A prefix that
    /// ends with a slash therefore also covers the path without the slash, but not a longer
    /// segment: `/api/` covers `/api`, but not `/apis`.
    #[inline]
    pub(crate) fn covers_text(&self, path: &[u8]) -> bool {
        let begin = without_slash(&self.text);
        let Some(rest) = path.strip_prefix(begin.as_bytes()) else { return false };
        if self.is_prefix {
            begin == self.text || matches!(rest, [] | [b'/', ..])
        } else {
            matches!(rest, [] | [b'/'])
        }
    }

    /// Returns the same result as [`covers_text`](Self::covers_text), for a reading of a path.
    pub(super) fn covers_reading(&self, reading: &Text) -> bool {
        reading.head & self.mask == self.head && self.covers_text(&reading.bytes)
    }

    /// Returns the same result as [`covers_text`](Self::covers_text), for a path that is decoded as
    /// it is read. Reading stops as soon as the result is known.
    pub(super) fn covers_escaped(&self, mut path: impl Iterator<Item = u8>) -> bool {
        let begin = without_slash(&self.text);
        if !begin.bytes().all(|byte| path.next() == Some(byte)) {
            return false;
        }
        if self.is_prefix {
            begin == self.text || path.next().is_none_or(|byte| byte == b'/')
        } else {
            path.next().is_none_or(|byte| byte == b'/' && path.next().is_none())
        }
    }
}

/// Returns a path or a prefix without its trailing slash, if it has one.
#[inline]
fn without_slash(text: &str) -> &str {
    text.strip_suffix('/').unwrap_or(text)
}

/// A reading of a path, with its first bytes also stored as an integer.
#[derive(Debug)]
pub(super) struct Text {
    /// The first 16 bytes of the reading, padded with zeros.
    head: u128,
    pub(super) bytes: Vec<u8>,
}

impl Text {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { head: head(&bytes), bytes }
    }
}

/// Returns the first 16 bytes of `text` as an integer, padded with zeros at the end.
fn head(text: &[u8]) -> u128 {
    if let Some(first) = text.first_chunk() {
        return u128::from_be_bytes(*first);
    }
    let mut first = [0; 16];
    first[..text.len()].copy_from_slice(text);
    u128::from_be_bytes(first)
}

/// Returns a mask of the bits that the first `len` bytes occupy in an integer that `head` returns.
fn head_mask(len: usize) -> u128 {
    match len {
        0 => 0,
        1..16 => u128::MAX << (128 - 8 * len),
        _ => u128::MAX,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_ways_to_compare_a_path_agree(
            rule in "/[ab]{0,2}/?",
            path in "/[ab]{0,3}/{0,2}[ab]?",
            is_prefix: bool,
        ) {
            let rule = if is_prefix { PathRule::prefix(rule) } else { PathRule::exact(rule) };
            let expected = rule.covers_text(path.as_bytes());
            prop_assert_eq!(rule.covers_escaped(path.bytes()), expected);
            prop_assert_eq!(rule.covers_reading(&Text::new(path.into_bytes())), expected);
        }
    }

    #[test]
    fn a_reading_starts_with_the_bytes_of_its_matching_rule() {
        let text = "/a/path-of-more-than/sixteen";
        for len in 0..=text.len() {
            let (begin, rest) = text.as_bytes().split_at(len);
            let is_seen = |text: &[u8]| head(text) & head_mask(len) == head(begin);
            assert!(is_seen(text.as_bytes()) && is_seen(begin), "{len}");
            let mut other = text.as_bytes().to_vec();
            if len > 0 {
                other[(len - 1).min(15)] ^= 1;
                assert!(!is_seen(&other), "{len}");
            }
            assert_eq!(is_seen(rest), rest.starts_with(begin), "{len}");
        }
    }
}
