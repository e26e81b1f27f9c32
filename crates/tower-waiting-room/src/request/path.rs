//! The readings of a path: what the servers behind the layer may take it for.
//!
//! Behind the layer a path is read by others: a router, a proxy, a server in another language. Some
//! decode it once more, join slashes, take backslashes for slashes, resolve dot segments, cut off
//! what follows a `;`, or trim the slash at its end. Nothing tells which of them do, so a limit
//! applies to a request if any reader may take its path for one that is meant, and an exemption only
//! if all readers must.
//!
//! The readings are found once for a request, when the first rule asks for them. One scan counts
//! the *signs* of several readings, and decides how much work the path is worth:
//!
//! | path | readings |
//! |---|---|
//! | no escapes, no detours | one: the path itself |
//! | escapes of letters, spaces or UTF-8 alone | decoded while a rule compares, without a copy |
//! | a few other signs, in up to 256 bytes | the path decoded once and twice, each of the three with its detours taken |
//! | more signs, or more than 256 bytes with some, or more than 8 KiB | not read: a limit on some paths covers it, no exemption does |
//!
//! Letters of another case are another path: routers tell `/Login` from `/login`.

use std::borrow::Cow;

use super::path_rule::{PathRule, Text};

/// How a path may be read.
#[derive(Debug)]
pub(super) enum Readings {
    /// Its escapes stand for bytes without a meaning of their own, and decoders agree about it.
    Escaped,
    /// Every reader takes it for what it is.
    One,
    /// Readers differ.
    Several(Box<Several>),
    /// It is too long, or too odd, to be read in every way.
    Unread,
}

#[derive(Debug)]
pub(super) struct Several {
    /// Whether all readings lead to one place.
    is_clear: bool,
    /// The readings that differ from the path itself.
    texts: Vec<Text>,
}

impl Readings {
    /// The longest path that is taken for what it is, in bytes. Common servers refuse longer
    /// targets, and RFC 9110 section 4.1 recommends to support 8000 bytes.
    const MAX_BYTES: usize = 8 * 1024;

    /// The longest path that is read in several ways, in bytes.
    const MAX_ODD_BYTES: usize = 256;

    /// The number of signs up to which a path is read in several ways.
    const MAX_SIGNS: u32 = 16;

    /// The readings of `path`, without its query.
    pub(super) fn of(path: &str) -> Self {
        let path = path.as_bytes();
        if path.len() > Self::MAX_BYTES {
            return Self::Unread;
        }
        match Signs::of(path) {
            Signs { escapes: 0, doubts: 0 } => Self::One,
            Signs { doubts: 0, .. } => Self::Escaped,
            signs if path.len() > Self::MAX_ODD_BYTES || signs.total() > Self::MAX_SIGNS => {
                Self::Unread
            }
            _ => Self::Several(Box::new(Several::of(path))),
        }
    }

    /// Whether a rule is about any reading of `path` but the path itself, or may be.
    pub(super) fn may_be(&self, path: &str, rule: &PathRule) -> bool {
        match self {
            Self::Escaped => rule.covers_escaped(Unescaped(path.as_bytes())),
            Self::One => false,
            Self::Several(it) => it.texts.iter().any(|text| rule.covers_reading(text)),
            Self::Unread => true,
        }
    }

    /// Whether every reader arrives at one place.
    pub(super) fn is_clear(&self) -> bool {
        match self {
            Self::Escaped | Self::One => true,
            Self::Several(several) => several.is_clear,
            Self::Unread => false,
        }
    }
}

/// What tells that a path has several readings, counted.
#[derive(Clone, Copy, Debug, Default)]
struct Signs {
    /// Escapes, of which several in a row count as one.
    escapes: u32,
    /// Detours, and escapes that are broken or stand for a byte with a meaning in a path.
    doubts: u32,
}

impl Signs {
    /// Counts without a branch on any byte, so that no path is slower than another of its length.
    fn of(path: &[u8]) -> Self {
        let mut signs = Self::default();
        // Each byte is looked at with the three behind it, and the last three by themselves.
        let whole = path.len().saturating_sub(3);
        let behind = |offset: usize| path[offset.min(path.len())..].chunks(Self::CHUNK);
        let (second, third, fourth) = (behind(1), behind(2), behind(3));
        let chunks = path[..whole].chunks(Self::CHUNK).zip(second).zip(third).zip(fourth);
        for (((first, second), third), fourth) in chunks {
            // A chunk is short enough to be counted in bytes, many of them at once.
            let (mut escapes, mut doubts) = (0, 0);
            for (((&a, &b), &c), &d) in first.iter().zip(second).zip(third).zip(fourth) {
                escapes += u8::from(is_end_of_escapes(a, d));
                doubts += u8::from(is_doubt(a, b, c));
            }
            signs.escapes += u32::from(escapes);
            signs.doubts += u32::from(doubts);
        }
        let at = |index: usize| path.get(index).copied().unwrap_or(NOTHING);
        for index in whole..path.len() {
            let (byte, behind) = (at(index), at(index + 3));
            signs.escapes += u32::from(is_end_of_escapes(byte, behind));
            signs.doubts += u32::from(is_doubt(byte, at(index + 1), at(index + 2)));
        }
        signs
    }

