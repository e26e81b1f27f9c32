//! What the application is told of its request's limits, and can correct.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use smallvec::{SmallVec, smallvec};
use waiting_room_core::{
    Charge, ChargeRequest, Clock, KeyHash, LimiterCharge, RateStore, Timestamp,
};

use super::policy::Policy;
use crate::ambient::StageClock;

/// What a request has spent of its [adjustable](crate::RateLimit::adjustable) limits, in its
/// extensions.
///
/// By it the application corrects the cost, before or after the response. More than was allowed
/// becomes a debt, which is worked off before the next request is allowed. What is given back is no
/// more than time has not given back already.
///
/// ```
/// use tower_waiting_room::ChargeHandle;
///
/// // An answer of a language model costs what it has come to.
/// async fn complete(request: http::Request<String>) -> http::Response<String> {
///     let answer = "…".to_owned();
///     if let Some(spend) = request.extensions().get::<ChargeHandle>() {
///         spend.settle(answer.len() as u64);
///     }
///     http::Response::new(answer)
/// }
/// # let _ = complete;
/// ```
///
/// Give back only what a client cannot provoke: one that is refunded for every request that fails
/// can make as many failing ones as it likes.
///
/// Of layers within one another, the application gets what all of them have charged.
#[derive(Clone)]
pub struct ChargeHandle {
    ledgers: SmallVec<[Arc<Ledger>; 1]>,
}

/// What one layer has charged.
struct Ledger {
    spent: Mutex<SmallVec<[Spent; 2]>>,
    clock: StageClock,
}

/// What was spent of one limit.
#[derive(Clone)]
pub(super) struct Spent {
    pub(super) policy: Arc<Policy>,
    pub(super) key: KeyHash,
    pub(super) tier: usize,
    pub(super) charge: Charge,
    /// Where, if not here.
    stored: Option<Box<Stored>>,
}

/// The store that has charged something, and what it was asked.
#[derive(Clone)]
struct Stored {
    store: Arc<dyn RateStore>,
    ask: ChargeRequest,
}

impl ChargeHandle {
    pub(super) fn new(spent: SmallVec<[Spent; 2]>, clock: StageClock) -> Self {
        Self { ledgers: smallvec![Arc::new(Ledger { spent: Mutex::new(spent), clock })] }
    }

    /// This and that.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.ledgers.extend(other.ledgers);
        self
    }

    /// Says what the request really costs, for all adjustable limits.
    pub fn settle(&self, cost: u64) {
        self.settle_where(cost, |_| true);
    }

    /// Says what the request really costs, for the limit of this name.
    pub fn settle_limit(&self, name: &str, cost: u64) {
        self.settle_where(cost, |spent| &*spent.policy.name == name);
    }

    /// Gives everything back.
    pub fn refund(&self) {
        self.settle(0);
    }

    fn settle_where(&self, cost: u64, is_meant: impl Fn(&Spent) -> bool) {
        for ledger in &self.ledgers {
            let now = ledger.clock.now();
            let mut spent = ledger.spent.lock().unwrap_or_else(PoisonError::into_inner);
            spent.iter_mut().filter(|it| is_meant(it)).for_each(|it| it.settle(cost, now));
        }
    }
}

impl Spent {
    /// What was spent of a limit; nothing, unless it was charged.
    pub(super) fn new(policy: &Arc<Policy>, ask: &LimiterCharge<'_>) -> Option<Self> {
        let charge = *ask.charge()?;
        let (policy, key, tier) = (Arc::clone(policy), ask.key(), ask.tier());
        Some(Self { policy, key, tier, charge, stored: None })
    }

    /// What was spent of a limit in a store.
    pub(super) fn in_store(
        policy: &Arc<Policy>,
        ask: &ChargeRequest,
        charge: Charge,
        store: Arc<dyn RateStore>,
    ) -> Self {
        let stored = Some(Box::new(Stored { store, ask: ask.clone() }));
        Self { policy: Arc::clone(policy), key: ask.key, tier: ask.tier, charge, stored }
    }

    /// Corrects the charge to what the request really costs.
    pub(super) fn settle(&mut self, cost: u64, now: Timestamp) {
        let Self { policy, key, tier, charge, stored } = self;
        match stored.as_ref().map(|it| it.store.settle(&it.ask, charge, cost)) {
            None => policy.limiter.settle(*key, *tier, charge, cost, now),
            Some(Ok(settled)) => *charge = settled,
            Some(Err(error)) => {
                let (limit, error) = (&*policy.name, &error as &dyn std::error::Error);
                tracing::debug!(limit, error, "a charge stays as it is");
            }
        }
    }
}

impl fmt::Debug for ChargeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChargeHandle").finish_non_exhaustive()
    }
}

/// A request that is over a soft limit has this in its extensions.
///
/// The application does what it thinks fit: serves less, or from a cache, or tells the client.
#[derive(Clone, Debug)]
pub struct OverSoftLimit(pub(super) SmallVec<[Arc<str>; 1]>);

impl OverSoftLimit {
    /// The names of the limits.
    pub fn limits(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }
}
