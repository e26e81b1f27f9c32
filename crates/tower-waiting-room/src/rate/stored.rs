//! The part of the rate-limit stage for limits that are counted in a store shared by several nodes.
//!
//! ```text
//! ask_store ─► Rated::Pending ──store──► replied ─┬─► conclude ─► Rated
//!                                                 └─► failed ─► Rated   by RateStoreFailure
//! ```
//!
//! Each request causes at most one query, which covers all limits that apply to the request. If the
//! store fails, the failure policy determines whether the request is forwarded. A full queue of
//! calls on this node does not count as a failure of the store: requests to which a hard limit
//! applies are then refused, whatever the policy.

use std::sync::Arc;

use smallvec::SmallVec;
use waiting_room_core::{
    Reason, StoreError, Timestamp, error::StoreErrorKind, rate::charging::charge_all,
};

use super::{
    policy::Policy,
    remote::{AskedLimits, PendingCharge, StoreReply},
    report::{ChargeSet, Charged, RateReport},
    stage::{RateStage, Rated},
    store::{RateStoreFailure, Shared},
};
use crate::request::Caller;

impl RateStage {
    /// Continues a pending request with the store's reply.
    pub(crate) fn replied(
        &self,
        StoreReply { asked, replies }: StoreReply,
        now: Timestamp,
    ) -> Rated {
        let Some(shared) = &self.shared else { return Rated::Unavailable };
        let replies = match replies {
            Ok(replies) => replies,
            Err(error) => return self.failed(shared.on_failure, &asked, &error, now),
        };
        let charges = asked.charges(&replies, &shared.store);
        let hard = charges.clone().filter(|charge| !charge.ask.is_soft);
        let soft = charges.clone().filter(|charge| charge.ask.is_soft);
        let is_allowed = hard.clone().all(|charge| charge.is_charged());
        // The store has charged the soft limits in the same call, so their charges are refunded
        // too.
        let give_back = |report: &mut RateReport| {
            let spent =
                charges.clone().filter_map(|charge| charge.spent(&asked.policies[charge.policy()]));
            spent.for_each(|mut spent| spent.settle(0, now));
            report.refuse_to_hold(hard.clone().filter_map(|charge| charge.given_back()));
        };
        let rated =
            self.conclude(&asked.policies, is_allowed, hard.clone(), || soft, give_back, now);
        self.mark_counted(rated, asked.is_watched)
    }

    /// Prepares one query to the store for all limits that apply to a request.
    pub(super) fn ask_store(
        &self,
        shared: &Shared,
        policies: &Arc<Vec<Arc<Policy>>>,
        caller: &Caller<'_>,
        now: Timestamp,
    ) -> Rated {
        // Nodes must agree on the hashes of keys, but each layer has its own hasher. The hasher of
        // the store is therefore used.
        let hasher = shared.store.hasher();
        let caller = &Caller { hasher: &hasher, ..*caller };
        let is_watched = self.watch(caller, policies);
        let mut applying = SmallVec::new();
        let mut asks = Vec::with_capacity(2);
        let applies = |index: usize, key| {
            let policy = &policies[index];
            // The number of keys in the store is bounded: a new key beyond the bound is counted
            // under its network.
            let key = policy.stored_keys.as_ref().map_or(key, |keys| keys.of(key, now));
            if let Some(ask) = policy.ask(key, policy.tier(caller), policy.cost(caller)) {
                applying.push(index);
                asks.push(ask);
            }
        };
        let applying_all = self.each_applying(caller, policies, applies);
        self.watch_places(applying.iter().map(|&index: &usize| &policies[index]));
        match applying_all {
            Err(unknown) => unknown,
            Ok(()) if asks.is_empty() => Rated::Free,
            Ok(()) => {
                let policies = Arc::clone(policies);
                let asked = AskedLimits { policies, applying, asks, is_watched };
                Rated::Pending(PendingCharge::new(&shared.store, asked))
            }
        }
    }

    /// Applies the failure policy to a request for which the store returned an error.
    fn failed(
        &self,
        on_failure: RateStoreFailure,
        asked: &AskedLimits,
        error: &StoreError,
        now: Timestamp,
    ) -> Rated {
        if error.kind() == StoreErrorKind::Busy {
            return self.overloaded(asked, error, now);
        }
        self.telemetry.limits_failed(on_failure.as_str(), error);
        let policies = &asked.policies;
        match on_failure {
            RateStoreFailure::Admit => {
                let mut report = RateReport::new(Arc::clone(policies), now);
                report.admitted = Reason::AdmittedUnlimited;
                self.mark_counted(Rated::Pass(report), asked.is_watched)
            }
            RateStoreFailure::LocalShare { .. } => {
                // The keys were hashed with the hasher of the store. The local limiter can use
                // these hashes, because it is used only during outages and therefore sees no other
                // hashes.
                let mut hard = ChargeSet::of(policies);
                let mut soft = ChargeSet::of(policies);
                for (&policy, ask) in asked.applying.iter().zip(&asked.asks) {
                    let charges = if ask.is_soft { &mut soft } else { &mut hard };
                    charges.push(policy, ask.key, ask.tier, ask.cost);
                }
                let is_allowed = charge_all(&mut hard.charges, now);
                let mut rated =
                    self.conclude_here(&hard, &mut soft, is_allowed, asked.is_watched, now);
                if let Rated::Pass(report) | Rated::Delay(report, _) = &mut rated {
                    report.admitted = Reason::AdmittedLocalShare;
                }
                rated
            }
            RateStoreFailure::Refuse => Rated::Unavailable,
        }
    }

    /// Decides on a request that arrived while this node had more queries than the store could
    /// handle.
    ///
    /// The failure policy does not apply: with [`RateStoreFailure::Admit`], a flood could overload
    /// the node and thereby disable the limits. The request is refused unless only soft limits
    /// apply to it, because soft limits never refuse a request.
    fn overloaded(&self, asked: &AskedLimits, error: &StoreError, now: Timestamp) -> Rated {
        if asked.asks.iter().any(|ask| !ask.is_soft) {
            self.telemetry.limits_failed("overload", error);
            return Rated::Busy;
        }
        let mut report = RateReport::new(Arc::clone(&asked.policies), now);
        report.admitted = Reason::AdmittedUnlimited;
        self.mark_counted(Rated::Pass(report), asked.is_watched)
    }
}