    const fn total(self) -> u32 {
        self.escapes + self.doubts
    }

    const CHUNK: usize = 128;
}

// These four take no shortcuts (`&` and `|`), which lets the compiler count many bytes at once.

/// Whether an escape begins here, and none where it ends.
const fn is_end_of_escapes(byte: u8, behind: u8) -> bool {
    (byte == b'%') & (behind != b'%')
}

/// Whether readers may differ about what begins here.
const fn is_doubt(byte: u8, next: u8, third: u8) -> bool {
    is_detour(byte, next) | (byte == b'%') & !is_clear_escape(next, third)
}

/// Whether a reader may take another way than the text says from here on. That a segment only
/// begins with a dot is enough.
const fn is_detour(byte: u8, next: u8) -> bool {
    (byte == b'/') & ((next == b'/') | (next == b'.'))
        | (byte == b'\\')
        | (byte == b';')
        | (byte == b'?')
        | (byte == b'#')
        | (byte == 0)
}

/// Whether the two bytes behind a `%` are the digits of a byte that means nothing in a path: not of
/// a control character, and of none of `#%./;?\`.
const fn is_clear_escape(high: u8, low: u8) -> bool {
    // Digits have this bit already, and letters become small; a path has no control characters.
    let (high, low) = (high | 0x20, low | 0x20);
    let is_digit = (low.wrapping_sub(b'0') < 10) | (low.wrapping_sub(b'a') < 6);
    let is_clear = (high == b'2') & (low != b'3') & (low != b'5') & (low != b'e') & (low != b'f')
        | (high == b'3') & (low != b'b') & (low != b'f')
        | (high == b'4')
        | (high == b'5') & (low != b'c')
        | (high == b'6')
        | (high == b'7') & (low != b'f')
        | (high == b'8')
        | (high == b'9')
        | (high.wrapping_sub(b'a') < 6);
    is_digit & is_clear
}

impl Several {
    /// Readers decode a path once or, behind a proxy that decodes too, twice; and then take the
    /// detours in what they have, or do not.
    fn of(path: &[u8]) -> Self {
        let mut it = Self { is_clear: !has_dot_segments(path), texts: Vec::with_capacity(5) };
        it.add_resolved(path);
        if let Cow::Owned(once) = decoded(path) {
            // An escape of a byte with a meaning has another meaning (RFC 3986 section 2.2).
            it.is_clear &= has_clear_escapes(path) && !has_dot_segments(&once);
            it.add_resolved(&once);
            if let Cow::Owned(twice) = decoded(&once) {
                it.add_resolved(&twice);
                it.texts.push(Text::new(twice));
            }
            it.texts.push(Text::new(once));
        }
        it
    }

    fn add_resolved(&mut self, text: &[u8]) {
        if next_detour(text) < text.len() {
            self.texts.push(Text::new(resolved(text)));
        }
    }
}

/// A text whose escapes are decoded as it is read.
struct Unescaped<'a>(&'a [u8]);

impl Iterator for Unescaped<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let (byte, rest) = unescaped(self.0)?;
        self.0 = rest;
        Some(byte)
    }
}

/// The byte that a text begins with, decoded if it is escaped, and what follows. A broken escape is
/// a percent sign.
fn unescaped(text: &[u8]) -> Option<(u8, &[u8])> {
    let (&byte, rest) = text.split_first()?;
    if byte == b'%'
        && let [high, low, rest @ ..] = rest
        && let Some(byte) = byte_of(*high, *low)
    {
        return Some((byte, rest));
    }
    Some((byte, rest))
}

/// The text with its escapes decoded.
fn decoded(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(mut next) = memchr::memchr(b'%', text) else { return Cow::Borrowed(text) };
    let (mut decoded, mut rest) = (Vec::with_capacity(text.len()), text);
    loop {
        decoded.extend_from_slice(&rest[..next]);
        let Some((byte, behind)) = unescaped(&rest[next..]) else { break };
        decoded.push(byte);
        rest = behind;
        // The next escape is often near, where a search costs more than a look.
        next = match rest {
            [b'%', ..] => 0,
            _ => memchr::memchr(b'%', rest).unwrap_or(rest.len()),
        };
    }
    Cow::Owned(decoded)
}

