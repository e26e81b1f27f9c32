//! Handles through which the application learns about its request's limits and corrects charges.
//!
//! The cost of some requests is known only after they ran, such as the tokens of a language model.
//! The layer charges an estimate, and the application corrects it with a [`ChargeHandle`]. A
//! request over a soft limit carries an [`OverSoftLimit`] instead of being refused.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use smallvec::{SmallVec, smallvec};
use waiting_room_core::{
    Timestamp,
    rate::{Charge, ChargeRequest, KeyHash, LimiterCharge, RateStore},
    time::Clock,
};

use super::policy::Policy;
use crate::ambient::StageClock;

/// Corrects the cost of a request for its [adjustable](crate::RateLimit::adjustable) limits.
///
/// The layer puts it into the extensions of the request. The application may correct the cost
/// before or after the response, and more than once. A cost above what was allowed becomes a debt,
/// which is worked off before the next request is allowed. A lower cost gives the rest back, as far
/// as time has not given it back already.
///
/// ```
/// use tower_waiting_room::rate::ChargeHandle;
///
/// // The answer of a language model costs as much as it is long.
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
/// Refund only what a client cannot provoke: a client that gets every failed request back can send
/// as many failing requests as it likes.
///
/// Where layers are nested, the handle covers the charges of all of them. Clones share the charges.
#[derive(Clone)]
pub struct ChargeHandle {
    /// One for each layer that has charged the request.
    ledgers: SmallVec<[Arc<Ledger>; 1]>,
}

/// The charges of one layer.
struct Ledger {
    /// One entry for each adjustable limit. Locked, since clones of the handle may settle at once.
    spent: Mutex<SmallVec<[Spent; 2]>>,
    /// Supplies the time of a correction.
    clock: StageClock,
}

/// A charge of one limit, with all that is needed to correct it.
#[derive(Clone)]
pub(super) struct Spent {
    pub(super) policy: Arc<Policy>,
    pub(super) key: KeyHash,
    pub(super) tier: usize,
    /// The receipt. Each correction replaces it.
    pub(super) charge: Charge,
    /// The store that was charged; `None` if this process counts the limit. Boxed, since most
    /// charges have none.
    stored: Option<Box<Stored>>,
}

/// The store that holds a charge, and the query by which it was made.
#[derive(Clone)]
struct Stored {
    store: Arc<dyn RateStore>,
    ask: ChargeRequest,
}

impl ChargeHandle {
    /// A handle for the charges of one layer.
    pub(super) fn new(spent: SmallVec<[Spent; 2]>, clock: StageClock) -> Self {
        Self { ledgers: smallvec![Arc::new(Ledger { spent: Mutex::new(spent), clock })] }
    }

    /// A handle for the charges of both.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.ledgers.extend(other.ledgers);
        self
    }

    /// Corrects the cost of the request to `cost`, for all adjustable limits.
    pub fn settle(&self, cost: u64) {
        self.settle_where(cost, |_| true);
    }

    /// Corrects the cost of the request to `cost`, for the limit of this name. Does nothing if no
    /// adjustable limit has it.
    pub fn settle_limit(&self, name: &str, cost: u64) {
        self.settle_where(cost, |spent| &*spent.policy.name == name);
    }

    /// Gives the whole cost back, for all adjustable limits.
    pub fn refund(&self) {
        self.settle(0);
    }

    /// Corrects the cost for the limits that `is_meant` selects.
    fn settle_where(&self, cost: u64, is_meant: impl Fn(&Spent) -> bool) {
        for ledger in &self.ledgers {
            let now = ledger.clock.now();
            let mut spent = ledger.spent.lock().unwrap_or_else(PoisonError::into_inner);
            spent.iter_mut().filter(|it| is_meant(it)).for_each(|it| it.settle(cost, now));
        }
    }
}

impl Spent {
    /// A charge of a limit in this process; `None` if it was not charged.
    pub(super) fn new(policy: &Arc<Policy>, ask: &LimiterCharge<'_>) -> Option<Self> {
        let charge = *ask.charge()?;
        let (policy, key, tier) = (Arc::clone(policy), ask.key(), ask.tier());
        Some(Self { policy, key, tier, charge, stored: None })
    }

    /// A charge of a limit in a store.
    pub(super) fn in_store(
        policy: &Arc<Policy>,
        ask: &ChargeRequest,
        charge: Charge,
        store: Arc<dyn RateStore>,
    ) -> Self {
        let stored = Some(Box::new(Stored { store, ask: ask.clone() }));
        Self { policy: Arc::clone(policy), key: ask.key, tier: ask.tier, charge, stored }
    }

    /// Corrects the charge to `cost`. Never blocks: a store makes the correction in the background.
    /// If the store does not accept the correction, the charge stays as it was.
    pub(super) fn settle(&mut self, cost: u64, now: Timestamp) {
        let Self { policy, key, tier, charge, stored } = self;
        match stored.as_ref().map(|it| it.store.settle(&it.ask, charge, cost)) {
            None => policy.limiter.settle(*key, *tier, charge, cost, now),
            Some(Ok(settled)) => *charge = settled,
            Some(Err(error)) => {
                let (limit, error) = (&*policy.name, &error as &dyn std::error::Error);
                tracing::debug!(limit, error, "charge not corrected");
            }
        }
    }
}

impl fmt::Debug for ChargeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChargeHandle").finish_non_exhaustive()
    }
}

/// Marks a request that exceeds a [soft limit](crate::rate::OverLimit::Mark), in its extensions.
///
/// The application chooses the effect: it may serve less, serve from a cache, or warn the client.
#[derive(Clone, Debug)]
pub struct OverSoftLimit(pub(super) SmallVec<[Arc<str>; 1]>);

impl OverSoftLimit {
    /// The names of the limits that the request exceeds.
    pub fn limits(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }
}
