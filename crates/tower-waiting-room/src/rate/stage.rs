//! The rate-limit stage: which limits apply to a request, and what they decide.

use std::sync::{Arc, atomic::Ordering};

use smallvec::SmallVec;
use tokio::runtime::Handle;
use waiting_room_core::{
    Algorithm, ChargeRequest, ConfigError, KeyHash, Reason, StoreError, StoreErrorKind, Timestamp,
    charge_all,
};

use super::{
    config::RateConfig,
    diagnosis::Diagnosis,
    handle::{ChargeHandle, OverSoftLimit, Spent},
    limit::{Cost, OverLimit},
    limit_set::LimitSet,
    policy::Policy,
    remote::{AskedLimits, PendingCharge, StoreReply},
    report::{Applied, ChargeSet, Charged, RateReport},
    store::{RateStoreFailure, Shared},
    stored_keys::StoredKeys,
    turn::{HeldRequest, HeldRequests, Turn},
};
use crate::{
    ambient::StageClock,
    misconfiguration::Misconfiguration,
    request::{Caller, Doubt, Found, Matcher, Part},
    telemetry::{Rate, Telemetry},
};

/// The limits of a layer, and what it takes to apply them.
pub(crate) struct RateStage {
    pub(crate) in_force: Arc<LimitSet>,
    /// Where they are counted, if nodes share them.
    shared: Option<Shared>,
    held: Arc<HeldRequests>,
    diagnosis: Diagnosis,
    clock: StageClock,
    telemetry: Telemetry,
}

/// What the limits say to a request.
pub(crate) enum Rated {
    /// The store that counts them has to be asked.
    Pending(Box<PendingCharge>),
    /// The store that counts them answers, and cannot be asked about all requests in time.
    Busy,
    /// All allow it, in its turn.
    Delay(Box<RateReport>, Box<Turn>),
    /// None applies.
    Free,
    /// One that refuses needs a key that the client has left out.
    KeyMissing(Arc<Policy>),
    /// All allow it.
    Pass(Box<RateReport>),
    /// One of them refuses it.
    Refuse(Box<RateReport>),
    /// One that refuses needs the address of the client, which is unknown.
    Stranger,
    /// The store cannot decide, and no request is let through without it.
    Unavailable,
}

impl RateStage {
    /// Makes the limits of a config ready.
    pub(crate) fn new(
        config: &RateConfig,
        telemetry: Telemetry,
        clock: StageClock,
    ) -> Result<Self, ConfigError> {
        config.client_ip.lint().for_each(|it| telemetry.misconfigured(it));
        let in_force = LimitSet::new(config.shared.clone(), clock.clone(), telemetry.clone());
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

    /// Charges all limits that apply to a request, or none of them; or has their store asked.
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

    /// Goes on with a request about which the store was asked.
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
        let (hard, soft) = (
            charges.clone().filter(|it| !it.ask.is_soft),
            charges.clone().filter(|it| it.ask.is_soft),
        );
        let is_allowed = hard.clone().all(|it| it.is_charged());
        let give_back = |report: &mut RateReport| {
            let spent = charges.clone().filter_map(|it| it.spent(&asked.policies[it.policy()]));
            spent.for_each(|mut it| it.settle(0, now));
            report.refuse_to_hold(hard.clone().filter_map(|it| it.given_back()));
        };
        let rated =
            self.conclude(&asked.policies, is_allowed, hard.clone(), || soft, give_back, now);
        self.mark_counted(rated, asked.is_watched)
    }

