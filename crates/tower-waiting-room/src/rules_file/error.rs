//! Why a file is not obeyed.

use std::{
    error::Error,
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A file of rate limits cannot be used.
///
/// The message names the file, the line and the column, the field, what it was given and what it
/// would have to be:
///
/// ```text
/// limits.yaml:7:13: descriptors[0].rate_limit.unit is "fortnight", expected second, minute, …
/// ```
#[derive(Clone, Debug)]
pub(crate) struct RulesFileError {
    path: PathBuf,
    position: Option<Position>,
    message: String,
    source: Option<Arc<io::Error>>,
}

/// A place in a text, for people: both count from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl RulesFileError {
    pub(super) fn at(path: &Path, position: Position, message: String) -> Self {
        Self { path: path.to_owned(), position: Some(position), message, source: None }
    }

    /// Something is wrong with the file as a whole.
    pub(super) fn whole(path: &Path, message: String) -> Self {
        Self { path: path.to_owned(), position: None, message, source: None }
    }

    pub(super) fn unreadable(path: &Path, error: io::Error) -> Self {
        let message = format!("cannot be read: {error}");
        Self { source: Some(Arc::new(error)), ..Self::whole(path, message) }
    }
}

#[cfg(test)]
impl RulesFileError {
    /// The line, from 1 on. None if the whole file is the problem.
    pub(super) fn line(&self) -> Option<usize> {
        self.position.map(|position| position.line)
    }
}

impl fmt::Display for RulesFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.path.display())?;
        if let Some(Position { line, column }) = self.position {
            write!(f, "{line}:{column}:")?;
        }
        write!(f, " {}", self.message)
    }
}

impl Error for RulesFileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
