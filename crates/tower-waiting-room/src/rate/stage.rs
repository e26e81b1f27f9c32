//! The rate-limit stage: selects the limits that apply to a request, charges them, and decides on
//! the request.
//!
//! Limits are counted in this process, or in a store that nodes share. Both cases end in the same
//! function, `conclude`:
//!
//! ```text
//! charge ─┬─► conclude_here ─► conclude ─► Rated                  counted in this process
//!         └─► ask_store ─► Rated::Pending                         counted in a store
//!                              └─► replied ─┬─► conclude ─► Rated
//!                                           └─► failed ─► Rated   by the policy for outages
//! ```
//!
//! Limits fall into two groups. *Hard* limits refuse requests ([`OverLimit::Refuse`]), and either
//! all or none of them are charged. *Soft* limits only observe ([`OverLimit::Mark`],
//! [`OverLimit::Shadow`]). Each soft limit is charged separately, after all hard limits have
//! allowed the request, so that soft limits count only requests that are forwarded.
//!
//! The stage makes one decision for each request, and stores no state about the request. Charges
//! are stored in the limiters or in the store, and everything else in the [`RateReport`] that
//! accompanies the request.

use std::sync::{Arc, atomic::Ordering};

use smallvec::SmallVec;
use tokio::runtime::Handle;
use waiting_room_core::{
    ConfigError, Reason, Timestamp,
    rate::{Algorithm, ChargeRequest, KeyHash, charging::charge_all},
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
    /// The current policies, shared with the watcher of a rules file, which may replace them.
    pub(crate) in_force: Arc<LimitSet>,
    /// The store that counts the limits, or `None` if this process counts them.
    pub(super) shared: Option<Shared>,
    /// The requests that leaky queues currently hold.
    held: Arc<HeldRequests>,
    /// Whether the headers of responses report the limits.
    has_headers: bool,
    /// The inspection of the first requests for signs of a wrong setup.
    diagnosis: Diagnosis,
    /// The clock for charges that are settled later, by the application or when a held request is
    /// dropped.
    clock: StageClock,
    pub(super) telemetry: Telemetry,
}

/// The joint decision of all limits for one request.
pub(crate) enum Rated {
    /// The store that counts the limits has not replied yet.
    Pending(Box<PendingCharge>),
    /// The store works, but this node has more requests than the store can handle in time.
    Busy,
    /// All limits allow the request, but a leaky queue holds it until its turn.
    Delay(Box<RateReport>, Box<Turn>),
    /// The request may continue, and there is nothing to report: no limit applies to it, or all
    /// limits that apply allow it, and this is visible neither in a header nor to the application.
    Free,
    /// The request lacks the key of a hard limit.
    KeyMissing(Arc<Policy>),
    /// All hard limits allow the request.
    Pass(Box<RateReport>),
    /// At least one hard limit refuses the request, so no limit was charged.
    Refuse(Box<RateReport>),
    /// A hard limit needs the address of the client, which is unknown.
    Stranger,
    /// The store failed to decide, and the failure policy refuses the request.
    Unavailable,
}

impl Rated {
    /// Returns whether the request may continue at once, with the usual reason for an admission.
    #[inline]
    pub(crate) fn is_allowed(&self) -> bool {
        if let Self::Pass(report) = self {
            return report.admitted == Reason::AdmittedLimits;
        }
        matches!(self, Self::Free)
    }
}

impl RateStage {
    /// Prepares the limits of a configuration.
    ///
    /// # Errors
    ///
    /// Returns an error for an invalid limit.
    pub(crate) fn new(
        config: &RateConfig,
        telemetry: Telemetry,
        clock: StageClock,
    ) -> Result<Self, ConfigError> {
        config
            .client_ip
            .lint()
            .for_each(|misconfiguration| telemetry.misconfigured(misconfiguration));
        let in_force = LimitSet::new(config.shared.clone(), clock.clone(), telemetry.clone());
        // The initial limits go through the same code, and therefore the same checks, as a live
        // change.
        in_force.change(|_| config.limits.clone())?;
        Ok(Self {
            in_force: Arc::new(in_force),
            shared: config.shared.clone(),
            held: HeldRequests::new(config.max_held),
            has_headers: !config.headers.fields().is_empty(),
            diagnosis: Diagnosis::default(),
            clock,
            telemetry,
        })
    }

