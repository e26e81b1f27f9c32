//! The rules file of a configuration, and its rules as rate limits.
//!
//! A rule of the file becomes a [`RateLimit`] like one from code: its entries become conditions,
//! and the entries without a value also become the key. Reading the file has no other effect;
//! `followed` applies the limits and watches the file.

use std::path::PathBuf;

use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use super::{FileRule, RulesFile, RulesFileError};
use crate::{
    rate::{Condition, RateLimit},
    request::{Key, MissingKey, Part},
};

/// The file that limits are read from, and the meaning of its keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct RulesSource {
    /// The path of the file. Empty if the application named keys but no file, which is refused.
    pub(crate) path: PathBuf,
    /// The keys that the application has named, in addition to the built-in ones.
    pub(crate) descriptors: Vec<Part>,
}

impl RulesSource {
    /// Checks that there is a path, and that every key has exactly one meaning.
    ///
    /// # Errors
    ///
    /// If the path is missing, or if a key of the application has the name of a built-in key or of
    /// another key.
    fn validate(&self) -> Result<(), ConfigError> {
        if self.path.as_os_str().is_empty() {
            let expected = "the path of a rules file, since descriptors name keys for its rules";
            let (kind, field) = (ConfigErrorKind::Missing, "rate_limits_file");
            return Err(ConfigError::new(kind, field, "missing", expected));
        }
        for (index, name) in self.names().enumerate() {
            if Part::named(name).is_some() || self.names().take(index).any(|other| other == name) {
                let (kind, field) = (ConfigErrorKind::Contradicts, "descriptor");
                let expected = "a name that is not built in, and not given twice";
                return Err(ConfigError::new(kind, field, format_args!("{name:?}"), expected));
            }
        }
        Ok(())
    }

    /// Reads the file at start-up, when there are no earlier limits to keep.
    ///
    /// # Errors
    ///
    /// If the source is not valid, or if the file cannot be used. The error contains the position
    /// in the file.
    pub(crate) fn load_first(&self) -> Result<Vec<RateLimit>, ConfigError> {
        self.validate()?;
        self.load().map_err(|error| {
            let expected = error.expected().unwrap_or("a file of rate limits");
            ConfigError::new(
                ConfigErrorKind::Malformed,
                "rate_limits_file",
                error.given(),
                expected,
            )
        })
    }

    /// Reads the file. Rules that limit nothing are left out: they have already taken effect as
    /// exceptions of their neighbours.
    ///
    /// # Errors
    ///
    /// If the file cannot be used. Whether its limits can be kept together with those from code is
    /// not checked here.
    pub(crate) fn load(&self) -> Result<Vec<RateLimit>, RulesFileError> {
        let names: Vec<_> = self.names().collect();
        let file = RulesFile::load(&self.path, &names)?;
        Ok(file.rules.into_iter().filter_map(|rule| self.limit(rule)).collect())
    }

    /// Returns the names that the application gave to its keys.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.descriptors.iter().filter_map(Part::name)
    }

    /// Turns a rule into a limit; `None` for a rule that limits nothing.
    fn limit(&self, rule: FileRule) -> Option<RateLimit> {
        let file_limit = rule.limit?;
        let part = |name: &str| {
            let named = self.descriptors.iter().find(|part| part.name() == Some(name));
            named.cloned().or_else(|| Part::named(name))
        };
        let mut each = Vec::new();
        let mut conditions = Vec::new();
        for entry in rule.entries {
            // Every key is known: the file was read with the same names, and others were refused.
            let part = part(&entry.key)?;
            // Each value is counted by itself, so it is a part of the key.
            if entry.value.is_none() {
                each.push(part.clone());
            }
            conditions.push(Condition { part, is: entry.value, is_not: entry.except });
        }
        // If every entry names its value, all requests that match share one limit.
        let key = if each.is_empty() { Key::global() } else { Key::from(each) };
        // A request without one of the keys does not match the rule, so it is not limited by it.
        let mut limit = RateLimit::new(rule.name, file_limit.quota, key)
            .algorithm(file_limit.algorithm)
            .over_limit(file_limit.over_limit)
            .missing_key(MissingKey::Bypass);
        if let Some(cost) = file_limit.cost {
            limit = limit.cost(cost);
        }
        if let Some(keys) = file_limit.max_keys {
            limit = limit.max_keys(keys);
        }
        limit.conditions = conditions;
        Some(limit)
    }
}
