//! The limits of a layer as they were written.

use std::collections::HashSet;

use waiting_room_core::{ConfigError, ConfigErrorKind};

use super::limit::RateLimit;

/// Limits, by where they come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    /// From the builder, or by the handle.
    pub(crate) code: Vec<RateLimit>,
    /// From the rules file.
    pub(crate) file: Vec<RateLimit>,
}

impl Limits {
    /// At most so many come from code.
    pub(crate) const MAX: usize = 64;
    /// At most so many keys are remembered by all together: some 600 MB, in the algorithms with one
    /// number.
    pub(crate) const MAX_KEYS: usize = 1 << 24;

    pub(crate) fn iter(&self) -> impl Iterator<Item = &RateLimit> {
        self.code.iter().chain(&self.file)
    }

    /// Checks each limit, that no two have the same name, and what all remember together.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |kind, given: String, expected: &str| {
            Err(ConfigError::new(kind, "rate_limit", given, expected))
        };
        if self.code.len() > Self::MAX {
            let given = format!("{} limits", self.code.len());
            return wrong(ConfigErrorKind::TooLarge, given, "at most 64; put more in a file");
        }
        let mut names = HashSet::new();
        if let Some(twice) = self.iter().find(|limit| !names.insert(limit.name())) {
            let given = format!("{:?} twice", twice.name());
            return wrong(ConfigErrorKind::Contradicts, given, "a name for each limit");
        }
        self.iter().try_for_each(RateLimit::validate)?;
        let keys = self.iter().map(RateLimit::keys).fold(0, usize::saturating_add);
        if keys > Self::MAX_KEYS {
            let given = format!("{keys} for all limits together");
            let expected = format!("at most {}", Self::MAX_KEYS);
            let kind = ConfigErrorKind::TooLarge;
            return Err(ConfigError::new(kind, "max_keys", given, expected));
        }
        Ok(())
    }
}
