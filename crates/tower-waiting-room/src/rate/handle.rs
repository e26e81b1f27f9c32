//! Handles through which the application inspects the limits of a request and corrects charges.
//!
//! Some costs, such as the number of tokens that a language model generates, are known only after
//! the request has run. The layer charges an estimate, and the application corrects the
//! estimate with a [`ChargeHandle`]. A request that exceeds a soft limit is not refused. Instead,
//! an [`OverSoftLimit`] is inserted into its extensions.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use smallvec::{SmallVec, smallvec};
use waiting_room_core::{
    Timestamp,
    rate::{Charge, ChargeRequest, KeyHash, RateStore, charging::LimiterCharge},
    time::Clock,
};

use super::policy::Policy;
use crate::ambient::StageClock;

/// Corrects the cost of a request for its [adjustable](crate::RateLimit::adjustable) limits.
///
/// The layer inserts the handle into the extensions of the request. The application may correct the
/// cost before or after the response, and more than once. If the corrected cost exceeds the
/// remaining quota, the excess becomes a debt that has to be replenished before another request is
/// allowed. If the corrected cost is lower than the charge, the difference is refunded, except for
/// any part that has already been replenished.
///
/// ```
/// use tower_waiting_room::rate::ChargeHandle;
///
/// // The cost of a language model's answer is its length.
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
/// Refund only failures that a client cannot provoke. A client whose failed requests are always
/// refunded can send any number of failing requests.
///
/// If layers are nested, the handle covers the charges of all layers. All clones of a handle share
/// the charges.
#[derive(Clone)]
pub struct ChargeHandle {
    /// One ledger for each layer that has charged the request.
    ledgers: SmallVec<[Arc<Ledger>; 1]>,
}

/// The charges of one layer.
struct Ledger {
    /// One charge for each adjustable limit. The list is locked because clones of the handle may
    /// settle at the same time.
    spent: Mutex<SmallVec<[Spent; 2]>>,
    /// The clock that supplies the time of a correction.
    clock: StageClock,
}

/// A charge against one limit, with everything that is needed to correct it.
#[derive(Clone)]
pub(super) struct Spent {
    pub(super) policy: Arc<Policy>,
    pub(super) key: KeyHash,
    pub(super) tier: usize,
    /// The receipt for the charge, which each correction replaces.
    pub(super) charge: Charge,
    /// The store that made the charge, or `None` if this process counts the limit. The value is
    /// boxed because most charges are not made in a store.
    stored: Option<Box<Stored>>,
}

/// The store that made the charge, and the charge request that was sent to it.
#[derive(Clone)]
struct Stored {
    store: Arc<dyn RateStore>,
    ask: ChargeRequest,
}

impl ChargeHandle {
    /// Creates a handle for the charges of one layer.
    pub(super) fn new(spent: SmallVec<[Spent; 2]>, clock: StageClock) -> Self {
        Self { ledgers: smallvec![Arc::new(Ledger { spent: Mutex::new(spent), clock })] }
    }

    /// Merges two handles into one that covers the charges of both.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.ledgers.extend(other.ledgers);
        self
    }

    /// Corrects the cost of the request to `cost`, for all adjustable limits.
    pub fn settle(&self, cost: u64) {
        self.settle_where(cost, |_| true);
    }

    /// Corrects the cost of the request to `cost`, for the limit with this name. Does nothing if no
    /// adjustable limit has this name.
    pub fn settle_limit(&self, name: &str, cost: u64) {
        self.settle_where(cost, |spent| &*spent.policy.name == name);
    }

    /// Refunds the whole cost of the request, for all adjustable limits.
    pub fn refund(&self) {
        self.settle(0);
    }

    /// Corrects the cost of the request to `cost`, for the limits that `is_meant` selects.
    fn settle_where(&self, cost: u64, is_meant: impl Fn(&Spent) -> bool) {
        for ledger in &self.ledgers {
            let now = ledger.clock.now();
            let mut spent = ledger.spent.lock().unwrap_or_else(PoisonError::into_inner);
            spent
                .iter_mut()
                .filter(|spent| is_meant(spent))
                .for_each(|charge| charge.settle(cost, now));
        }
    }
}

impl Spent {
    /// Returns the charge against a limit that this process counts, or `None` if the limit was not
    /// charged.
    pub(super) fn new(policy: &Arc<Policy>, ask: &LimiterCharge<'_>) -> Option<Self> {
        let charge = ask.charge()?;
        let policy = Arc::clone(policy);
        let key = ask.key();
        let tier = ask.tier();
        Some(Self { policy, key, tier, charge, stored: None })
    }

    /// Creates the charge against a limit that a store counts.
    pub(super) fn in_store(
        policy: &Arc<Policy>,
        ask: &ChargeRequest,
        charge: Charge,
        store: Arc<dyn RateStore>,
    ) -> Self {
        let stored = Some(Box::new(Stored { store, ask: ask.clone() }));
        Self { policy: Arc::clone(policy), key: ask.key, tier: ask.tier, charge, stored }
    }

    /// Corrects the charge to `cost`. This method never blocks, because a store makes the
    /// correction in the background. If the store does not accept the correction, the charge
    /// remains unchanged.
    pub(super) fn settle(&mut self, cost: u64, now: Timestamp) {
        let Self { policy, key, tier, charge, stored } = self;
        match stored.as_ref().map(|stored| stored.store.settle(&stored.ask, charge, cost)) {
            None => policy.limiter.settle(*key, *tier, charge, cost, now),
            Some(Ok(settled)) => *charge = settled,
            Some(Err(error)) => {
                let limit = &*policy.name;
                let error = &error as &dyn std::error::Error;
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

/// The mark on a request that exceeds a [soft limit](crate::rate::OverLimit::Mark), stored in the
/// request's extensions.
///
/// The application chooses the effect of the mark. For example, it may return less data, respond
/// from a cache, or warn the client.
#[derive(Clone, Debug)]
pub struct OverSoftLimit(pub(super) SmallVec<[Arc<str>; 1]>);

impl OverSoftLimit {
    /// Returns the names of the limits that the request exceeds.
    pub fn limits(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }
}
