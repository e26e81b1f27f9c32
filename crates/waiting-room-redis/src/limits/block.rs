//! A block: units that are charged, and may be spent for as long as it is leased.

use std::{sync::Arc, time::Duration};

use waiting_room_core::{Algorithm, Charge, ChargeReply, ChargeRequest, Decision, Timestamp};

use super::{refused::DRIFT, reply::Said};

#[derive(Debug)]
pub(super) struct Block {
    ask: ChargeRequest,
    /// The receipt for what is left.
    charge: Charge,
    /// What the store has left besides, as it was last heard, and when that grows.
    remaining: u64,
    reset_at: Timestamp,
    /// Whoever has not spent it by then gives it back.
    ends_at: Timestamp,
}

/// What was charged and not spent.
#[derive(Clone, Debug)]
pub(super) struct Unspent {
    pub(super) ask: ChargeRequest,
    pub(super) charge: Charge,
}

impl Block {
    /// One that was charged with this decision.
    pub(super) fn new(
        ask: ChargeRequest,
        charge: Charge,
        decision: &Decision,
        said: &Said,
        lease: Duration,
    ) -> Self {
        let lasts = match ask.policy.algorithm() {
            // What was charged in one window is not spent in the next.
            Algorithm::FixedWindow(_) => lease.min(decision.reset),
            _ => lease,
        };
        let ends_at = said.sent + (lasts - lasts / DRIFT);
        let mut block = Self { ask, charge, remaining: 0, reset_at: Timestamp::ZERO, ends_at };
        block.hear(decision, said);
        block
    }

    /// Takes note of what the store says of its limit.
    pub(super) fn hear(&mut self, decision: &Decision, said: &Said) {
        self.remaining = decision.remaining;
        self.reset_at = said.received + decision.reset;
    }

    /// Pays for a request that it can pay for.
    pub(super) fn pay(&mut self, ask: &ChargeRequest, now: Timestamp) -> ChargeReply {
        // Who comes first has what comes back first, and the rest stands upon it.
        let spent = match ask.cost {
            0 => Charge::new(0, self.charge.at, 0),
            cost => ask.settled(&self.charge, cost),
        };
        self.charge.cost -= ask.cost;
        let limit = ask.quota().capacity();
        let remaining = self.remaining.saturating_add(self.charge.cost).min(limit);
        let reset = match remaining < limit {
            // What has come back since then is told by the store, when it is asked next.
            true => self.reset_at.since(now).max(SOON),
            false => Duration::ZERO,
        };
        ChargeReply::new(Decision::new(limit, remaining, reset, Some(Duration::ZERO)), Some(spent))
    }

    pub(super) fn is_for(&self, ask: &ChargeRequest) -> bool {
        is_same(&self.ask, ask)
    }

    pub(super) fn is_live(&self, now: Timestamp) -> bool {
        now < self.ends_at
    }

    pub(super) fn can_pay(&self, cost: u64, now: Timestamp) -> bool {
        self.is_live(now) && cost <= self.charge.cost
    }

    pub(super) const fn left(&self) -> u64 {
        self.charge.cost
    }

    /// What is to be given back of it.
    pub(super) fn into_unspent(self) -> Option<Unspent> {
        let Self { ask, charge, .. } = self;
        (charge.cost > 0).then_some(Unspent { ask, charge })
    }
}

/// Whether these are about one limit of one key in one tier.
pub(super) fn is_same(one: &ChargeRequest, other: &ChargeRequest) -> bool {
    let is_one_limit = || Arc::ptr_eq(&one.policy, &other.policy) || one.policy == other.policy;
    one.key == other.key && one.tier == other.tier && is_one_limit()
}

/// The least time that is not none.
const SOON: Duration = Duration::from_micros(1);
