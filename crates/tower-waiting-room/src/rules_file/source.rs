//! The rules file of a configuration, and the conversion of its rules to rate limits.
//!
//! Each rule in the file becomes a [`RateLimit`], like a limit that is defined in code. The entries
//! of the rule become conditions, and the entries without a value also form the key. Reading the
//! file has no other effect: `followed` applies the limits and watches the file.

use std::path::PathBuf;

use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use super::{FileRule, RulesFile, RulesFileError};
use crate::{
    rate::{Condition, RateLimit},
    request::{Key, MissingKey, Part},
};

/// The file from which limits are read, and the meaning of the keys in this file.
#[derive(Clone, Debug, Default)]
pub(crate) struct RulesSource {
    /// The path of the file. The path is empty if the application has named keys but no file. An
    /// empty path is rejected.
    pub(crate) path: PathBuf,
    /// The keys that the application has named, in addition to the built-in ones.
    pub(crate) descriptors: Vec<Part>,
}

impl RulesSource {
    /// Checks that there is a path, and that every key has exactly one meaning.
    ///
    /// # Errors
    ///
    /// Returns an error if the path is missing, or if a key that the application defines has the
    /// same name as a built-in key or another key.
    fn validate(&self) -> Result<(), ConfigError> {
        if self.path.as_os_str().is_empty() {
            let expected = "the path of a rules file, because the option descriptor is set";
            let kind = ConfigErrorKind::Missing;
            let field = "rate_limits_file";
            return Err(ConfigError::new(kind, field, "missing", expected));
        }
        for (index, name) in self.names().enumerate() {
            if Part::named(name).is_some() || self.names().take(index).any(|other| other == name) {
                let kind = ConfigErrorKind::Contradicts;
                let field = "descriptor";
                let expected = "a name that is neither built in nor given twice";
                return Err(ConfigError::new(kind, field, format_args!("{name:?}"), expected));
            }
        }
        Ok(())
    }

    /// Reads the file at start-up, when there are no earlier limits that could stay in effect.
    ///
    /// # Errors
    ///
    /// Returns an error if the source is not valid, or if the file cannot be used. The error
    /// contains the position in the file.
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

    /// Reads the file. Rules that limit nothing are left out, because they have already become
    /// exceptions to their sibling rules.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be used. This function does not check whether the limits
    /// in the file can be combined with the limits that are defined in code.
    pub(crate) fn load(&self) -> Result<Vec<RateLimit>, RulesFileError> {
        let names: Vec<_> = self.names().collect();
        let file = RulesFile::load(&self.path, &names)?;
        Ok(file.rules.into_iter().filter_map(|rule| self.limit(rule)).collect())
    }

    /// Returns the names that the application gave to its keys.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.descriptors.iter().filter_map(Part::name)
    }

    /// Converts a rule to a limit. Returns `None` for a rule that limits nothing.
    fn limit(&self, rule: FileRule) -> Option<RateLimit> {
        let file_limit = rule.limit?;
        let part = |name: &str| {
            let named = self.descriptors.iter().find(|part| part.name() == Some(name));
            named.cloned().or_else(|| Part::named(name))
        };
        let mut each = Vec::new();
        let mut conditions = Vec::new();
        for entry in rule.entries {
            // Every key is known, because the file was read with the same names, and any other key
            // was rejected.
            let part = part(&entry.key)?;
            // Each value is counted separately, so this part of the request is also part of the
            // limit's key.
            if entry.value.is_none() {
                each.push(part.clone());
            }
            conditions.push(Condition { part, is: entry.value, is_not: entry.except });
        }
        // If every entry names a value, all matching requests share one quota.
        let key = if each.is_empty() { Key::global() } else { Key::from(each) };
        // A request that lacks one of the keys does not match the rule, so the rule does not limit
        // it.
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
