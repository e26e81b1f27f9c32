//! The rate-limit stage: selects the limits that apply to a request, charges them, and decides.
//!
//! Limits are counted in this process, or in a store that nodes share. Both ways lead to the same
//! conclusion:
//!
//! ```text
//! charge ─┬─► charge_here ─► conclude ─► Rated                    counted in this process
//!         └─► ask_store ─► Rated::Pending                         counted in a store
//!                              └─► replied ─┬─► conclude ─► Rated
//!                                           └─► failed ─► Rated   by the policy for outages
//! ```
//!
//! Limits fall into two groups. *Hard* limits refuse ([`OverLimit::Refuse`]) and are charged all or
//! none. *Soft* ones only observe ([`OverLimit::Mark`], [`OverLimit::Shadow`]): each is charged by
//! itself, after all hard limits have allowed the request, so that they count only requests that
//! go on.
//!
//! The stage decides once for each request and keeps no state of it: charges live in the limiters
//! or in the store, and everything else in the [`RateReport`] that travels with the request.

use std::sync::{Arc, atomic::Ordering};

use smallvec::SmallVec;
use tokio::runtime::Handle;
use waiting_room_core::{
    ConfigError, Reason, Timestamp,
    rate::{Algorithm, ChargeRequest, KeyHash, charge_all},
};

use super::{
    config::RateConfig,
    diagnosis::Diagnosis,
    handle::{ChargeHandle, OverSoftLimit, Spent},
    limit::{Cost, OverLimit},
    limit_set::LimitSet,
    policy::Policy,
    remote::PendingCharge,
    report::{Applied, ChargeSet, Charged, RateReport},
    store::Shared,
    stored_keys::StoredKeys,
    turn::{HeldRequest, HeldRequests, Turn},
};
use crate::{
    ambient::StageClock,
    misconfiguration::Misconfiguration,
    request::{Caller, Doubt, Found, Matcher, Part},
    telemetry::{Rate, Telemetry},
};

/// The rate limits of a layer, ready to be applied.
pub(crate) struct RateStage {
    /// The policies in force. Shared with the watch of a rules file, which may replace them.
    pub(crate) in_force: Arc<LimitSet>,
    /// The store that counts the limits; `None` if this process does.
    pub(super) shared: Option<Shared>,
    /// The requests that leaky queues hold at the moment.
    held: Arc<HeldRequests>,
    /// Inspects the first requests for signs of a wrong set-up.
    diagnosis: Diagnosis,
    /// For charges that are settled later, by the application or when a held request is dropped.
    clock: StageClock,
    pub(super) telemetry: Telemetry,
}

/// The decision of the limits about one request.
pub(crate) enum Rated {
    /// The store that counts the limits has yet to reply.
    Pending(Box<PendingCharge>),
    /// The store works, but this node has more requests than the store can decide in time.
    Busy,
    /// All limits allow the request. It goes on at its turn in a leaky queue.
    Delay(Box<RateReport>, Box<Turn>),
    /// No limit applies.
    Free,
    /// The request lacks the key of a hard limit.
    KeyMissing(Arc<Policy>),
    /// All hard limits allow the request.
    Pass(Box<RateReport>),
    /// At least one hard limit refuses the request, so none was charged.
    Refuse(Box<RateReport>),
    /// A hard limit needs the address of the client, which is unknown.
    Stranger,
    /// The store cannot decide, and the policy for that is to refuse.
    Unavailable,
}

impl RateStage {
    /// Prepares the limits of a configuration.
    ///
    /// # Errors
    ///
    /// A limit that cannot be kept.
    pub(crate) fn new(
        config: &RateConfig,
        telemetry: Telemetry,
        clock: StageClock,
    ) -> Result<Self, ConfigError> {
        config.client_ip.lint().for_each(|it| telemetry.misconfigured(it));
        let in_force = LimitSet::new(config.shared.clone(), clock.clone(), telemetry.clone());
        // The first limits go through the same code, and so the same checks, as a live change.
        in_force.change(|_| config.limits.clone())?;
        Ok(Self {
            in_force: Arc::new(in_force),
            shared: config.shared.clone(),
            held: HeldRequests::new(config.max_held),
            diagnosis: Diagnosis::default(),
            clock,
            telemetry,
        })
    }

