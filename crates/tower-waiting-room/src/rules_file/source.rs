//! Limits from a file, for as long as it changes.

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError},
};

use waiting_room_core::{ConfigError, ConfigErrorKind};

use super::{FileRule, RulesFile, RulesFileError, Watch};
use crate::{
    rate::{Condition, LimitSet, Limits, RateLimit},
    request::{Key, MissingKey, Part},
};

/// The file that limits come from, and what its keys mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct RulesSource {
    pub(crate) path: PathBuf,
    /// The keys that the application has named, beside those that are built in.
    pub(crate) descriptors: Vec<Part>,
}

impl RulesSource {
    /// Checks that there is a file, and that each name in it has one meaning.
    fn validate(&self) -> Result<(), ConfigError> {
        if self.path.as_os_str().is_empty() {
            let expected = "the path of a file: descriptors are for its rules";
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

    /// Reads the file at start-up.
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

    /// Reads the file.
    pub(crate) fn load(&self) -> Result<Vec<RateLimit>, RulesFileError> {
        let names: Vec<_> = self.names().collect();
        let file = RulesFile::load(&self.path, &names)?;
        Ok(file.rules.into_iter().filter_map(|rule| self.limit(rule)).collect())
    }

    /// Keeps the limits in force to what the file says, from now on and for as long as the watch is
    /// kept.
    pub(crate) fn follow(&self, limits: &Arc<LimitSet>) -> Option<Watch> {
        let (source, follower) = (Arc::new(self.clone()), Arc::downgrade(limits));
        let watch = Watch::start(&self.path, move || {
            follower.upgrade().is_none_or(|limits| source.reload(&limits))
        });
        // What has changed between the first look and the watch.
        self.reload(limits);
        match watch {
            Ok(watch) => Some(watch),
            Err(error) => {
                limits.file_read(Err(format!("{}: not watched: {error}", self.path.display())));
                None
            }
        }
    }

    /// Reads the file and puts it in force; says whether that was possible. A file that cannot be
    /// used keeps the old limits in force.
    pub(crate) fn reload(&self, limits: &LimitSet) -> bool {
        let _only = limits.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = self.load().map_err(|error| error.to_string()).and_then(|file| {
            let change = |limits| Limits { file: file.clone(), ..limits };
            limits.change(change).map_err(|error| error.to_string())
        });
        let is_followed = outcome.is_ok();
        limits.file_read(outcome);
        is_followed
    }

    /// What the application has called its keys.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.descriptors.iter().filter_map(Part::name)
    }

    /// A rule of the file as a limit; none for a rule that limits nothing.
    fn limit(&self, rule: FileRule) -> Option<RateLimit> {
        let file_limit = rule.limit?;
        let part = |name: &str| {
            let named = self.descriptors.iter().find(|part| part.name() == Some(name));
            named.cloned().or_else(|| Part::named(name))
        };
        let mut each = Vec::new();
        let mut conditions = Vec::new();
        for entry in rule.entries {
            // The file was read with the same names.
            let part = part(&entry.key)?;
            if entry.value.is_none() {
                each.push(part.clone());
            }
            conditions.push(Condition { part, is: entry.value, is_not: entry.except });
        }
        let key = if each.is_empty() { Key::global() } else { Key::from(each) };
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