/// The byte that two hexadecimal digits stand for.
fn byte_of(high: u8, low: u8) -> Option<u8> {
    let (high, low) = (HEX[usize::from(high)], HEX[usize::from(low)]);
    ((high | low) < 16).then_some(high << 4 | low)
}

/// The value of each hexadecimal digit, and 16 for any other byte.
const HEX: [u8; 256] = {
    let (mut values, mut value) = ([16; 256], 0);
    while value < 16 {
        values[b"0123456789abcdef"[value as usize] as usize] = value;
        values[b"0123456789ABCDEF"[value as usize] as usize] = value;
        value += 1;
    }
    values
};

/// Whether every escape in a path stands for a byte without a meaning, or for a dot.
fn has_clear_escapes(path: &[u8]) -> bool {
    let is_clear = |high, low| is_clear_escape(high, low) | (high == b'2') & (low | 0x20 == b'e');
    let is_unclear = |it: &[u8]| (it[0] == b'%') & !is_clear(it[1], it[2]);
    let has_broken_end = path[path.len().saturating_sub(2)..].contains(&b'%');
    !has_broken_end && !path.windows(3).fold(false, |any, it| any | is_unclear(it))
}

/// Where the first detour begins; the length of the text if there is none.
fn next_detour(text: &[u8]) -> usize {
    let mut begin = 0;
    while let Some(chunk) = text.get(begin..begin + 33) {
        let pairs = chunk.iter().zip(&chunk[1..]);
        if pairs.fold(false, |any, (&byte, &next)| any | is_detour(byte, next)) {
            break;
        }
        begin += 32;
    }
    let at = |index: usize| text.get(index).copied().unwrap_or(NOTHING);
    (begin..text.len()).find(|&index| is_detour(at(index), at(index + 1))).unwrap_or(text.len())
}

/// The text that is left once the detours in it are taken: slashes are joined, dot segments
/// resolved (RFC 3986 section 5.2.4), parameters cut off, and slashes at the end.
fn resolved(text: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len() + 1);
    kept.push(b'/');
    let mut rest = behind_dots(text, &mut kept);
    loop {
        let (plain, detour) = rest.split_at(next_detour(rest));
        match plain.strip_prefix(b"/") {
            Some(plain) if kept.ends_with(b"/") => kept.extend_from_slice(plain),
            _ => kept.extend_from_slice(plain),
        }
        rest = match detour {
            [b'/' | b'\\', behind @ ..] => {
                if !kept.ends_with(b"/") {
                    kept.push(b'/');
                }
                behind_dots(behind, &mut kept)
            }
            [b';', parameter @ ..] => {
                let ends = |byte: &u8| matches!(byte, b'/' | b'\\' | b'?' | b'#' | 0);
                &parameter[parameter.iter().position(ends).unwrap_or(parameter.len())..]
            }
            // Where a proxy decodes, what follows is no part of the path any more.
            _ => break,
        };
    }
    if kept.len() > 1 && kept.ends_with(b"/") {
        kept.pop();
    }
    kept
}

/// What follows the dot segment that `rest` begins with, once it is taken; `rest` if there is none.
fn behind_dots<'a>(rest: &'a [u8], kept: &mut Vec<u8>) -> &'a [u8] {
    let dots = match rest {
        [b'.', b'.', ..] => 2,
        [b'.', ..] => 1,
        _ => return rest,
    };
    if !matches!(rest.get(dots), None | Some(b'/' | b'\\' | b';' | b'?' | b'#' | 0)) {
        return rest;
    }
    if dots == 2 {
        kept.pop();
        kept.truncate(memchr::memrchr(b'/', kept).unwrap_or(0));
        kept.push(b'/');
    }
    &rest[dots..]
}

/// Whether a segment is `.` or `..`, with parameters or without.
fn has_dot_segments(text: &[u8]) -> bool {
    text.contains(&b'\\')
        || memchr::memchr_iter(b'.', text).any(|at| {
            let is_end = |at: usize| matches!(text.get(at), None | Some(b'/' | b';'));
            let is_begin = at == 0 || text[at - 1] == b'/';
            is_begin && (is_end(at + 1) || text[at + 1] == b'.' && is_end(at + 2))
        })
}