    /// Charges all limits that apply to a request, or none of them.
    ///
    /// With a store, this method only prepares the query, and returns [`Rated::Pending`] unless the
    /// request can be decided without the store. `policies` is a snapshot of the current limits. A
    /// pending request keeps its snapshot, so that a live change cannot mix two sets of limits.
    /// `now` is called only if a limit applies.
    pub(crate) fn charge(
        &self,
        policies: &Arc<Vec<Arc<Policy>>>,
        caller: &Caller<'_>,
        now: &dyn Fn() -> Timestamp,
    ) -> Rated {
        if let Some(shared) = &self.shared {
            return self.ask_store(shared, policies, caller, now());
        }
        let is_watched = self.watch(caller, policies);
        let mut hard = ChargeSet::of(policies);
        let mut soft = ChargeSet::of(policies);
        let applies = |index: usize, key| {
            let policy = &policies[index];
            let charges =
                if policy.limit.over_limit == OverLimit::Refuse { &mut hard } else { &mut soft };
            charges.push(index, key, policy.tier(caller), policy.cost(caller));
        };
        if let Err(unknown) = self.each_applying(caller, policies, applies) {
            return unknown;
        }
        if hard.charges.is_empty() && soft.charges.is_empty() {
            return Rated::Free;
        }
        let now = now();
        let is_allowed = charge_all(&mut hard.charges, now);
        let is_silent =
            !self.has_headers && !is_watched && soft.charges.is_empty() && hard.is_plain();
        if is_allowed && is_silent {
            hard.policies().for_each(|policy| self.telemetry.rated(&policy.subject, Rate::Allowed));
            self.watch_places(hard.policies());
            return Rated::Free;
        }
        let rated = self.conclude_here(&hard, &mut soft, is_allowed, is_watched, now);
        self.watch_places(hard.policies());
        self.watch_places(soft.policies());
        rated
    }

    /// Decides on a request whose limits are counted in this process, after either all or none of
    /// its hard limits have been charged.
    pub(super) fn conclude_here<'a>(
        &self,
        hard: &ChargeSet<'a>,
        soft: &mut ChargeSet<'a>,
        is_allowed: bool,
        is_watched: bool,
        now: Timestamp,
    ) -> Rated {
        // This closure runs before the soft limits are charged. The decisions are computed again
        // after the refund, so that the headers include the refunded units in the remaining quota.
        let give_back = |report: &mut RateReport| {
            let spent = hard
                .charges
                .iter()
                .filter_map(|charge| charge.spent(&hard.policies[charge.policy]));
            spent.for_each(|mut spent| spent.settle(0, now));
            report.refuse_to_hold(hard.looks(now));
        };
        let rated = self.conclude(
            hard.policies,
            is_allowed,
            hard.charges.iter(),
            move || soft.charge_each(now),
            give_back,
            now,
        );
        self.mark_counted(rated, is_watched)
    }

    /// Reports the keys that have lost their places in the memory of these limits since the last
    /// report.
    pub(super) fn watch_places<'a>(&self, policies: impl Iterator<Item = &'a Arc<Policy>>) {
        for policy in policies {
            let displaced = policy.newly_displaced();
            if displaced > 0 {
                self.telemetry.displaced(&policy.subject, displaced);
                self.telemetry.misconfigured(Misconfiguration::MaxKeysExceeded);
            }
        }
    }

    /// Decides on a request after either all or none of its hard limits have been charged. The
    /// request is refused, held until its turn in a leaky queue, or forwarded.
    ///
    /// - `hard` yields the hard limits that apply.
    /// - `soft` charges the soft limits and yields them, and is called only for an allowed request.
    /// - `give_back` refunds all charges and corrects the report, and is called if the request
    ///   would have to be held but cannot be.
    pub(super) fn conclude<C: Charged, S: Iterator<Item = C>>(
        &self,
        policies: &Arc<Vec<Arc<Policy>>>,
        is_allowed: bool,
        hard: impl Iterator<Item = C> + Clone,
        soft: impl FnOnce() -> S,
        give_back: impl FnOnce(&mut RateReport),
        now: Timestamp,
    ) -> Rated {
        let applied = |charge: C| {
            let policy = charge.policy();
            let tier = charge.tier();
            Some(Applied { policy, tier, decision: charge.decision()? })
        };
        let mut report = RateReport::new(Arc::clone(policies), now);
        // The decisions are pushed one by one, because most requests have a single decision, and
        // `extend` would reserve space first.
        hard.clone().filter_map(applied).for_each(|applied| report.decisions.push(applied));
        if !is_allowed {
            return self.refuse(policies, report);
        }
        let delay = report.delay();
        let place = if delay.is_zero() {
            None
        } else if let Some(place) = self.hold() {
            // Dropping a held request refunds only the charges against leaky queues; see `Turn`.
            let queues = hard.clone().filter(|charge| policies[charge.policy()].is_queue());
            Some(place.with(queues.filter_map(|charge| charge.spent(&policies[charge.policy()]))))
        } else {
            give_back(&mut report);
            return self.refuse(policies, report);
        };
        // From here on, the request is allowed. The code below only reports decisions, marks the
        // request and passes on its charges.
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

    /// Takes a place for a request that has to wait for its turn. Returns `None` if all places are
    /// taken. Also returns `None` if there is no tokio runtime, because no timer could then end the
    /// wait.
    fn hold(&self) -> Option<HeldRequest> {
        if Handle::try_current().is_err() {
            self.telemetry.misconfigured(Misconfiguration::NoRuntime);
            return None;
        }
        HeldRequest::take(&self.held, &self.clock)
    }

    /// Reports that a limit allowed a request, and adds the charge to `adjustable` if the
    /// application may correct it.
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

    /// Reports the limits that refuse a request. The other limits are not reported, because the
    /// request was not charged against them.
    fn refuse(&self, policies: &[Arc<Policy>], report: Box<RateReport>) -> Rated {
        for it in report.decisions.iter().filter(|report| !report.decision.is_allowed()) {
            self.telemetry.rated(&policies[it.policy].subject, Rate::Refused);
        }
        Rated::Refuse(report)
    }

    /// Calls `applies` with the index of each limit that applies to a request, and with the key of
    /// the request for that limit.
    ///
    /// # Errors
    ///
    /// If the request lacks a key that a hard limit requires, returns the decision not to forward
    /// it. A soft limit is skipped, and reported as exceeded, if the request lacks its key.
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

    /// Inspects a request for signs of a wrong setup, if it is one of the first requests. Returns
    /// whether the request was inspected.
    pub(super) fn watch(&self, caller: &Caller<'_>, policies: &[Arc<Policy>]) -> bool {
        let is_due = self.diagnosis.0.load(Ordering::Relaxed) < Diagnosis::WATCHED;
        if is_due {
            self.diagnosis.look(caller, policies, &self.telemetry);
        }
        is_due
    }

    /// Marks an allowed request as counted by this layer, if the request is one of the layer's
    /// first requests. If the same layer is applied again further inside, the mark reveals that the
    /// same limits count the request twice.
    pub(super) fn mark_counted(&self, mut rated: Rated, is_watched: bool) -> Rated {
        if let Rated::Pass(report) | Rated::Delay(report, _) = &mut rated {
            report.counted = is_watched.then(|| self.diagnosis.clone());
        }
        rated
    }
}

