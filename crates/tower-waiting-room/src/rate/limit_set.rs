//! The limits of a layer, both as they were defined and as they are applied.
//!
//! Limits come from two sources: from code (the builder, and later the operator's handle), and from
//! a rules file, which may change at any time. A [`LimitSet`] stores both lists as they were
//! defined, and replaces all policies at once whenever either list changes. Requests load the
//! policies without taking a lock.
//!
//! ```text
//! code ──┐                                        ┌─► policies ◄── each request, lock-free
//!        ├─► Limits ─► validate ─► Policy::new ──►│
//! file ──┘                             ▲          └─► written  ◄── the next change
//!                                      └── memory of the previous limit of the same name
//! ```

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use arc_swap::ArcSwap;
use waiting_room_core::{ConfigError, Limiter, Timestamp, error::ConfigErrorKind, time::Clock};

use super::{
    diagnosis,
    limit::RateLimit,
    policy::{Policy, named},
    store::Shared,
};
use crate::{ambient::StageClock, telemetry::Telemetry};

/// The limits as they were defined, separated by source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    /// The limits from the builder, or from the operator's handle.
    pub(crate) code: Vec<RateLimit>,
    /// The limits from the rules file.
    pub(crate) file: Vec<RateLimit>,
}

impl Limits {
    /// The maximum number of limits from code. A rules file has a separate, larger bound.
    pub(crate) const MAX: usize = 64;
    /// The maximum number of keys that all limits together remember. With GCRA, the token bucket
    /// and the leaky queue, which use 37 bytes per key, this number of keys takes up about 600 MB.
    pub(crate) const MAX_KEYS: usize = 1 << 24;

    /// Returns all limits, starting with those from code.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &RateLimit> {
        self.code.iter().chain(&self.file)
    }

    /// Checks each limit, the uniqueness of names, and the total memory of all limits.
    ///
    /// # Errors
    ///
    /// Returns an error for the first invalid field.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |kind, given: String, expected: &str| {
            Err(ConfigError::new(kind, "rate_limit", given, expected))
        };
        if self.code.len() > Self::MAX {
            let given = format!("{} limits", self.code.len());
            return wrong(
                ConfigErrorKind::TooLarge,
                given,
                "at most 64 (define further limits in a rules file)",
            );
        }
        let mut names = HashSet::new();
        if let Some(twice) = self.iter().find(|limit| !names.insert(limit.name())) {
            let given = format!("{:?} twice", twice.name());
            return wrong(ConfigErrorKind::Contradicts, given, "a different name for each limit");
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

/// The current limits, which an operator or a rules file may change.
pub(crate) struct LimitSet {
    /// The current policies, in the order of [`Limits::iter`].
    pub(crate) policies: ArcSwap<Vec<Arc<Policy>>>,
    /// The limits from which the policies were created. The mutex is locked while limits and
    /// policies are replaced, so that the two always agree.
    written: Mutex<Arc<Limits>>,
    /// The store that counts the limits, if nodes share a store.
    shared: Option<Shared>,
    clock: StageClock,
    telemetry: Telemetry,
}

impl LimitSet {
    /// Creates a set without limits.
    pub(super) fn new(shared: Option<Shared>, clock: StageClock, telemetry: Telemetry) -> Self {
        Self { policies: ArcSwap::default(), written: Mutex::default(), shared, clock, telemetry }
    }

    /// Returns the current time of the limits.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Applies changed limits. A limit keeps its memory if its name, key, algorithm and number of
    /// keys remain the same.
    ///
    /// The closure is called while the lock is not held, so that it can read the limits through the
    /// handle. If the limits were changed in the meantime, the closure is called again with the new
    /// limits.
    ///
    /// # Errors
    ///
    /// Returns an error for an invalid limit, or for two limits with the same name. The old limits
    /// then remain in effect.
    pub(crate) fn change(&self, change: impl Fn(Limits) -> Limits) -> Result<(), ConfigError> {
        let policies = loop {
            let before = self.written();
            let changed = change(Limits::clone(&before));
            let mut written = self.lock();
            if !Arc::ptr_eq(&written, &before) {
                continue;
            }
            // Policies are created under the lock, because two changes must not both take over the
            // memory of the same limit. Otherwise, the memory could end up with the quotas of one
            // change while the limits of the other change are in effect.
            let policies = Arc::new(self.ready(&changed)?);
            self.policies.store(Arc::clone(&policies));
            *written = Arc::new(changed);
            break policies;
        };
        diagnosis::lint(&policies)
            .for_each(|misconfiguration| self.telemetry.misconfigured(misconfiguration));
        Ok(())
    }

    /// Returns the current limits, as they were defined in code and in the file.
    pub(crate) fn written(&self) -> Arc<Limits> {
        Arc::clone(&self.lock())
    }

    /// Creates policies from limits. Each policy takes over the memory of the current policy with
    /// the same name, if possible.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`change`](Self::change).
    fn ready(&self, limits: &Limits) -> Result<Vec<Arc<Policy>>, ConfigError> {
        limits.validate()?;
        let before = self.policies.load();
        let now = self.clock.now();
        let ready = |limit: &RateLimit| {
            let before = named(&before, limit.name()).map(|limit| &**limit);
            Policy::new(limit.clone(), before, self.shared.as_ref(), now).map(Arc::new)
        };
        limits.iter().map(ready).collect()
    }

    /// Locks the limits as they were defined. A panic in another thread does not matter, because
    /// the value is always replaced as a whole and is never partly changed.
    fn lock(&self) -> MutexGuard<'_, Arc<Limits>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
