//! The readings of a path: the ways in which servers behind the layer may interpret it.
//!
//! Behind the layer, other programs interpret the path, such as a router, a proxy or a server in
//! another language. All of them are called *servers* here. Some servers decode the path once more,
//! merge slashes, treat backslashes as slashes, resolve dot segments, cut off parameters after a
//! `;`, or trim a trailing slash. The layer cannot know which of these steps a server takes. A
//! limit therefore applies to a request if any server may interpret its path as one that the limit
//! covers, and an exemption applies only if every server interprets the path as exempt.
//!
//! Two kinds of sequences can give a path several readings:
//!
//! - An *escape* is a percent sign with two hexadecimal digits. An escape is clear if it encodes a
//!   letter, a space, a byte of a UTF-8 character or another byte without a special meaning in a
//!   path.
//! - A *detour* is one of the sequences `//`, `/.`, `\`, `;` and, once escapes are decoded, `?`,
//!   `#` and NUL. A server may resolve a detour instead of treating it as literal text.
//!
//! The readings are computed at most once per request, when the first rule needs them. A short
//! path without escapes and detours is recognized at once. In any other path, a single scan counts
//! both, and the counts determine which readings are computed:
//!
//! | path | readings |
//! |---|---|
//! | no escapes, no detours | one: the path itself |
//! | clear escapes only | decoded while a rule is compared, without a copy |
//! | others, up to 16 in all, up to 256 bytes | decoded 0, 1 and 2 times, and each resolved |
//! | others, but more of them or more bytes | not read: limits cover it, exemptions do not |
//! | more than 8 KiB | not read, as above |
//!
//! The bounds limit the work that a client can cause with a crafted path.
//!
//! Letter case is significant, since routers distinguish `/Login` from `/login`.

use std::borrow::Cow;

use super::path_rule::{PathRule, Text};

/// Calls `look` with each reading of `path`. Returns false if the path was not read and may
/// therefore be any path.
pub(crate) fn each_reading(path: &str, look: impl FnMut(&[u8])) -> bool {
    Readings::of(path).each(path, look)
}

/// The readings of one path, computed only as far as needed.
#[derive(Debug)]
pub(super) enum Readings {
    /// The path contains only percent-escapes that all servers decode in the same way, such as
    /// `%20`, and nothing else to resolve.
    Escaped,
    /// The path contains nothing to decode or to resolve, so every server treats it as literal
    /// text.
    One,
    /// The path contains backslashes, parameters, empty segments, segments that begin with a dot,
    /// or ambiguous percent-escapes, so servers may interpret it differently.
    Several(Box<Several>),
    /// The path is too long to be examined, or has too many percent-escapes and other sequences
    /// that servers may interpret differently. Such a path is treated as if it could be any path.
    Unread,
}

/// The readings of a path that servers may interpret differently.
#[derive(Debug)]
pub(super) struct Several {
    /// Whether every reading of the path stays below the prefix that a rule names. This requires a
    /// path that contains no dot segments and no backslashes, before or after decoding, and no
    /// escapes that are broken or encode a delimiter, a control character or `%`. Merging slashes
    /// and cutting off parameters is harmless, since neither leads out of a prefix.
    is_clear: bool,
    /// The readings that differ from the path itself, at most 5.
    texts: Vec<Text>,
}

impl Readings {
    /// The maximum length of a path that is examined at all, in bytes. Common servers reject longer
    /// request targets, and RFC 9110 section 4.1 recommends supporting at least 8 000 bytes.
    const MAX_BYTES: usize = 8 * 1024;

    /// The maximum length of a path for which several readings are computed, in bytes.
    const MAX_ODD_BYTES: usize = 256;

    /// The maximum number of escapes and detours (such as `//` or `;`) in a path for which several
    /// readings are computed.
    const MAX_SIGNS: u32 = 16;

    /// The maximum length of a path that is first checked byte by byte, in bytes. In a longer path,
    /// counting all escapes and detours at once takes less time.
    const SHORT: usize = 64;

