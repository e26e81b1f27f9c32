//! The paths that a rule covers, and the comparison of a path with them.
//!
//! A rule covers one path or all paths with a prefix. It is compared with a path in two ways:
//! exactly, for rules that exempt ([`PathRule::is`]), or ignoring a trailing slash, for rules that
//! restrict (`covers_*`), since routers may trim or add it.
//!
//! A request may be compared with many rules, and most of them do not match. So the first 16 bytes
//! of a reading and of a rule are kept as integers, and one masked comparison rejects most rules.

/// The paths that a rule covers.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PathRule {
    /// The path or the prefix, as it was written.
    text: String,
    /// Whether the rule covers all paths that begin with `text`, rather than this path alone.
    is_prefix: bool,
    /// The first 16 bytes of `text` without its trailing slash, padded with zeros.
    head: u128,
    /// The bits of `head` that belong to the text and not to the padding.
    mask: u128,
}

impl PathRule {
    /// Creates a rule that covers exactly this path.
    pub(crate) fn exact(text: String) -> Self {
        Self::new(text, false)
    }

    /// Creates a rule that covers all paths that begin with this text.
    pub(crate) fn prefix(text: String) -> Self {
        Self::new(text, true)
    }

    fn new(text: String, is_prefix: bool) -> Self {
        let begin = without_slash(&text).as_bytes();
        Self { is_prefix, head: head(begin), mask: head_mask(begin.len()), text }
    }

    /// Returns the path or the prefix as it was written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the rule covers all paths with the prefix.
    pub(super) const fn is_prefix(&self) -> bool {
        self.is_prefix
    }

    /// Returns whether the rule covers this path literally, in which a trailing slash counts.
    ///
    /// A rule that exempts uses this: it must not cover a path that its author did not write.
    pub(super) fn is(&self, path: &str) -> bool {
        if self.is_prefix { path.starts_with(&self.text) } else { path == self.text }
    }

    /// Returns whether the rule covers this path if a trailing slash is ignored in both.
    ///
    /// Routers that trim or add the slash take both for the same path. A prefix with a slash
    /// therefore also covers the path without it, but not a longer segment: `/api/` covers `/api`,
    /// and not `/apis`.
    pub(super) fn covers_text(&self, path: &[u8]) -> bool {
        let begin = without_slash(&self.text);
        let Some(rest) = path.strip_prefix(begin.as_bytes()) else { return false };
        match self.is_prefix {
            false => matches!(rest, [] | [b'/']),
            true => begin == self.text || matches!(rest, [] | [b'/', ..]),
        }
    }

    /// Does the same as [`covers_text`](Self::covers_text) for a reading.
    pub(super) fn covers_reading(&self, reading: &Text) -> bool {
        reading.head & self.mask == self.head && self.covers_text(&reading.bytes)
    }

    /// Does the same as [`covers_text`](Self::covers_text) for a path that is decoded while it is
    /// read, no further than the rule is long.
    pub(super) fn covers_escaped(&self, mut path: impl Iterator<Item = u8>) -> bool {
        let begin = without_slash(&self.text);
        if !begin.bytes().all(|byte| path.next() == Some(byte)) {
            return false;
        }
        match self.is_prefix {
            false => path.next().is_none_or(|byte| byte == b'/' && path.next().is_none()),
            true => begin == self.text || path.next().is_none_or(|byte| byte == b'/'),
        }
    }
}

/// Returns the text without one trailing slash.
fn without_slash(text: &str) -> &str {
    text.strip_suffix('/').unwrap_or(text)
}

/// A reading of a path, with its first bytes as an integer.
#[derive(Debug)]
pub(super) struct Text {
    /// The first 16 bytes, padded with zeros.
    head: u128,
    pub(super) bytes: Vec<u8>,
}

impl Text {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { head: head(&bytes), bytes }
    }
}

/// Returns the first 16 bytes of a text as an integer, padded with zeros at the end.
fn head(text: &[u8]) -> u128 {
    if let Some(first) = text.first_chunk() {
        return u128::from_be_bytes(*first);
    }
    let mut first = [0; 16];
    first[..text.len()].copy_from_slice(text);
    u128::from_be_bytes(first)
}

/// Returns the bits of such an integer that belong to a text of `len` bytes.
fn head_mask(len: usize) -> u128 {
    match len {
        0 => 0,
        1..16 => u128::MAX << (128 - 8 * len),
        _ => u128::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_of_a_reading_are_those_of_a_rule_that_it_begins_with() {
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
