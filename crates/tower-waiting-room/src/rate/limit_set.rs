//! The limits of a layer: as they were written, and as they are in force.
//!
//! Limits come from two sources: from code (the builder, and later the operator's handle), and from
//! a rules file, which may change at any time. A [`LimitSet`] keeps both lists as written and
//! replaces all policies at once whenever either changes. Requests load them without a lock.
//!
//! ```text
//! code ──┐                                        ┌─► policies ◄── each request, lock-free
//!        ├─► Limits ─► validate ─► Policy::new ──►│
//! file ──┘                             ▲          └─► written  ◄── the next change
//!                                      └── memory of the limit of the same name before
//! ```

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use arc_swap::ArcSwap;
use waiting_room_core::{ConfigError, Limiter, error::ConfigErrorKind, time::Clock};

use super::{
    diagnosis,
    limit::RateLimit,
    policy::{Policy, named},
    store::Shared,
};
use crate::{ambient::StageClock, telemetry::Telemetry};

/// Limits as they were written, by source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    /// From the builder, or from the operator's handle.
    pub(crate) code: Vec<RateLimit>,
    /// From the rules file.
    pub(crate) file: Vec<RateLimit>,
}

impl Limits {
    /// The most limits from code. A rules file has its own, larger bound.
    pub(crate) const MAX: usize = 64;
    /// The most keys that all limits together remember: some 600 MB for GCRA, the token bucket and
    /// the leaky queue, which take 37 bytes for each.
    pub(crate) const MAX_KEYS: usize = 1 << 24;

    /// All limits, those from code first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &RateLimit> {
        self.code.iter().chain(&self.file)
    }

    /// Checks each limit, that no two have the same name, and the memory of all together.
    ///
    /// # Errors
    ///
    /// The first field that is wrong.
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

/// The limits in force, which an operator or a rules file may change.
pub(crate) struct LimitSet {
    /// The policies in force, in the order of [`Limits::iter`].
    pub(crate) policies: ArcSwap<Vec<Arc<Policy>>>,
    /// The limits from which the policies were made. Locked while both are replaced, so that the
    /// two always agree.
    written: Mutex<Arc<Limits>>,
    /// The store that counts the limits, if nodes share one.
    shared: Option<Shared>,
    clock: StageClock,
    telemetry: Telemetry,
}

impl LimitSet {
    /// A set without limits.
    pub(super) fn new(shared: Option<Shared>, clock: StageClock, telemetry: Telemetry) -> Self {
        Self { policies: ArcSwap::default(), written: Mutex::default(), shared, clock, telemetry }
    }

    /// Puts changed limits in force. Limits that stay keep their memory.
    ///
    /// The closure is called without the lock, so that it may read the limits through the handle.
    /// If they were changed meanwhile, it is called again with the new ones.
    ///
    /// # Errors
    ///
    /// A limit that cannot be kept, or two with the same name; the old limits stay in force.
    pub(crate) fn change(&self, change: impl Fn(Limits) -> Limits) -> Result<(), ConfigError> {
        let policies = loop {
            let before = self.written();
            let changed = change(Limits::clone(&before));
            let mut written = self.lock();
            if !Arc::ptr_eq(&written, &before) {
                continue;
            }
            // Policies are made under the lock: two changes must not both take over the memory of
            // the same limit, or one of them would continue with quotas that are not in force.
            let policies = Arc::new(self.ready(&changed)?);
            self.policies.store(Arc::clone(&policies));
            *written = Arc::new(changed);
            break policies;
        };
        diagnosis::lint(&policies).for_each(|it| self.telemetry.misconfigured(it));
        Ok(())
    }

    /// The limits in force, as they were written by code and file.
    pub(crate) fn written(&self) -> Arc<Limits> {
        Arc::clone(&self.lock())
    }

    /// Makes policies of limits. Each takes over the memory of the policy in force of the same
    /// name, if it can.
    ///
    /// # Errors
    ///
    /// As [`change`](Self::change).
    fn ready(&self, limits: &Limits) -> Result<Vec<Arc<Policy>>, ConfigError> {
        limits.validate()?;
        let (before, now) = (self.policies.load(), self.clock.now());
        let ready = |limit: &RateLimit| {
            let before = named(&before, limit.name()).map(|it| &**it);
            Policy::new(limit.clone(), before, self.shared.as_ref(), now).map(Arc::new)
        };
        limits.iter().map(ready).collect()
    }

    /// Locks the limits as written. A panic of another holder is ignored: the value is replaced as
    /// a whole, and so is never half changed.
    fn lock(&self) -> MutexGuard<'_, Arc<Limits>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
