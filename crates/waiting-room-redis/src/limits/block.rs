//! A block: units of a limit that are charged already, and may be spent until its lease ends.
//!
//! ```text
//!  level of a bucket after the charge
//!    ├── others ──┼── request ──┼──────── block ────────┤ mark of the block
//!                               ├ 1st ┼ 2nd ┼── left ───┤
//! ```
//!
//! Each request that the block pays for gets a receipt for its own part of that range, so it can be
//! settled like any other charge, and all receipts together never give back more than was charged.

use std::{sync::Arc, time::Duration};

use waiting_room_core::{
    Timestamp,
    rate::{Algorithm, Charge, ChargeReply, ChargeRequest, Decision},
};

use super::{refused::DRIFT, reply::ChargeNumbers};

/// The units that a node holds of one limit, for one client key in one tier.
///
/// Times are those of this node's own clock.
#[derive(Debug)]
pub(super) struct Block {
    /// The limit, the key and the tier.
    ask: ChargeRequest,
    /// The receipt for the units that are left.
    charge: Charge,
    /// What the store had left beside the block, by its last reply.
    remaining: u64,
    /// When `remaining` grows, by the same reply.
    reset_at: Timestamp,
    /// The end of the lease: units that are left then are given back.
    ends_at: Timestamp,
}

/// Units that were charged and not spent, to be given back.
#[derive(Clone, Debug)]
pub(super) struct Unspent {
    pub(super) ask: ChargeRequest,
    /// The receipt for these units.
    pub(super) charge: Charge,
}

impl Block {
    /// Creates the block that the store has charged together with this decision.
    ///
    /// The lease counts from the sending of the call, which is the earliest time at which the store
    /// can have made the charge, and is shortened by the [`DRIFT`] of a slow clock.
    pub(super) fn new(
        ask: ChargeRequest,
        charge: Charge,
        decision: &Decision,
        said: &ChargeNumbers,
        lease: Duration,
    ) -> Self {
        let lasts = match ask.policy.algorithm() {
            // Units that were charged in one window must not be spent in the next. After a charge,
            // `reset` is the time to the end of the window.
            Algorithm::FixedWindow(_) => lease.min(decision.reset),
            _ => lease,
        };
        let ends_at = said.sent + (lasts - lasts / DRIFT);
        let mut block = Self { ask, charge, remaining: 0, reset_at: Timestamp::ZERO, ends_at };
        block.hear(decision, said);
        block
    }

    /// Records what the store has left of the limit.
    pub(super) fn hear(&mut self, decision: &Decision, said: &ChargeNumbers) {
        self.remaining = decision.remaining;
        self.reset_at = said.received + decision.reset;
    }

    /// Pays for a request.
    ///
    /// The caller has checked with [`can_pay`](Self::can_pay) that enough units are left.
    pub(super) fn pay(&mut self, ask: &ChargeRequest, now: Timestamp) -> ChargeReply {
        // The request receives the lowest units, which time gives back first; the block keeps those
        // above them, and with them its mark.
        let spent = match ask.cost {
            0 => Charge::new(0, self.charge.at, 0),
            cost => ask.settled(&self.charge, cost),
        };
        self.charge.cost -= ask.cost;
        let limit = ask.quota().capacity();
        let remaining = self.remaining.saturating_add(self.charge.cost).min(limit);
        let reset = match remaining < limit {
            // Time may have given back units since the last reply. The store counts them at the
            // next call; until then the reset is in the future, as it must be below the limit.
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

    /// Returns the units that are left, to be given back; `None` if all are spent.
    pub(super) fn into_unspent(self) -> Option<Unspent> {
        let Self { ask, charge, .. } = self;
        (charge.cost > 0).then_some(Unspent { ask, charge })
    }
}

/// Whether two asks concern the same limit, key and tier.
pub(super) fn is_same(one: &ChargeRequest, other: &ChargeRequest) -> bool {
    // Asks of one layer share the policy, so comparing pointers is nearly always enough.
    let is_one_limit = || Arc::ptr_eq(&one.policy, &other.policy) || one.policy == other.policy;
    one.key == other.key && one.tier == other.tier && is_one_limit()
}

/// The shortest reset that is reported: a microsecond, the resolution of the store.
const SOON: Duration = Duration::from_micros(1);
