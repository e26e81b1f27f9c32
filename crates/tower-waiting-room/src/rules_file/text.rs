//! The text of a file, and where in it something stands.

use std::{
    fmt::Display,
    fs::File,
    io::{self, Read},
    path::Path,
};

use super::error::{Position, RulesFileError};

/// A file that is text. Places in it are offsets in bytes; only an error turns one into a line and
/// a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    path: &'a Path,
    text: &'a str,
}

impl<'a> Text<'a> {
    pub(super) fn new(path: &'a Path, bytes: &'a [u8]) -> Result<Self, RulesFileError> {
        if bytes.len() > MAX_BYTES {
            let message = format!("is longer than {MAX_BYTES} bytes, the most that is read");
            return Err(RulesFileError::whole(path, message));
        }
        // A byte order mark says nothing in UTF-8, and some editors write one.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match str::from_utf8(bytes) {
            Ok(text) => Ok(Self { path, text }),
            Err(error) => {
                let at = error.valid_up_to();
                let valid = String::from_utf8_lossy(&bytes[..at]);
                let before = Text { path, text: &valid };
                Err(before.unreadable(at, format_args!("0x{:02x} is not UTF-8", bytes[at])))
            }
        }
    }

    pub(super) fn as_str(&self) -> &'a str {
        self.text
    }

    /// The line of an offset, from 1 on.
    pub(super) fn line(&self, at: usize) -> usize {
        memchr::memchr_iter(b'\n', self.before(at).as_bytes()).count() + 1
    }

    /// The error for what cannot be read at all.
    pub(super) fn unreadable(&self, at: usize, given: impl Display) -> RulesFileError {
        RulesFileError::at(self.path, self.position(at), given.to_string(), None)
    }

    /// The error for what can be read, but is not what it has to be.
    pub(super) fn wrong(
        &self,
        at: usize,
        given: impl Display,
        expected: impl Display,
    ) -> RulesFileError {
        let expected = Some(expected.to_string());
        RulesFileError::at(self.path, self.position(at), given.to_string(), expected)
    }

    fn position(&self, at: usize) -> Position {
        let column = self.before(at).chars().rev().take_while(|&c| c != '\n').count() + 1;
        Position { line: self.line(at), column }
    }

    fn before(&self, at: usize) -> &'a str {
        self.text.get(..at).unwrap_or(self.text)
    }
}

/// The content of a file, or one byte more than the most that is allowed.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The largest file that is read.
pub(super) const MAX_BYTES: usize = 1 << 20;
