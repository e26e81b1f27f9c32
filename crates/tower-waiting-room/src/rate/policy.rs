//! A rate limit made ready: with its memory, and what is said in its name.

use std::sync::Arc;

use waiting_room_core::{Algorithm, ConfigError, LimitPolicy, Limiter, Reason, Timestamp};

use super::{
    limit::{Cost, OverLimit, RateLimit},
    remote::Shared,
};
use crate::{
    request::{Caller, Doubt, Found, RequestHead, is_method},
    respond::PolicyLine,
    telemetry::{Rate, Subject},
};

/// A limit in force.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) limit: RateLimit,
    /// Its memory, or this node's part of it where the whole is in a store.
    pub(crate) limiter: Limiter,
    /// As that store knows it.
    pub(super) shared: Option<Arc<LimitPolicy>>,
    pub(crate) name: Arc<str>,
    /// As it is reported about.
    pub(super) subject: Subject,
    lines: Box<[PolicyLine]>,
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
        let limiter = match before.filter(|before| before.limit.shares_memory_with(&limit)) {
            Some(before) => before.limiter.with_quotas(&own, now)?,
            None => Limiter::new(limit.algorithm, &own, keys)?,
        };
        let name: Arc<str> = limit.name.as_ref().into();
        let line = |quota| PolicyLine::new(&limit.name, quota, limit.algorithm, limit.unit);
        Ok(Self {
            lines: quotas.iter().map(line).collect::<Result<_, _>>()?,
            subject: Subject::new(Arc::clone(&name)),
            shared: shared.map(|_| known(&limit)),
            name,
            limiter,
            limit,
        })
    }

    /// What is refused in its name, is refused for this reason.
    pub(crate) fn reason(&self) -> Reason {
        Reason::RefusedRate(Arc::clone(&self.name))
    }

    /// Whether a request is limited by it.
    pub(crate) fn concerns(&self, caller: &Caller<'_>) -> bool {
        let (limit, method) = (&self.limit, caller.head.method());
        (limit.methods.is_empty() || limit.methods.iter().any(|it| is_method(method, it)))
            && limit.matchers.iter().all(|it| it.covers(&caller.head, Doubt::Covered))
            && limit.conditions.iter().all(|it| it.holds(caller))
    }

    /// What is reported of a request that is over it.
    pub(crate) fn over(&self) -> Rate {
        match self.limit.over_limit {
            OverLimit::Mark => Rate::OverSoft,
            OverLimit::Refuse => Rate::Refused,
            OverLimit::Shadow => Rate::OverShadow,
        }
    }

    /// Whether it holds requests until their turn.
    pub(crate) fn is_queue(&self) -> bool {
        self.limit.algorithm == Algorithm::LeakyQueue
    }

    /// The tier of a request, and what the headers say of it.
    pub(crate) fn tier(&self, head: &RequestHead<'_>) -> usize {
        let tiers = &self.limit.tiers;
        let tier = tiers.iter().position(|tier| tier.matcher.covers(head, Doubt::Exempt));
        tier.map_or(0, |tier| tier + 1)
    }

    /// What the headers say of a tier.
    pub(crate) fn line(&self, tier: usize) -> &PolicyLine {
        self.lines.get(tier).unwrap_or(&self.lines[0])
    }

    /// What a request costs.
    pub(crate) fn cost(&self, head: &RequestHead<'_>) -> u64 {
        match &self.limit.cost {
            Cost::By(closure) => closure(head),
            Cost::Fixed(cost) => *cost,
        }
    }

    /// The key of a request, or what is to be done without.
    pub(crate) fn key(&self, caller: &Caller<'_>) -> Found {
        self.limit.key.find(self.limit.missing_key, caller)
    }
}

/// A limit as a store knows it that nodes share.
fn known(limit: &RateLimit) -> Arc<LimitPolicy> {
    let policy = LimitPolicy::new(&*limit.name, limit.algorithm, limit.quotas());
    Arc::new(if limit.is_adjustable { policy.adjustable() } else { policy })
}