    /// Charges all limits that apply to a request, or none of them.
    ///
    /// With a store this only prepares the query: the result is [`Rated::Pending`], unless the
    /// request is decided without it. `policies` is one snapshot of the limits in force, which a
    /// pending request keeps: a live change meanwhile cannot mix two sets of limits.
    pub(crate) fn charge(
        &self,
        policies: &Arc<Vec<Arc<Policy>>>,
        caller: &Caller<'_>,
        now: Timestamp,
    ) -> Rated {
        if let Some(shared) = &self.shared {
            return self.ask_store(shared, policies, caller, now);
        }
        let is_watched = self.watch(caller, policies);
        let (mut hard, mut soft) = (ChargeSet::of(policies), ChargeSet::of(policies));
        let applies = |index: usize, key| {
            let policy = &policies[index];
            let charges =
                if policy.limit.over_limit == OverLimit::Refuse { &mut hard } else { &mut soft };
            charges.push(index, key, policy.tier(caller), policy.cost(caller));
        };
        if let Err(unknown) = self.each_applying(caller, policies, applies) {
            return unknown;
        }
        if hard.asks.is_empty() && soft.asks.is_empty() {
            return Rated::Free;
        }
        let rated = self.charge_here(&mut hard, &mut soft, is_watched, now);
        self.watch_places(hard.policies());
        self.watch_places(soft.policies());
        rated
    }

    /// Charges limits that are counted in this process: the hard ones all or none, then each soft
    /// one by itself.
    pub(super) fn charge_here(
        &self,
        hard: &mut ChargeSet<'_>,
        soft: &mut ChargeSet<'_>,
        is_watched: bool,
        now: Timestamp,
    ) -> Rated {
        let is_allowed = charge_all(&mut hard.asks, now);
        // The soft limits have not been charged yet when this runs. The decisions are computed anew
        // after the refund, so that the headers report what remains then.
        let give_back = |report: &mut RateReport| {
            let spent = hard.charges().filter_map(|it| it.spent(&hard.policies[it.policy]));
            spent.for_each(|mut it| it.settle(0, now));
            report.refuse_to_hold(hard.looks(now));
        };
        let rated = self.conclude(
            hard.policies,
            is_allowed,
            hard.charges(),
            move || soft.charge_each(now),
            give_back,
            now,
        );
        self.mark_counted(rated, is_watched)
    }