    /// Asks the store about all limits that apply to a request.
    fn ask_store(
        &self,
        shared: &Shared,
        policies: &Arc<Vec<Arc<Policy>>>,
        caller: &Caller<'_>,
        now: Timestamp,
    ) -> Rated {
        let hasher = shared.store.hasher();
        let caller = &Caller { hasher: &hasher, ..*caller };
        let is_watched = self.watch(caller, policies);
        let (mut applying, mut asks) = (SmallVec::new(), Vec::with_capacity(2));
        let applies = |index: usize, key| {
            let policy = &policies[index];
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

    /// Applies the policy for a store that has not answered.
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
                let (mut hard, mut soft) = (ChargeSet::of(policies), ChargeSet::of(policies));
                for (&policy, ask) in asked.applying.iter().zip(&asked.asks) {
                    let charges = if ask.is_soft { &mut soft } else { &mut hard };
                    charges.push(policy, ask.key, ask.tier, ask.cost);
                }
                let mut rated = self.charge_here(&mut hard, &mut soft, asked.is_watched, now);
                if let Rated::Pass(report) | Rated::Delay(report, _) = &mut rated {
                    report.admitted = Reason::AdmittedLocalShare;
                }
                rated
            }
            RateStoreFailure::Refuse => Rated::Unavailable,
        }
    }

    /// What becomes of a request that this node has no time to ask the store about. The policy for a
    /// store that is away does not apply: a flood would bring it about, and lift the limits. Limits
    /// that only watch do not hold a request up.
    fn overloaded(&self, asked: &AskedLimits, error: &StoreError, now: Timestamp) -> Rated {
        if asked.asks.iter().any(|ask| !ask.is_soft) {
            self.telemetry.limits_failed("overload", error);
            return Rated::Busy;
        }
        let mut report = RateReport::new(Arc::clone(&asked.policies), now);
        report.admitted = Reason::AdmittedUnlimited;
        self.mark_counted(Rated::Pass(report), asked.is_watched)
    }

    /// Charges the limits that refuse, all or none of them; then those that only watch.
    fn charge_here(
        &self,
        hard: &mut ChargeSet<'_>,
        soft: &mut ChargeSet<'_>,
        is_watched: bool,
        now: Timestamp,
    ) -> Rated {
        let is_allowed = charge_all(&mut hard.asks, now);
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

    /// Reports keys that have lost their places in the memory of these limits.
    fn watch_places<'a>(&self, policies: impl Iterator<Item = &'a Arc<Policy>>) {
        for policy in policies {
            let displaced = policy.newly_displaced();
            if displaced > 0 {
                self.telemetry.displaced(&policy.subject, displaced);
                self.telemetry.misconfigured(Misconfiguration::MaxKeysExceeded);
            }
        }
    }

    /// What follows once the limits that refuse were charged, all or none of them: a refusal, a
    /// turn in a leaky queue, or the request goes on, with what the limits say that only watch.
    fn conclude<C: Charged, S: Iterator<Item = C>>(
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
        // One by one: most requests have one, and to extend reserves first.
        hard.clone().filter_map(applied).for_each(|it| report.decisions.push(it));
        if !is_allowed {
            return self.refuse(policies, report);
        }
        let delay = report.delay();
        let place = if delay.is_zero() {
            None
        } else if let Some(place) = self.hold() {
            let queues = hard.clone().filter(|it| policies[it.policy()].is_queue());
            Some(place.with(queues.filter_map(|it| it.spent(&policies[it.policy()]))))
        } else {
            give_back(&mut report);
            return self.refuse(policies, report);
        };
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

    /// A place for a request that has to wait for its turn, if there is one, and a runtime that keeps
    /// the time.
    fn hold(&self) -> Option<HeldRequest> {
        if Handle::try_current().is_err() {
            self.telemetry.misconfigured(Misconfiguration::NoRuntime);
            return None;
        }
        HeldRequest::take(&self.held, &self.clock)
    }

    /// Reports that a limit allows a request, and keeps what may be corrected of its charge.
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

    /// Reports the limits that refuse. Those that would have allowed it were not asked.
    fn refuse(&self, policies: &[Arc<Policy>], report: Box<RateReport>) -> Rated {
        for it in report.decisions.iter().filter(|it| !it.decision.allowed) {
            self.telemetry.rated(&policies[it.policy].subject, Rate::Refused);
        }
        Rated::Refuse(report)
    }

    /// Finds the limits that apply to a request, and its key for each of them; or else what is said
    /// because one that refuses cannot tell whose the request is.
    fn each_applying(
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

    /// Looks at how the limits are set up, if this is one of the first requests; says whether it is.
    fn watch(&self, caller: &Caller<'_>, policies: &[Arc<Policy>]) -> bool {
        let is_due = self.diagnosis.0.load(Ordering::Relaxed) < Diagnosis::WATCHED;
        if is_due {
            self.diagnosis.look(caller, policies, &self.telemetry);
        }
        is_due
    }

    /// Marks a request as counted, if it is watched.
    fn mark_counted(&self, mut rated: Rated, is_watched: bool) -> Rated {
        if let Rated::Pass(report) | Rated::Delay(report, _) = &mut rated {
            report.counted = is_watched.then(|| self.diagnosis.clone());
        }
        rated
    }
}

/// What a policy says to one request; what is made of it at start-up is in `policy.rs`.
impl Policy {
    /// The key of a request, or what is to be done without; [`Found::Bypass`] if the limit does not
    /// concern it.
    fn key(&self, caller: &Caller<'_>) -> Found {
        let limit = &self.limit;
        if limit.scope.as_ref().is_some_and(|scope| !scope.covers(&caller.head)) {
            return Found::Bypass;
        }
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

    fn tier(&self, caller: &Caller<'_>) -> usize {
        let is_in = |matcher: &Matcher| matcher.covers(&caller.head, Doubt::Exempt);
        let tier = self.limit.tiers.iter().position(|tier| is_in(&tier.matcher));
        tier.map_or(0, |tier| tier + 1)
    }

    fn cost(&self, caller: &Caller<'_>) -> u64 {
        match &self.limit.cost {
            Cost::By(closure) => closure(&caller.head),
            Cost::Fixed(cost) => *cost,
        }
    }

    /// How many keys in use have lost their places since this was last asked.
    fn newly_displaced(&self) -> u64 {
        let in_store = self.stored_keys.as_ref().map_or(0, StoredKeys::displaced);
        let displaced = self.limiter.displaced() + in_store;
        if displaced == self.displaced.load(Ordering::Relaxed) {
            return 0;
        }
        displaced.saturating_sub(self.displaced.fetch_max(displaced, Ordering::Relaxed))
    }

    /// The reason for which requests over this limit are refused.
    pub(crate) fn reason(&self) -> Reason {
        Reason::RefusedRate(Arc::clone(&self.name))
    }

    /// Whether it holds requests until their turn.
    fn is_queue(&self) -> bool {
        self.limit.algorithm == Algorithm::LeakyQueue
    }

    /// What is reported of a request that is over it.
    fn over(&self) -> Rate {
        match self.limit.over_limit {
            OverLimit::Mark => Rate::OverSoft,
            OverLimit::Refuse => Rate::Refused,
            OverLimit::Shadow => Rate::OverShadow,
        }
    }

    /// What the store is asked about it.
    fn ask(&self, key: KeyHash, tier: usize, cost: u64) -> Option<ChargeRequest> {
        let ask = ChargeRequest::new(Arc::clone(self.shared.as_ref()?), key, tier, cost);
        Some(if self.limit.over_limit == OverLimit::Refuse { ask } else { ask.soft() })
    }
}
