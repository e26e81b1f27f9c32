//! A rate limit ready for use, with its memory and the constant parts of its headers.
//!
//! Everything that can be computed in advance is computed here, when limits change. All that
//! remains for each request is to hash the key and to charge the limit. `stage.rs` applies
//! policies to requests.

use std::sync::{Arc, atomic::AtomicU64};

use waiting_room_core::{ConfigError, Limiter, Timestamp, rate::RatePolicy};

use super::{limit::RateLimit, store::Shared, stored_keys::StoredKeys};
use crate::{rate_headers::PolicyLine, telemetry::Subject};

/// A rate limit in the form in which it is applied to requests.
#[derive(Debug)]
pub(crate) struct Policy {
    /// The limit as it was defined.
    pub(crate) limit: RateLimit,
    /// The memory of the limit. If a store counts the limit, this memory is used only during
    /// outages, to count requests against this node's share.
    pub(crate) limiter: Limiter,
    /// The limit as it is described to the store, or `None` if there is no store.
    pub(super) shared: Option<Arc<RatePolicy>>,
    /// The name of the limit, shared with every reason and mark that contains it.
    pub(crate) name: Arc<str>,
    /// The bound on the number of keys in the store, or `None` if there is no store.
    pub(super) stored_keys: Option<StoredKeys>,
    /// The number of displaced keys at the time of the last report.
    pub(super) displaced: AtomicU64,
    /// The limit as it is identified in events and metrics.
    pub(crate) subject: Subject,
    /// The constant parts of the headers for each tier.
    pub(super) lines: Box<[PolicyLine]>,
}

impl Policy {
    /// Prepares a limit for use. The policy takes over the memory of `before`, the current policy
    /// with the same name, if the two limits [can share memory](RateLimit::shares_memory_with).
    ///
    /// # Errors
    ///
    /// Returns an error for an invalid quota or name.
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
            // The keys that a previous policy displaced from this memory have already been
            // reported.
            displaced: AtomicU64::new(
                limiter.displaced() + stored_keys.as_ref().map_or(0, StoredKeys::displaced),
            ),
            stored_keys,
            subject: Subject::new(Arc::clone(&name)).continuing(before.map(|limit| &limit.subject)),
            shared: shared.map(|_| known(&limit)),
            name,
            limiter,
            limit,
        })
    }
}

/// Finds the policy with this name.
pub(super) fn named<'a>(policies: &'a [Arc<Policy>], name: &str) -> Option<&'a Arc<Policy>> {
    policies.iter().find(|policy| &*policy.name == name)
}

/// Returns the description of a limit for the store that counts it.
fn known(limit: &RateLimit) -> Arc<RatePolicy> {
    let policy = RatePolicy::new(&*limit.name, limit.algorithm, limit.quotas());
    Arc::new(if limit.is_adjustable { policy.adjustable() } else { policy })
}
