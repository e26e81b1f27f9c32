//! The paths that a rule is about, and how a path is compared with them.

/// The paths that a rule is about.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PathRule {
    text: String,
    /// Whether it is about all that begin so, and not only this one.
    is_prefix: bool,
    /// The first bytes of the text without a slash at its end, and which bytes of a [`Text`] to compare
    /// them with.
    head: u128,
    mask: u128,
}

impl PathRule {
    /// This path.
    pub(crate) fn exact(text: String) -> Self {
        Self::new(text, false)
    }

    /// All paths that begin so.
    pub(crate) fn prefix(text: String) -> Self {
        Self::new(text, true)
    }

    fn new(text: String, is_prefix: bool) -> Self {
        let begin = without_slash(&text).as_bytes();
        Self { is_prefix, head: head(begin), mask: head_mask(begin.len()), text }
    }

    /// As it is written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is about all paths that begin so.
    pub(super) const fn is_prefix(&self) -> bool {
        self.is_prefix
    }

    /// Whether it is about exactly this path.
    pub(super) fn is(&self, path: &str) -> bool {
        if self.is_prefix { path.starts_with(&self.text) } else { path == self.text }
    }

    /// Whether it is about this path, or would be with or without a slash at the end: routers that trim
    /// it, or add it, take both for the same.
    pub(super) fn covers_text(&self, path: &[u8]) -> bool {
        let begin = without_slash(&self.text);
        let Some(rest) = path.strip_prefix(begin.as_bytes()) else { return false };
        match self.is_prefix {
            false => matches!(rest, [] | [b'/']),
            true => begin == self.text || matches!(rest, [] | [b'/', ..]),
        }
    }

    /// The same for a reading.
    pub(super) fn covers_reading(&self, reading: &Text) -> bool {
        reading.head & self.mask == self.head && self.covers_text(&reading.bytes)
    }

    /// The same for a path that is decoded no further than it has to be.
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

fn without_slash(text: &str) -> &str {
    text.strip_suffix('/').unwrap_or(text)
}

/// A reading, with its first bytes by themselves: most rules differ from it in those, and many rules
/// may ask.
#[derive(Debug)]
pub(super) struct Text {
    head: u128,
    pub(super) bytes: Vec<u8>,
}

impl Text {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { head: head(&bytes), bytes }
    }
}

/// The first 16 bytes of a text as a number; zeros where it is shorter.
fn head(text: &[u8]) -> u128 {
    if let Some(first) = text.first_chunk() {
        return u128::from_be_bytes(*first);
    }
    let mut first = [0; 16];
    first[..text.len()].copy_from_slice(text);
    u128::from_be_bytes(first)
}

/// The part of such a number that belongs to a text of so many bytes.
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
