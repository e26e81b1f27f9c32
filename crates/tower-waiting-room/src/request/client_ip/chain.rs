//! The hops that a header lists, from the nearest to the farthest.

use std::net::IpAddr;

use http::{
    HeaderValue,
    header::{GetAll, ValueIter},
};

use super::entry;

/// How the entries of a list are written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Syntax {
    /// `Forwarded`: `for=192.0.2.7;proto=https, for="[2001:db8::1]"`
    Elements,
    /// `X-Forwarded-For`: `192.0.2.7, 2001:db8::1`
    Nodes,
}

/// Reads all lines of a header from the end, so that what stands left of an entry cannot change
/// how it is read. An entry that is no address is `None`, and so is everything beyond the bounds.
pub(super) struct Chain<'a> {
    /// What is left of the line that is being read.
    line: Option<&'a [u8]>,
    lines: ValueIter<'a, HeaderValue>,
    syntax: Syntax,
    entries_left: usize,
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

    /// Takes the last entry off the line; `None` if it begins out of bounds.
    fn take_last(&mut self, line: &'a [u8]) -> Option<&'a [u8]> {
        self.entries_left = self.entries_left.checked_sub(1)?;
        let beyond = line.len().saturating_sub(self.bytes_left);
        let within = &line[beyond..];
        let comma = match self.syntax {
            Syntax::Elements => entry::last_comma(within),
            Syntax::Nodes => within.iter().rposition(|byte| *byte == b','),
        };
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

/// How many entries are looked at. No path through the internet has as many proxies.
pub(super) const MAX_ENTRIES: usize = 32;

/// How many bytes are looked at, from the end, over all lines.
const MAX_LEN: usize = 4096;