    /// Reports keys that lost their places in the memory of these limits since the last report.
    pub(super) fn watch_places<'a>(&self, policies: impl Iterator<Item = &'a Arc<Policy>>) {
        for policy in policies {
            let displaced = policy.newly_displaced();
            if displaced > 0 {
                self.telemetry.displaced(&policy.subject, displaced);
                self.telemetry.misconfigured(Misconfiguration::MaxKeysExceeded);
            }
        }
    }

    /// Concludes once the hard limits were charged, all or none of them: the request is refused, is
    /// held until its turn in a leaky queue, or goes on.
    ///
    /// - `hard` yields the hard limits that apply.
    /// - `soft` charges the soft ones and yields them; called only for a request that goes on.
    /// - `give_back` refunds all charges and corrects the report. It is called if the request would
    ///   have to be held and cannot be.
    pub(super) fn conclude<C: Charged, S: Iterator<Item = C>>(
        &self,
        policies: &Arc<Vec<Arc<Policy>>>,
        is_allowed: bool,
        hard: impl Iterator<Item = C> + Clone,
        soft: impl FnOnce() -> S,
        give_back: impl FnOnce(&mut RateReport),
        now: Timestamp,
    ) -> Rated {
        let applied = |it: C| {
            let (policy, tier) = (it.policy(), it.tier());
            Some(Applied { policy, tier, decision: it.decision()? })
        };
        let mut report = RateReport::new(Arc::clone(policies), now);
        // Pushed one by one: most requests have one decision, and `extend` would reserve first.
        hard.clone().filter_map(applied).for_each(|it| report.decisions.push(it));
        if !is_allowed {
            return self.refuse(policies, report);
        }
        let delay = report.delay();
        let place = if delay.is_zero() {
            None
        } else if let Some(place) = self.hold() {
            // A held request that is dropped refunds the queues alone; see `Turn`.
            let queues = hard.clone().filter(|it| policies[it.policy()].is_queue());
            Some(place.with(queues.filter_map(|it| it.spent(&policies[it.policy()]))))
        } else {
            give_back(&mut report);
            return self.refuse(policies, report);
        };
        // The request goes on from here. Everything below only reports, marks and hands over.
        let mut adjustable: SmallVec<[Spent; 2]> = SmallVec::new();
        for charged in hard {
            self.allowed(&charged, policies, &mut adjustable);
        }
        let mut over = SmallVec::new();
        for charged in soft() {
            let policy = &policies[charged.policy()];
            if charged.is_charged() {
                self.allowed(&charged, policies, &mut adjustable);
                continue;
            }
            self.telemetry.rated(&policy.subject, policy.over());
            if policy.limit.over_limit == OverLimit::Mark {
                over.push(Arc::clone(&policy.name));
            }
        }
        report.over_soft = (!over.is_empty()).then_some(OverSoftLimit(over));
        if !adjustable.is_empty() {
            report.spend = Some(ChargeHandle::new(adjustable, self.clock.clone()));
        }
        match place {
            Some(place) => Rated::Delay(report, Turn::after(delay, place)),
            None => Rated::Pass(report),
        }
    }

    /// Takes a place for a request that must wait for its turn. `None` if all places are taken, or
    /// without a tokio runtime, whose timer would have to end the wait.
    fn hold(&self) -> Option<HeldRequest> {
        if Handle::try_current().is_err() {
            self.telemetry.misconfigured(Misconfiguration::NoRuntime);
            return None;
        }
        HeldRequest::take(&self.held, &self.clock)
    }

    /// Reports that a limit allowed a request. Adds the charge to `adjustable` if the application
    /// may correct it.
    fn allowed(
        &self,
        charged: &impl Charged,
        policies: &[Arc<Policy>],
        adjustable: &mut SmallVec<[Spent; 2]>,
    ) {
        let policy = &policies[charged.policy()];
        self.telemetry.rated(&policy.subject, Rate::Allowed);
        if policy.limit.is_adjustable {
            adjustable.extend(charged.spent(policy));
        }
    }

    /// Reports the limits that refuse a request. The others are not reported: the request was not
    /// charged to them.
    fn refuse(&self, policies: &[Arc<Policy>], report: Box<RateReport>) -> Rated {
        for it in report.decisions.iter().filter(|it| !it.decision.allowed) {
            self.telemetry.rated(&policies[it.policy].subject, Rate::Refused);
        }
        Rated::Refuse(report)
    }

    /// Calls `applies` with the index of each limit that applies to a request, and with the key of
    /// the request for it.
    ///
    /// # Errors
    ///
    /// The decision about the request, if it has no key for a hard limit that requires one. A soft
    /// limit without a key is skipped, and reported as exceeded.
    pub(super) fn each_applying(
        &self,
        caller: &Caller<'_>,
        policies: &[Arc<Policy>],
        mut applies: impl FnMut(usize, KeyHash),
    ) -> Result<(), Rated> {
        for (index, policy) in policies.iter().enumerate() {
            let unknown = match policy.key(caller) {
                Found::Key(key) => {
                    applies(index, key);
                    continue;
                }
                Found::Bypass => continue,
                Found::Refuse => Rated::KeyMissing(Arc::clone(policy)),
                Found::Stranger => {
                    self.telemetry.misconfigured(Misconfiguration::PeerUnknown);
                    Rated::Stranger
                }
            };
            self.telemetry.rated(&policy.subject, policy.over());
            if policy.limit.over_limit == OverLimit::Refuse {
                return Err(unknown);
            }
        }
        Ok(())
    }

    /// Inspects one of the first requests for signs of a wrong set-up. Returns whether this is one.
    pub(super) fn watch(&self, caller: &Caller<'_>, policies: &[Arc<Policy>]) -> bool {
        let is_due = self.diagnosis.0.load(Ordering::Relaxed) < Diagnosis::WATCHED;
        if is_due {
            self.diagnosis.look(caller, policies, &self.telemetry);
        }
        is_due
    }

    /// Marks a request that goes on as counted by this layer, if it is one of the first. The same
    /// limits further inside then notice that they count it again.
    pub(super) fn mark_counted(&self, mut rated: Rated, is_watched: bool) -> Rated {
        if let Rated::Pass(report) | Rated::Delay(report, _) = &mut rated {
            report.counted = is_watched.then(|| self.diagnosis.clone());
        }
        rated
    }
}

