//! A store of limits that looks to the layer like one in another process.

use std::{
    collections::HashMap,
    future::{Future, ready},
    pin::Pin,
    slice,
    sync::{Arc, Mutex},
};

use tower_waiting_room::{
    room::StoreError,
    time::{Clock, ManualClock},
};
use waiting_room_core::{
    Limiter, Timestamp,
    rate::{
        Charge, ChargeReply, ChargeRequest, KeyHasher, RatePolicy, RateStore,
        charging::{LimiterCharge, charge_all},
    },
};

/// The limiters of core behind the trait [`RateStore`].
#[derive(Clone, Debug)]
pub(crate) struct CoreLimits {
    clock: ManualClock,
    /// The limits by name.
    limits: Arc<Mutex<HashMap<String, Known>>>,
}

/// A limit that the layer has charged before.
#[derive(Debug)]
struct Known {
    policy: Arc<RatePolicy>,
    limiter: Limiter,
}

impl CoreLimits {
    pub(crate) fn new(clock: &ManualClock) -> Self {
        Self { clock: clock.clone(), limits: Arc::default() }
    }

    fn limiter(&self, policy: &Arc<RatePolicy>) -> Limiter {
        let mut limits = self.limits.lock().unwrap();
        let make = || {
            let limiter = Limiter::new(policy.algorithm(), policy.quotas(), 1_000).unwrap();
            Known { policy: Arc::clone(policy), limiter }
        };
        let known = limits.entry(policy.name().to_owned()).or_insert_with(make);
        if known.policy.algorithm() != policy.algorithm() {
            *known = make();
        } else if known.policy.quotas() != policy.quotas() {
            let limiter = known.limiter.with_quotas(policy.quotas(), self.clock.now()).unwrap();
            *known = Known { policy: Arc::clone(policy), limiter };
        }
        known.limiter.clone()
    }
}

impl RateStore for CoreLimits {
    fn hasher(&self) -> KeyHasher {
        KeyHasher::shared([3, 1])
    }

    fn charge_all(
        &self,
        asks: &[ChargeRequest],
    ) -> Pin<Box<dyn Future<Output = Result<Vec<ChargeReply>, StoreError>> + Send>> {
        let limiters: Vec<_> = asks.iter().map(|ask| self.limiter(&ask.policy)).collect();
        Box::pin(ready(Ok(decide(asks, &limiters, self.clock.now()))))
    }

    fn settle(
        &self,
        ask: &ChargeRequest,
        charge: &Charge,
        cost: u64,
    ) -> Result<Charge, StoreError> {
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
    let said = |ask: &ChargeRequest| if ask.is_soft { soft.next() } else { hard.next() }.unwrap();
    let reply = |said: &LimiterCharge<'_>| match said.decision() {
        Some(decision) => ChargeReply::new(decision.describe(), said.charge()),
        None => ChargeReply::default(),
    };
    asks.iter().map(said).map(reply).collect()
}