/// Stands for the byte behind the last: neither part of an escape nor of a detour.
const NOTHING: u8 = 0xff;

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(path: &str) -> Vec<String> {
        match Readings::of(path) {
            Readings::Several(it) => {
                it.texts.into_iter().map(|text| String::from_utf8(text.bytes).unwrap()).collect()
            }
            _ => Vec::new(),
        }
    }

    #[test]
    fn what_is_left_of_a_path_ends_without_a_slash() {
        for (path, left) in [
            ("/a//b", "/a/b"),
            ("/a/b/..", "/a"),
            ("/a/b/.", "/a/b"),
            ("/a\\b\\", "/a/b"),
            ("/a;b=c/d;e", "/a/d"),
            ("/a/..;/b", "/b"),
            ("/a?b/c", "/a"),
            ("/a/bc/../../../d", "/d"),
            ("/..", "/"),
            ("//", "/"),
            ("", "/"),
            ("a/../b", "/b"),
            ("..\\a/.well-known", "/a/.well-known"),
            ("/a/;/b", "/a/b"),
            ("/a/;b", "/a"),
            ("/a/...//..b/..", "/a/..."),
        ] {
            assert_eq!(String::from_utf8(resolved(path.as_bytes())).unwrap(), left, "{path}");
        }
    }

    #[test]
    fn an_ordinary_path_has_one_reading() {
        for path in ["/", "", "*", "/login", "/login/", "/a..b/c.css", "/%ff", "/a%20b%e4%Bd"] {
            let is_one = matches!(Readings::of(path), Readings::One | Readings::Escaped);
            assert!(is_one && Readings::of(path).is_clear(), "{path}");
        }
    }

    #[test]
    fn a_path_is_decoded_twice_and_not_more_often() {
        assert_eq!(texts("/%2fl"), ["/l", "//l"]);
        assert_eq!(texts("/%256c"), ["/l", "/%6c"]);
        assert_eq!(texts("/%25256c"), ["/%6c", "/%256c"]);
        assert_eq!(texts("/%2%zz%"), ["/%2%zz%", "/%2%zz%"]);
    }

    #[test]
    fn an_escape_is_clear_if_it_stands_for_a_byte_without_a_meaning() {
        for byte in 0..=u8::MAX {
            let is_clear = !byte.is_ascii_control() && !b"#%./;?\\".contains(&byte);
            for escape in [format!("%{byte:02x}"), format!("%{byte:02X}")] {
                let [_, high, low] = *escape.as_bytes() else { panic!("{escape}") };
                assert_eq!(is_clear_escape(high, low), is_clear, "{escape}");
            }
        }
        for broken in [b"4g", b"g4", b"4/", b"4:", b"/4", b"4 ", b"%4"] {
            assert!(!is_clear_escape(broken[0], broken[1]), "{broken:?}");
        }
    }

    #[test]
    fn a_sign_is_seen_wherever_it_stands() {
        for length in [0, 1, 2, 3, 31, 32, 33, 127, 128, 129, 300] {
            for (sign, counted) in
                [("//", 1), ("/.", 1), ("\\", 1), (";", 1), ("%2e", 2), ("%z", 2)]
            {
                for behind in ["", "a", "aaaa"] {
                    let path = format!("{}{sign}{behind}", "a".repeat(length));
                    assert_eq!(Signs::of(path.as_bytes()).total(), counted, "{path}");
                    if !sign.starts_with('%') {
                        assert_eq!(next_detour(path.as_bytes()), length, "{path}");
                    }
                }
            }
        }
        assert_eq!(Signs::of(b"/%E4%BD%A0%41/%42").total(), 2);
    }

    #[test]
    fn the_readings_of_any_path_are_few_and_no_longer_than_it() {
        for unit in ["/.", "/..", "//", "/%252e", "a%2f/.;%25", "\\", ";", "/%25%32%65", "%"] {
            let begin = format!("/{}", "a".repeat(100));
            let (mut times, mut signs) = (1, 0);
            while signs <= Readings::MAX_SIGNS {
                let path = begin.clone() + &unit.repeat(times);
                signs = Signs::of(path.as_bytes()).total();
                match Readings::of(&path) {
                    Readings::Several(it) => {
                        assert!(it.texts.len() <= 5, "{path}");
                        assert!(
                            it.texts.iter().all(|text| text.bytes.len() <= path.len()),
                            "{path}"
                        );
                        assert!(signs <= Readings::MAX_SIGNS, "{path}");
                    }
                    Readings::Unread => assert!(signs > Readings::MAX_SIGNS, "{path}"),
                    other => panic!("{path}: {other:?}"),
                }
                times += 1;
            }
        }
    }
}
