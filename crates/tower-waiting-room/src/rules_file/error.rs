//! The error for a rules file that could not be applied.
//!
//! An error contains the position, the given value and a description of the valid values. An error
//! occurs if the file cannot be read or parsed, if one of its values is invalid, or if its limits
//! conflict with the limits from code. Only the first mistake in a file is reported.

use std::{
    error::Error,
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use waiting_room_core::ConfigError;

/// The error for a rules file that could not be applied, or that cannot be watched for changes.
///
/// The previous limits stay in effect. The message names the file, the line and the column, the
/// field, the given value and the expected value:
///
/// ```text
/// limits.yaml:7:13: descriptors[0].rate_limit.unit is "fortnight", expected second, minute, …
/// ```
#[derive(Clone)]
pub struct RulesFileError {
    /// The path of the file, as it was configured. It is empty for the limits of a configuration
    /// file, whose path only the application knows.
    path: PathBuf,
    /// The position in the file, or `None` if the error concerns the whole file.
    position: Option<Position>,
    /// The field and its value, such as `descriptors[0].rate_limit.unit is "fortnight"`.
    given: String,
    /// The valid values. `None` if the file cannot be read as text, YAML or TOML, or if this error
    /// wraps another error.
    expected: Option<String>,
    /// The underlying error, shared so that the operator's handle can return clones of this error.
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// A human-readable position in a file. The line and the column start at 1, and the column counts
/// characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl RulesFileError {
    /// Creates an error at a position in the file.
    pub(super) fn at(
        path: &Path,
        position: Position,
        given: String,
        expected: Option<String>,
    ) -> Self {
        Self { path: path.to_owned(), position: Some(position), given, expected, source: None }
    }

    /// Creates an error that concerns the whole file.
    pub(super) fn whole(path: &Path, given: String) -> Self {
        Self { path: path.to_owned(), position: None, given, expected: None, source: None }
    }

    /// Creates the error for a limit of a configuration file.
    pub(super) fn without_text(given: String, expected: String) -> Self {
        Self { expected: Some(expected), ..Self::whole(Path::new(""), given) }
    }

    /// Creates the error for a file that cannot be opened or read.
    pub(super) fn unreadable(path: &Path, error: io::Error) -> Self {
        let given = format!("cannot be read: {error}");
        Self { source: Some(Arc::new(error)), ..Self::whole(path, given) }
    }

    /// Creates the error for a well-formed file whose limits cannot be combined with the limits
    /// from code. For example, a limit from code may have the same name.
    pub(super) fn refused(path: &Path, error: ConfigError) -> Self {
        let given = error.to_string();
        Self { source: Some(Arc::new(error)), ..Self::whole(path, given) }
    }

    /// Creates the error for a file that cannot be watched. The content of the file may be in
    /// effect, but later changes will not be noticed.
    pub(super) fn unwatched(path: &Path, error: io::Error) -> Self {
        let given = format!("cannot be watched: {error}");
        Self { source: Some(Arc::new(error)), ..Self::whole(path, given) }
    }

    /// Returns the path of the file, as configured.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the line of the error, starting at 1, or `None` if the error concerns the whole
    /// file.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.position.map(|position| position.line)
    }

    /// Returns the column of the error in characters, starting at 1, or `None` if the error
    /// concerns the whole file.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.position.map(|position| position.column)
    }

    /// Returns the position and the given value, such as `limits.yaml:7:13: domain is empty`.
    pub(super) fn given(&self) -> String {
        let path = self.path.display();
        let given = &self.given;
        match self.position {
            Some(Position { line, column }) => format!("{path}:{line}:{column}: {given}"),
            None if self.path.as_os_str().is_empty() => given.clone(),
            None => format!("{path}: {given}"),
        }
    }

    /// Returns the valid values at the position, if they are known.
    pub(super) fn expected(&self) -> Option<&str> {
        self.expected.as_deref()
    }
}

impl fmt::Display for RulesFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.given())?;
        self.expected().map_or(Ok(()), |expected| write!(f, ", expected {expected}"))
    }
}

/// Formats the message, because a program whose `main` returns the error prints this form.
impl fmt::Debug for RulesFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for RulesFileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
