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
    /// Such as `descriptors[0].rate_limit.unit is "fortnight"`.
    given: String,
    expected: Option<String>,
    source: Option<Arc<io::Error>>,
}

/// A place in a text, for people: both count from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl RulesFileError {
    /// Something at this position is wrong.
    pub(super) fn at(
        path: &Path,
        position: Position,
        given: String,
        expected: Option<String>,
    ) -> Self {
        Self { path: path.to_owned(), position: Some(position), given, expected, source: None }
    }

    /// Something is wrong with the file as a whole.
    pub(super) fn whole(path: &Path, given: String) -> Self {
        Self { path: path.to_owned(), position: None, given, expected: None, source: None }
    }

    pub(super) fn unreadable(path: &Path, error: io::Error) -> Self {
        let given = format!("cannot be read: {error}");
        Self { source: Some(Arc::new(error)), ..Self::whole(path, given) }
    }

    /// The place, and what is wrong there: `limits.yaml:7:13: domain is empty`.
    pub(crate) fn given(&self) -> String {
        let (path, given) = (self.path.display(), &self.given);
        match self.position {
            Some(Position { line, column }) => format!("{path}:{line}:{column}: {given}"),
            None => format!("{path}: {given}"),
        }
    }

    /// What would be right there. None if the file cannot be read as text, YAML or TOML.
    pub(crate) fn expected(&self) -> Option<&str> {
        self.expected.as_deref()
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
        f.write_str(&self.given())?;
        self.expected().map_or(Ok(()), |expected| write!(f, ", expected {expected}"))
    }
}

impl Error for RulesFileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
