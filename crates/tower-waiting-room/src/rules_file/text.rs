//! The text of a file, and positions in this text.

use std::{
    fmt::Display,
    fs::File,
    io::{self, Read},
    path::Path,
};

use super::error::{Position, RulesFileError};

/// The content of a file as text.
///
/// Positions are byte offsets. These offsets are converted to lines and columns only for rules and
/// errors, because each conversion scans all of the preceding text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    path: &'a Path,
    /// The content, without a byte order mark.
    text: &'a str,
}

impl<'a> Text<'a> {
    /// Checks that bytes are UTF-8 text of an acceptable length.
    ///
    /// # Errors
    ///
    /// Returns an error if there are more than [`MAX_BYTES`] bytes, or if the bytes are not UTF-8.
    pub(super) fn new(path: &'a Path, bytes: &'a [u8]) -> Result<Self, RulesFileError> {
        if bytes.len() > MAX_BYTES {
            let message = format!("is longer than the limit of {MAX_BYTES} bytes");
            return Err(RulesFileError::whole(path, message));
        }
        // A byte order mark carries no information in UTF-8, but some editors write one.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match str::from_utf8(bytes) {
            Ok(text) => Ok(Self { path, text }),
            Err(error) => {
                let at = error.valid_up_to();
                let valid = String::from_utf8_lossy(&bytes[..at]);
                // The text before the first invalid byte is enough to compute the position of that
                // byte.
                let before = Text { path, text: &valid };
                Err(before.unreadable(at, format_args!("0x{:02x} is not UTF-8", bytes[at])))
            }
        }
    }

    /// Returns the text, for a parser.
    pub(super) fn as_str(&self) -> &'a str {
        self.text
    }

    /// Returns the line number of an offset, starting at 1.
    pub(super) fn line(&self, at: usize) -> usize {
        memchr::memchr_iter(b'\n', self.before(at).as_bytes()).count() + 1
    }

    /// Returns the error for text that cannot be parsed at `at`.
    pub(super) fn unreadable(&self, at: usize, given: impl Display) -> RulesFileError {
        RulesFileError::at(self.path, self.position(at), given.to_string(), None)
    }

    /// Returns the error for a value at `at` that was parsed, but is not valid.
    pub(super) fn wrong(
        &self,
        at: usize,
        given: impl Display,
        expected: impl Display,
    ) -> RulesFileError {
        let expected = Some(expected.to_string());
        RulesFileError::at(self.path, self.position(at), given.to_string(), expected)
    }

    /// Returns the position of an offset. The column counts characters, as editors do.
    fn position(&self, at: usize) -> Position {
        let column = self.before(at).chars().rev().take_while(|&c| c != '\n').count() + 1;
        Position { line: self.line(at), column }
    }

    /// Returns the text before an offset. If a parser reports an offset beyond the end or inside a
    /// character, the whole text is returned.
    fn before(&self, at: usize) -> &'a str {
        self.text.get(..at).unwrap_or(self.text)
    }
}

/// Returns the content of a file, truncated to one byte more than the maximum size.
///
/// The extra byte reveals that a file is too long, so a huge file is not read into memory.
///
/// # Errors
///
/// Returns an error if the file cannot be opened or read.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The maximum size of a file: 1 MiB.
pub(super) const MAX_BYTES: usize = 1 << 20;
