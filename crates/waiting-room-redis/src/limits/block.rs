//! A block of units of a limit, which are already charged and may be spent until the lease ends.
//!
//! ```text
//!  level of a bucket after the charge
//!    ├── others ──┼── request ──┼──────── block ────────┤ mark of the block
//!                               ├ 1st ┼ 2nd ┼── left ───┤
//! ```
//!
//! Each request that the block pays for gets a receipt for a separate part of the block's range.
//! The request can thus be settled like any other charge, and all receipts together never return
//! more units than were charged.

use std::{sync::Arc, time::Duration};

use waiting_room_core::{
    Timestamp,
    rate::{Algorithm, Charge, ChargeReply, ChargeRequest, Decision},
};

use super::{refused::DRIFT, reply::ChargeNumbers};

/// The units of one limit that a node holds for one client key in one tier.
///
/// All times are on this node's own clock.
#[derive(Debug)]
pub(super) struct Block {
    /// The limit, the client key and the tier of the block.
    ask: ChargeRequest,
    /// The receipt for the unspent units.
    charge: Charge,
    /// The units that the store had left in addition to the block, according to its last reply.
    remaining: u64,
    /// The time at which `remaining` increases, according to the store's last reply.
    reset_at: Timestamp,
    /// The end of the lease, when unspent units are given back.
    ends_at: Timestamp,
}

/// Units that were charged but not spent, and are to be given back.
#[derive(Clone, Debug)]
pub(super) struct Unspent {
    pub(super) ask: ChargeRequest,
    /// The receipt for the unspent units.
    pub(super) charge: Charge,
}

impl Block {
    /// Creates the block that the store has charged together with a decision.
    ///
    /// The lease begins when the call was sent, which is the earliest time at which the store can
    /// have made the charge. The lease is shortened by the [`DRIFT`] of a slow clock.
    pub(super) fn new(
        ask: ChargeRequest,
        charge: Charge,
        decision: &Decision,
        said: &ChargeNumbers,
        lease: Duration,
    ) -> Self {
        let lasts = match ask.policy.algorithm() {
            // Units that were charged in one window must not be spent in the next window. After a
            // charge, `reset` is the time until the end of the window.
            Algorithm::FixedWindow(_) => lease.min(decision.reset),
            Algorithm::Gcra
            | Algorithm::LeakyQueue
            | Algorithm::SlidingCounter
            | Algorithm::SlidingLog(_)
            | Algorithm::TokenBucket => lease,
        };
        let ends_at = said.sent + (lasts - lasts / DRIFT);
        let mut block = Self { ask, charge, remaining: 0, reset_at: Timestamp::ZERO, ends_at };
        block.hear(decision, said);
        block
    }

    /// Records how many units of the limit the store has left.
    pub(super) fn hear(&mut self, decision: &Decision, said: &ChargeNumbers) {
        self.remaining = decision.remaining;
        self.reset_at = said.received + decision.reset;
    }

    /// Pays for a request with units from the block.
    ///
    /// The caller must have checked with [`can_pay`](Self::can_pay) that enough units are left.
    pub(super) fn pay(&mut self, ask: &ChargeRequest, now: Timestamp) -> ChargeReply {
        // The request receives the lowest units, which the passage of time restores first. The
        // block keeps the higher units, and thus its mark.
        let spent = match ask.cost {
            0 => Charge::new(0, self.charge.at, 0),
            cost => ask.settled(&self.charge, cost),
        };
        self.charge.cost -= ask.cost;
        let limit = ask.quota().capacity();
        let remaining = self.remaining.saturating_add(self.charge.cost).min(limit);
        let reset = if remaining < limit {
            // Time may have restored units since the last reply, but the store counts them only at
            // the next call. While some units are used, the reset must be in the future, so it is
            // at least `SOON`.
            self.reset_at.since(now).max(SOON)
        } else {
            Duration::ZERO
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

    /// Returns the unspent units, which have to be given back, or `None` if all units are spent.
    pub(super) fn into_unspent(self) -> Option<Unspent> {
        let Self { ask, charge, .. } = self;
        (charge.cost > 0).then_some(Unspent { ask, charge })
    }
}

/// Returns whether two charge requests are for the same limit, key and tier.
pub(super) fn is_same(one: &ChargeRequest, other: &ChargeRequest) -> bool {
    // All charge requests of a layer share the policy of a limit, so comparing pointers is nearly
    // always enough.
    let is_one_limit = || Arc::ptr_eq(&one.policy, &other.policy) || one.policy == other.policy;
    one.key == other.key && one.tier == other.tier && is_one_limit()
}

/// The shortest reset that is reported: one microsecond, the resolution of the store.
const SOON: Duration = Duration::from_micros(1);
