//! A test double for a store of rate limits. To the layer, it looks like a store in another
//! process.

use std::{
    collections::HashMap,
    future::{Future, ready},
    pin::Pin,
    slice,
    sync::{Arc, Mutex, PoisonError},
};

use waiting_room_core::{
    Limiter, StoreError, Timestamp,
    error::StoreErrorKind,
    rate::{
        Charge, ChargeReply, ChargeRequest, KeyHasher, RatePolicy, RateStore,
        charging::{LimiterCharge, charge_all},
    },
    time::{Clock, ManualClock},
};

/// The limiters of the core crate behind the trait [`RateStore`]. The store can be made to fail.
/// All clones are one store.
#[derive(Clone, Debug)]
pub struct RateStoreDouble {
    clock: ManualClock,
    /// The limits by name.
    limits: Arc<Mutex<HashMap<String, Known>>>,
    failure: Arc<Mutex<Option<StoreErrorKind>>>,
}

/// A limit that the layer has charged before.
#[derive(Debug)]
struct Known {
    policy: Arc<RatePolicy>,
    limiter: Limiter,
}

impl RateStoreDouble {
    /// A store that works.
    #[must_use]
    pub fn new(clock: &ManualClock) -> Self {
        Self { clock: clock.clone(), limits: Arc::default(), failure: Arc::default() }
    }

    /// A store that fails from the beginning, as if the server could not be reached.
    #[must_use]
    pub fn unavailable() -> Self {
        let store = Self::new(&ManualClock::default());
        store.fails(Some(StoreErrorKind::Unavailable));
        store
    }

    /// Makes the store fail with this kind of error, or work.
    pub fn fails(&self, failure: Option<StoreErrorKind>) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    fn check(&self) -> Result<(), StoreError> {
        let failure = *self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.map_or(Ok(()), |kind| Err(StoreError::new(kind)))
    }

    fn limiter(&self, policy: &Arc<RatePolicy>) -> Limiter {
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let limiter = Limiter::new(policy.algorithm(), policy.quotas(), 1_000)
                .expect("the layer has checked the policy");
            Known { policy: Arc::clone(policy), limiter }
        };
        let known = limits.entry(policy.name().to_owned()).or_insert_with(make);
        if known.policy.algorithm() != policy.algorithm() {
            *known = make();
        } else if known.policy.quotas() != policy.quotas() {
            let limiter = known
                .limiter
                .with_quotas(policy.quotas(), self.clock.now())
                .expect("the layer has checked the quotas");
            *known = Known { policy: Arc::clone(policy), limiter };
        }
        known.limiter.clone()
    }
}

impl RateStore for RateStoreDouble {
    fn hasher(&self) -> KeyHasher {
        KeyHasher::shared([3, 1])
    }

    fn charge_all(
        &self,
        asks: &[ChargeRequest],
    ) -> Pin<Box<dyn Future<Output = Result<Vec<ChargeReply>, StoreError>> + Send>> {
        if let Err(error) = self.check() {
            return Box::pin(ready(Err(error)));
        }
        let limiters: Vec<_> = asks.iter().map(|ask| self.limiter(&ask.policy)).collect();
        Box::pin(ready(Ok(decide(asks, &limiters, self.clock.now()))))
    }

    fn settle(
        &self,
        ask: &ChargeRequest,
        charge: &Charge,
        cost: u64,
    ) -> Result<Charge, StoreError> {
        self.check()?;
        let mut settled = *charge;
        let limiter = self.limiter(&ask.policy);
        limiter.settle(ask.key, ask.tier, &mut settled, cost, self.clock.now());
        Ok(ask.settled(charge, cost))
    }
}

fn decide(asks: &[ChargeRequest], limiters: &[Limiter], now: Timestamp) -> Vec<ChargeReply> {
    let twin = |(ask, limiter)| {
        let ask: &ChargeRequest = ask;
        LimiterCharge::new(limiter, ask.key, ask.tier, ask.cost)
    };
    let of = |is_soft| {
        let mine = move |pair: &(&ChargeRequest, _)| pair.0.is_soft == is_soft;
        asks.iter().zip(limiters).filter(mine).map(twin).collect::<Vec<_>>()
    };
    let mut hard = of(false);
    let mut soft = of(true);
    if charge_all(&mut hard, now) {
        soft.iter_mut().for_each(|ask| _ = charge_all(slice::from_mut(ask), now));
    }
    let mut hard = hard.iter();
    let mut soft = soft.iter();
    let said = |ask: &ChargeRequest| {
        if ask.is_soft { soft.next() } else { hard.next() }.expect("each request was charged")
    };
    let reply = |said: &LimiterCharge<'_>| match said.decision() {
        Some(decision) => ChargeReply::new(decision.describe(), said.charge()),
        None => ChargeReply::default(),
    };
    asks.iter().map(said).map(reply).collect()
}