    /// Computes the readings of `path`, which must not include a query.
    pub(super) fn of(path: &str) -> Self {
        let path = path.as_bytes();
        if path.len() > Self::MAX_BYTES {
            return Self::Unread;
        }
        if path.len() <= Self::SHORT && is_plain(path) {
            return Self::One;
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

    /// Returns whether a rule covers, or may cover, a reading of `path` other than the path itself.
    /// The caller compares the path itself before any reading is computed.
    #[inline]
    pub(super) fn may_be(&self, path: &str, rule: &PathRule) -> bool {
        !matches!(self, Self::One) && self.may_be_another(path, rule)
    }

    /// Does the same as [`may_be`](Self::may_be), for a path with several readings.
    fn may_be_another(&self, path: &str, rule: &PathRule) -> bool {
        match self {
            Self::Escaped => rule.covers_escaped(Unescaped(path.as_bytes())),
            Self::One => false,
            Self::Several(it) => it.texts.iter().any(|text| rule.covers_reading(text)),
            Self::Unread => true,
        }
    }

    /// Calls `look` with each reading of `path`. Returns false if the path was not read and may
    /// therefore be any path.
    ///
    /// For a path with only clear escapes, the decoded form is the only reading, because clients
    /// have to escape letters outside ASCII.
    fn each(&self, path: &str, mut look: impl FnMut(&[u8])) -> bool {
        match self {
            Self::Escaped => look(&decoded(path.as_bytes())),
            Self::One => look(path.as_bytes()),
            Self::Several(it) => {
                look(path.as_bytes());
                it.texts.iter().for_each(|text| look(&text.bytes));
            }
            Self::Unread => return false,
        }
        true
    }

    /// Returns whether a rule may exempt the path, because every reading of it stays below the
    /// prefix that the rule names.
    pub(super) fn is_clear(&self) -> bool {
        match self {
            Self::Escaped | Self::One => true,
            Self::Several(several) => several.is_clear,
            Self::Unread => false,
        }
    }
}

/// The numbers of escapes (such as `%20`) and of detours (such as `//`) in a path.
#[derive(Clone, Copy, Debug, Default)]
struct Signs {
    /// The number of escapes. Adjacent escapes count as one, since a UTF-8 character can require up
    /// to four escapes.
    escapes: u32,
    /// The number of detours plus the number of unclear escapes. An escape is unclear if it is
    /// malformed or encodes a byte that has a special meaning in a path.
    doubts: u32,
}

impl Signs {
    /// Counts the escapes and detours in `path`.
    ///
    /// No branch depends on the value of a byte, so all paths of the same length take the same
    /// time, and the compiler can process many bytes at once.
    fn of(path: &[u8]) -> Self {
        let mut signs = Self::default();
        // An escape or a detour is recognized by its first byte and up to three bytes after it, so
        // the path is walked as four parallel slices that begin at offsets 0 to 3. The last three
        // bytes of the path have fewer than three successors, and are counted below.
        let whole = path.len().saturating_sub(3);
        let behind = |offset: usize| path[offset.min(path.len())..].chunks(Self::CHUNK);
        let second = behind(1);
        let third = behind(2);
        let fourth = behind(3);
        let chunks = path[..whole].chunks(Self::CHUNK).zip(second).zip(third).zip(fourth);
        for (((first, second), third), fourth) in chunks {
            // A chunk has at most 128 bytes, so its counts fit in a `u8`. With this narrow type,
            // the compiler can count more bytes at once.
            let mut escapes = 0;
            let mut doubts = 0;
            for (((&a, &b), &c), &d) in first.iter().zip(second).zip(third).zip(fourth) {
                escapes += u8::from(is_end_of_escapes(a, d));
                doubts += u8::from(is_doubt(a, b, c));
            }
            signs.escapes += u32::from(escapes);
            signs.doubts += u32::from(doubts);
        }
        // The last three bytes are counted with `NOTHING` in place of the bytes beyond the end.
        let at = |index: usize| path.get(index).copied().unwrap_or(NOTHING);
        for index in whole..path.len() {
            let byte = at(index);
            let behind = at(index + 3);
            signs.escapes += u32::from(is_end_of_escapes(byte, behind));
            signs.doubts += u32::from(is_doubt(byte, at(index + 1), at(index + 2)));
        }
        signs
    }

    /// Returns the total number of escapes and detours. An unclear escape counts twice, once in
    /// each field.
    const fn total(self) -> u32 {
        self.escapes + self.doubts
    }

    /// The number of bytes that are counted in a `u8` before the counts are added up. This number
    /// must not exceed 255.
    const CHUNK: usize = 128;
}

/// Returns whether a path contains neither escapes nor detours. The search ends at the first byte
/// that may belong to one.
fn is_plain(path: &[u8]) -> bool {
    let mut previous = 0;
    path.iter().all(|&byte| {
        let is_odd = ODD[usize::from(byte)] || previous == b'/' && matches!(byte, b'/' | b'.');
        previous = byte;
        !is_odd
    })
}

/// The bytes that belong to an escape or a detour, whatever the bytes around them are.
static ODD: [bool; 256] = {
    let mut odd = [false; 256];
    let bytes = b"%\\;?#\0";
    let mut index = 0;
    while index < bytes.len() {
        odd[bytes[index] as usize] = true;
        index += 1;
    }
    odd
};

// The next four functions use `&` and `|` instead of `&&` and `||`. Without short-circuiting there
// are no branches, so the compiler can evaluate the functions for many bytes at once.

/// Returns whether `byte` begins an escape that no other escape follows directly. `behind` is the
/// byte after this escape.
const fn is_end_of_escapes(byte: u8, behind: u8) -> bool {
    (byte == b'%') & (behind != b'%')
}

/// Returns whether a detour (such as `//`) or an unclear escape (such as `%2f`) begins at `byte`.
const fn is_doubt(byte: u8, next: u8, third: u8) -> bool {
    is_detour(byte, next) | (byte == b'%') & !is_clear_escape(next, third)
}

/// Returns whether a detour (such as `//`, `/.` or `;`) begins at `byte`. A segment that merely
/// begins with a dot counts too. To recognize a dot segment, more bytes have to be examined, which
/// is left to the function that resolves the path.
const fn is_detour(byte: u8, next: u8) -> bool {
    (byte == b'/') & ((next == b'/') | (next == b'.'))
        | (byte == b'\\')
        | (byte == b';')
        | (byte == b'?')
        | (byte == b'#')
        | (byte == 0)
}

/// Returns whether the two bytes after a `%` are hexadecimal digits that encode a byte without a
/// special meaning in a path: any byte except control characters and `#%./;?\`.
const fn is_clear_escape(high: u8, low: u8) -> bool {
    // Setting this bit makes letters lowercase and leaves digits unchanged. The bit would also turn
    // some control characters into digits, but a path contains no control characters.
    let high = high | 0x20;
    let low = low | 0x20;
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
    /// Computes the readings. A server may leave the path encoded or decode it once. Behind a proxy
    /// that also decodes, the path is decoded twice. In each case, the server may resolve the
    /// result or leave it unresolved.
    fn of(path: &[u8]) -> Self {
        let mut it = Self { is_clear: !has_dot_segments(path), texts: Vec::with_capacity(5) };
        it.add_resolved(path);
        if let Cow::Owned(once) = decoded(path) {
            // An escaped delimiter does not mean the same as the delimiter itself (RFC 3986 section
            // 2.2), so a server that decodes an escaped delimiter interprets the path differently
            // from a server that does not.
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

    /// Adds the resolved form of `text`, unless `text` contains nothing to resolve.
    fn add_resolved(&mut self, text: &[u8]) {
        if next_detour(text) < text.len() {
            self.texts.push(Text::new(resolved(text)));
        }
    }
}

/// An iterator over the bytes of a path that decodes escapes as it advances.
struct Unescaped<'a>(&'a [u8]);

impl Iterator for Unescaped<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let (byte, rest) = unescaped(self.0)?;
        self.0 = rest;
        Some(byte)
    }
}

/// Returns the first byte of `text`, decoded if it is escaped, and the rest of `text`. The percent
/// sign of a broken escape is returned unchanged.
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

/// Returns the text with all escapes decoded once, or the text itself if it has no percent sign.
fn decoded(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(mut next) = memchr::memchr(b'%', text) else { return Cow::Borrowed(text) };
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    loop {
        decoded.extend_from_slice(&rest[..next]);
        let Some((byte, behind)) = unescaped(&rest[next..]) else { break };
        decoded.push(byte);
        rest = behind;
        // Escapes often follow one another, and checking the next byte is cheaper than searching.
        next = match rest {
            [b'%', ..] => 0,
            _ => memchr::memchr(b'%', rest).unwrap_or(rest.len()),
        };
    }
    Cow::Owned(decoded)
}

/// Returns the byte that two hexadecimal digits represent, or `None` if either byte is not a
/// hexadecimal digit.
fn byte_of(high: u8, low: u8) -> Option<u8> {
    let high = HEX[usize::from(high)];
    let low = HEX[usize::from(low)];
    ((high | low) < 16).then_some(high << 4 | low)
}

/// The value of each hexadecimal digit, and 16 for any other byte. A lookup table is fastest, and
/// speed matters because an escaped path is decoded again for each rule that it is compared with.
const HEX: [u8; 256] = {
    let mut values = [16; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value as usize] as usize] = value;
        values[b"0123456789ABCDEF"[value as usize] as usize] = value;
        value += 1;
    }
    values
};

