//! The limits of a layer: as they were written, and those in force.

use std::{
    collections::HashSet,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use arc_swap::ArcSwap;
use waiting_room_core::{Clock, ConfigError, ConfigErrorKind, Limiter};

use super::{
    diagnosis,
    limit::RateLimit,
    policy::{Policy, named},
    store::Shared,
};
use crate::{ambient::StageClock, telemetry::Telemetry};

/// Limits as they were written, by where they come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    /// From the builder, or by the handle.
    pub(crate) code: Vec<RateLimit>,
    /// From the rules file.
    pub(crate) file: Vec<RateLimit>,
}

impl Limits {
    /// The most limits that come from code.
    pub(crate) const MAX: usize = 64;
    /// The most keys that are remembered by all limits together: some 600 MB, in the algorithms
    /// with one number.
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
        let bytes = self.iter().map(RateLimit::most_bytes).fold(0, u64::saturating_add);
        if bytes > Limiter::MAX_BYTES {
            let given = format!("{keys} keys with {bytes} bytes for all limits together");
            let expected = format!("at most {} bytes", Limiter::MAX_BYTES);
            let kind = ConfigErrorKind::TooLarge;
            return Err(ConfigError::new(kind, "max_keys", given, expected));
        }
        Ok(())
    }
}

/// The limits in force, which an operator or a file may change.
pub(crate) struct LimitSet {
    pub(crate) policies: ArcSwap<Vec<Arc<Policy>>>,
    /// What they were made of. Locked while they are changed.
    written: Mutex<Arc<Limits>>,
    /// Why the rules file as it is now is not in force.
    file_error: Mutex<Option<String>>,
    /// Locked while the rules file is read and put in force, so that what was read last is in
    /// force at last.
    pub(crate) reloading: Mutex<()>,
    shared: Option<Shared>,
    clock: StageClock,
    telemetry: Telemetry,
}

impl LimitSet {
    pub(super) fn new(shared: Option<Shared>, clock: StageClock, telemetry: Telemetry) -> Self {
        Self {
            policies: ArcSwap::default(),
            written: Mutex::default(),
            file_error: Mutex::default(),
            reloading: Mutex::default(),
            shared,
            clock,
            telemetry,
        }
    }

    /// Puts changed limits in force, with the memory of those that stay; or says what is wrong.
    ///
    /// The closure is not called under the lock, so that it may look at the limits; it is called
    /// again if they have been changed meanwhile.
    pub(crate) fn change(&self, change: impl Fn(Limits) -> Limits) -> Result<(), ConfigError> {
        let policies = loop {
            let before = self.written();
            let changed = change(Limits::clone(&before));
            let mut written = self.lock();
            if !Arc::ptr_eq(&written, &before) {
                continue;
            }
            let policies = Arc::new(self.ready(&changed)?);
            self.policies.store(Arc::clone(&policies));
            *written = Arc::new(changed);
            break policies;
        };
        diagnosis::lint(&policies).for_each(|it| self.telemetry.misconfigured(it));
        Ok(())
    }

    /// The limits in force, as they were written.
    pub(crate) fn written(&self) -> Arc<Limits> {
        Arc::clone(&self.lock())
    }

    /// Records whether the rules file was put in force. An error that was reported already is not
    /// reported again: a file that is not in force is tried again and again.
    pub(crate) fn file_read(&self, outcome: Result<(), String>) {
        let before = {
            let mut error = self.file_error.lock().unwrap_or_else(PoisonError::into_inner);
            mem::replace(&mut *error, outcome.as_ref().err().cloned())
        };
        if outcome.is_ok() || outcome.as_ref().err() != before.as_ref() {
            self.telemetry.rules_file(&outcome);
        }
    }

    /// Why the rules file as it is now is not in force.
    pub(crate) fn file_error(&self) -> Option<String> {
        self.file_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes limits ready; those that take the place of one in force take over its memory.
    fn ready(&self, limits: &Limits) -> Result<Vec<Arc<Policy>>, ConfigError> {
        limits.validate()?;
        let (before, now) = (self.policies.load(), self.clock.now());
        let ready = |limit: &RateLimit| {
            let before = named(&before, limit.name()).map(|it| &**it);
            Policy::new(limit.clone(), before, self.shared.as_ref(), now).map(Arc::new)
        };
        limits.iter().map(ready).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Limits>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
