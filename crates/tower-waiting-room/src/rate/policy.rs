//! A rate limit made ready: with its memory, and the parts of its headers that never change.

use std::sync::{Arc, atomic::AtomicU64};

use waiting_room_core::{ConfigError, Limiter, RatePolicy, Timestamp};

use super::{limit::RateLimit, store::Shared, stored_keys::StoredKeys};
use crate::{rate_headers::PolicyLine, telemetry::Subject};

/// A limit in force.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) limit: RateLimit,
    /// Its memory, or this node's part of it where the whole is in a store.
    pub(crate) limiter: Limiter,
    /// As that store knows it.
    pub(super) shared: Option<Arc<RatePolicy>>,
    pub(crate) name: Arc<str>,
    /// Which keys this node has that store keep.
    pub(super) stored_keys: Option<StoredKeys>,
    /// How many keys in use had lost their places when that was last reported.
    pub(super) displaced: AtomicU64,
    /// As it is reported about.
    pub(super) subject: Subject,
    pub(super) lines: Box<[PolicyLine]>,
}

impl Policy {
    /// Makes a limit ready; with the memory of one that it takes the place of, if it can.
    pub(crate) fn new(
        limit: RateLimit,
        before: Option<&Self>,
        shared: Option<&Shared>,
        now: Timestamp,
    ) -> Result<Self, ConfigError> {
        let quotas = limit.quotas();
        let (own, keys) = match shared {
            Some(shared) => shared.on_failure.own_part(&quotas, limit.keys()),
            None => (quotas.clone(), limit.keys()),
        };
        let before = before.filter(|before| before.limit.shares_memory_with(&limit));
        let stored_keys = shared.map(|_| {
            let before = before.and_then(|before| before.stored_keys.as_ref());
            StoredKeys::new(limit.keys(), &quotas, before)
        });
        let limiter = match before {
            Some(before) => before.limiter.with_quotas(&own, now)?,
            None => Limiter::new(limit.algorithm, &own, keys)?,
        };
        let name: Arc<str> = limit.name.as_ref().into();
        let line = |quota| PolicyLine::new(&limit.name, quota, limit.algorithm, limit.unit);
        Ok(Self {
            lines: quotas.iter().map(line).collect::<Result<_, _>>()?,
            displaced: AtomicU64::new(
                limiter.displaced() + stored_keys.as_ref().map_or(0, StoredKeys::displaced),
            ),
            stored_keys,
            subject: Subject::new(Arc::clone(&name)),
            shared: shared.map(|_| known(&limit)),
            name,
            limiter,
            limit,
        })
    }
}

/// The limit of this name.
pub(super) fn named<'a>(policies: &'a [Arc<Policy>], name: &str) -> Option<&'a Arc<Policy>> {
    policies.iter().find(|policy| &*policy.name == name)
}

/// A limit as a store knows it that nodes share.
fn known(limit: &RateLimit) -> Arc<RatePolicy> {
    let policy = RatePolicy::new(&*limit.name, limit.algorithm, limit.quotas());
    Arc::new(if limit.is_adjustable { policy.adjustable() } else { policy })
}
