//! The hops that a forwarding header lists, from the nearest to the farthest.
//!
//! Each proxy appends an entry, so the last entry of the last line is the nearest hop. The lines
//! and the entries are read in reverse, without joining or splitting them first:
//!
//! ```text
//!  x-forwarded-for: 8.8.8.8, 203.0.113.9      third, second
//!  x-forwarded-for: 10.0.0.2                  first
//! ```
//!
//! This file finds the entries. `entry.rs` parses the address in each entry, and `trusted.rs`
//! decides which hops are trusted.

use std::net::IpAddr;

use http::{
    HeaderValue,
    header::{GetAll, ValueIter},
};

use memchr::memrchr;

use super::entry;

/// The notation of the entries in a forwarding header.
#[derive(Clone, Copy, Debug)]
pub(super) enum Syntax {
    /// The notation of `Forwarded`, as in `for=192.0.2.7;proto=https, for="[2001:db8::1]"`.
    Elements,
    /// The notation of `X-Forwarded-For`, as in `192.0.2.7, 2001:db8::1`.
    Nodes,
}

/// An iterator over the entries of all lines of a header, from the last to the first.
///
/// Reading from the end guarantees that an entry is never affected by anything to its left, which
/// the client may have written. An item is `None` if the entry is not an address, or if the entry
/// is beyond one of the bounds [`MAX_ENTRIES`] and [`MAX_LEN`]. A `None` item ends the walk along
/// the chain.
pub(super) struct Chain<'a> {
    /// The unread part of the current line; `None` before the first line and between two lines.
    line: Option<&'a [u8]>,
    /// The lines that have not been reached yet.
    lines: ValueIter<'a, HeaderValue>,
    syntax: Syntax,
    /// The number of entries that may still be read.
    entries_left: usize,
    /// The number of bytes that may still be read, over all lines.
    bytes_left: usize,
}

impl<'a> Chain<'a> {
    pub(super) fn new(lines: &GetAll<'a, HeaderValue>, syntax: Syntax) -> Self {
        Self {
            line: None,
            lines: lines.iter(),
            syntax,
            entries_left: MAX_ENTRIES,
            bytes_left: MAX_LEN,
        }
    }

    /// Removes the last entry from `line`, and stores the part of the line before the entry for the
    /// next call. Returns `None` if the entry does not begin within the bounds.
    fn take_last(&mut self, line: &'a [u8]) -> Option<&'a [u8]> {
        self.entries_left = self.entries_left.checked_sub(1)?;
        // Only the part of the line within the bound is searched, so a longer line causes no
        // additional work.
        let most = match self.syntax {
            Syntax::Elements => self.bytes_left.min(MAX_ELEMENT_LEN),
            Syntax::Nodes => self.bytes_left,
        };
        let beyond = line.len().saturating_sub(most);
        let within = &line[beyond..];
        let comma = match self.syntax {
            Syntax::Elements => entry::last_comma(within),
            Syntax::Nodes => memrchr(b',', within),
        };
        // If there is no comma, the entry begins at the start of the line or beyond the bound.
        let Some(comma) = comma else {
            self.bytes_left -= within.len();
            return (beyond == 0).then_some(within);
        };
        self.line = Some(&line[..beyond + comma]);
        self.bytes_left -= within.len() - comma;
        Some(&within[comma + 1..])
    }
}

impl Iterator for Chain<'_> {
    type Item = Option<IpAddr>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = match self.line.take() {
            Some(line) => line,
            None => self.lines.next_back()?.as_bytes(),
        };
        let entry = self.take_last(line);
        Some(entry.and_then(|entry| match self.syntax {
            Syntax::Elements => entry::forwarded_for(entry).and_then(entry::address),
            Syntax::Nodes => entry::address(entry),
        }))
    }
}

/// The maximum number of entries that are read. No real request passes through this many proxies.
pub(super) const MAX_ENTRIES: usize = 32;

/// The maximum length of an element of `Forwarded`, in bytes.
const MAX_ELEMENT_LEN: usize = 256;

/// The maximum number of bytes that are read over all lines, from the end. Reading stops at the first
/// address that is not a trusted proxy's, so only the entries of proxies count.
const MAX_LEN: usize = 1024;