/// A policy, as it is applied to one request. How it is made is in `policy.rs`.
impl Policy {
    /// Finds the key of a request. Returns [`Found::Bypass`] if the limit does not cover it.
    fn key(&self, caller: &Caller<'_>) -> Found {
        let limit = &self.limit;
        if limit.scope.as_ref().is_some_and(|scope| !scope.covers(&caller.head)) {
            return Found::Bypass;
        }
        // A condition on an unknown address can be neither met nor failed. The other conditions are
        // still evaluated: if one of them fails, the address does not matter.
        let mut is_stranger = false;
        for condition in &*limit.conditions {
            if condition.part == Part::Address && caller.head.client_ip().is_none() {
                is_stranger = true;
            } else if !condition.holds(caller) {
                return Found::Bypass;
            }
        }
        if is_stranger { Found::Stranger } else { limit.key.find(limit.missing_key, caller) }
    }

    /// The index of the tier of a request; 0 if it is in none.
    ///
    /// A larger quota is an exemption, so a test that leaves doubt does not grant it.
    pub(super) fn tier(&self, caller: &Caller<'_>) -> usize {
        let is_in = |matcher: &Matcher| matcher.covers(&caller.head, Doubt::Exempt);
        let tier = self.limit.tiers.iter().position(|tier| is_in(&tier.matcher));
        tier.map_or(0, |tier| tier + 1)
    }

    /// The cost of a request, in units of the quota.
    pub(super) fn cost(&self, caller: &Caller<'_>) -> u64 {
        match &self.limit.cost {
            Cost::By(closure) => closure(&caller.head),
            Cost::Fixed(cost) => *cost,
        }
    }

    /// The number of keys in use that lost their places since the last call.
    fn newly_displaced(&self) -> u64 {
        let in_store = self.stored_keys.as_ref().map_or(0, StoredKeys::displaced);
        let displaced = self.limiter.displaced() + in_store;
        // Nearly always nothing has changed, and a load keeps the cache line shared between cores.
        if displaced == self.displaced.load(Ordering::Relaxed) {
            return 0;
        }
        // Of several threads that get here, each reports only what is new since the maximum that it
        // replaces, so nothing is counted twice.
        displaced.saturating_sub(self.displaced.fetch_max(displaced, Ordering::Relaxed))
    }

    /// The reason with which requests that exceed this limit are refused.
    pub(crate) fn reason(&self) -> Reason {
        Reason::RefusedRate(Arc::clone(&self.name))
    }

    /// Whether the limit holds requests until their turn.
    fn is_queue(&self) -> bool {
        self.limit.algorithm == Algorithm::LeakyQueue
    }

    /// The decision that is reported about a request that exceeds the limit.
    fn over(&self) -> Rate {
        match self.limit.over_limit {
            OverLimit::Mark => Rate::OverSoft,
            OverLimit::Refuse => Rate::Refused,
            OverLimit::Shadow => Rate::OverShadow,
        }
    }

    /// The query to the store about this limit; `None` if this process counts it.
    pub(super) fn ask(&self, key: KeyHash, tier: usize, cost: u64) -> Option<ChargeRequest> {
        let ask = ChargeRequest::new(Arc::clone(self.shared.as_ref()?), key, tier, cost);
        Some(if self.limit.over_limit == OverLimit::Refuse { ask } else { ask.soft() })
    }
}