/// Methods that apply a policy to one request. Policies are created in `policy.rs`.
impl Policy {
    /// Finds the key of a request. Returns [`Found::Bypass`] if the limit does not cover the
    /// request.
    fn key(&self, caller: &Caller<'_>) -> Found {
        let limit = &self.limit;
        if limit.scope.as_ref().is_some_and(|scope| !scope.covers(&caller.head)) {
            return Found::Bypass;
        }
        // A condition on an unknown address can be neither satisfied nor violated. The other
        // conditions are still evaluated, because the address does not matter if one of them fails.
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

    /// Returns the index of a request's tier, or 0 if the request is in no tier.
    ///
    /// A tier may grant a larger quota, so a request that is ambiguous for the matcher of a tier is
    /// not in that tier.
    pub(super) fn tier(&self, caller: &Caller<'_>) -> usize {
        let is_in = |matcher: &Matcher| matcher.covers(&caller.head, Doubt::Exempt);
        let tier = self.limit.tiers.iter().position(|tier| is_in(&tier.matcher));
        tier.map_or(0, |tier| tier + 1)
    }

    /// Returns the cost of a request, in units of the quota.
    pub(super) fn cost(&self, caller: &Caller<'_>) -> u64 {
        match &self.limit.cost {
            Cost::By(closure) => closure(&caller.head),
            Cost::Fixed(cost) => *cost,
        }
    }

    /// Returns the number of keys in use that have lost their places since the last call.
    fn newly_displaced(&self) -> u64 {
        let in_store = self.stored_keys.as_ref().map_or(0, StoredKeys::displaced);
        let displaced = self.limiter.displaced() + in_store;
        // Usually nothing has changed, and a plain load leaves the cache line shared between cores.
        if displaced == self.displaced.load(Ordering::Relaxed) {
            return 0;
        }
        // If several threads get here, each thread reports only the difference from the maximum
        // that it replaces, so no key is counted twice.
        displaced.saturating_sub(self.displaced.fetch_max(displaced, Ordering::Relaxed))
    }

    /// Returns the reason for the refusal of a request that exceeds this limit.
    pub(crate) fn reason(&self) -> Reason {
        Reason::RefusedRate(Arc::clone(&self.name))
    }

    /// Returns whether the limit holds requests until their turn.
    pub(super) fn is_queue(&self) -> bool {
        self.limit.algorithm == Algorithm::LeakyQueue
    }

    /// Returns the decision that is reported for a request that exceeds the limit.
    fn over(&self) -> Rate {
        match self.limit.over_limit {
            OverLimit::Mark => Rate::OverSoft,
            OverLimit::Refuse => Rate::Refused,
            OverLimit::Shadow => Rate::OverShadow,
        }
    }

    /// Returns the charge request that is sent to the store for this limit, or `None` if this
    /// process counts the limit.
    pub(super) fn ask(&self, key: KeyHash, tier: usize, cost: u64) -> Option<ChargeRequest> {
        let ask = ChargeRequest::new(Arc::clone(self.shared.as_ref()?), key, tier, cost);
        Some(if self.limit.over_limit == OverLimit::Refuse { ask } else { ask.soft() })
    }
}