/// Returns whether every escape in a path is valid and encodes either a dot or a byte without a
/// special meaning. Escaped dots matter only in dot segments, which are detected after decoding.
fn has_clear_escapes(path: &[u8]) -> bool {
    let is_clear = |high, low| is_clear_escape(high, low) | (high == b'2') & (low | 0x20 == b'e');
    let is_unclear = |window: &[u8]| (window[0] == b'%') & !is_clear(window[1], window[2]);
    let has_broken_end = path[path.len().saturating_sub(2)..].contains(&b'%');
    !has_broken_end && !path.windows(3).fold(false, |any, window| any | is_unclear(window))
}

/// Returns the index of the first detour (such as `//` or `;`), or the length of `text` if there is
/// none.
///
/// The search skips chunks of 32 bytes without branching on individual bytes, and looks at
/// individual bytes only in the chunk that contains a detour. Each chunk is read together with the
/// byte after it, which is needed to recognize `//` and `/.`.
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

/// Returns the path in the form that a server sees if it resolves all detours (such as `//` or
/// `;`).
///
/// Slashes are merged, dot segments are removed (RFC 3986 section 5.2.4), and parameters and a
/// trailing slash are cut off. The path ends at a `?`, a `#` or a NUL, which can appear in it only
/// after decoding. The result begins with a slash, and is at most one byte longer than `text`.
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
            // Once a proxy has decoded the path, the rest is a query or a fragment, or is invisible
            // to a server that uses C strings.
            _ => break,
        };
    }
    if kept.len() > 1 && kept.ends_with(b"/") {
        kept.pop();
    }
    kept
}

/// Resolves the dot segment at the beginning of `rest`, and returns the remaining path. `rest` must
/// begin at the start of a segment. For `..`, the last segment of `kept` is removed. Returns `rest`
/// itself if it does not begin with a dot segment.
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

/// Returns whether a segment of the text is `.` or `..`, with or without parameters. Also returns
/// true if the text contains a backslash, since a server may treat it as a segment separator.
fn has_dot_segments(text: &[u8]) -> bool {
    text.contains(&b'\\')
        || memchr::memchr_iter(b'.', text).any(|at| {
            let is_end = |at: usize| matches!(text.get(at), None | Some(b'/' | b';'));
            let is_begin = at == 0 || text[at - 1] == b'/';
            is_begin && (is_end(at + 1) || text[at + 1] == b'.' && is_end(at + 2))
        })
}

/// The byte that is used in place of bytes beyond the end of the path, since it is part of neither
/// an escape nor a detour.
const NOTHING: u8 = 0xff;

#[cfg(test)]
mod tests;
