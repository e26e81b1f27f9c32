//! What all limits together say to a request.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicUsize},
};

use arc_swap::ArcSwap;
use smallvec::SmallVec;
use waiting_room_core::{ConfigError, KeyHasher, Timestamp};

use super::{
    charge::Asked,
    config::RateConfig,
    diagnosis::SetUp,
    handle::{Now, OverSoftLimit, Spend, Spent},
    held_request::QueuePlace,
    limit::OverLimit,
    limit_set::Limits,
    policies::Policies,
    remote::Shared,
    report::{Rated, Told},
};
use crate::{
    request::{Caller, ClientIp, RequestHead},
    telemetry::{Rate, Telemetry},
    token::random_bytes,
};

/// The limits of a layer, and what it takes to apply them.
pub(crate) struct RateStage {
    policies: ArcSwap<Policies>,
    /// What the limits in force were made of. Locked while they are changed.
    limits: Mutex<Arc<Limits>>,
    hasher: KeyHasher,
    client_ip: ClientIp,
    pub(super) max_held: usize,
    pub(super) held: AtomicUsize,
    pub(super) set_up: SetUp,
    /// Why the rules file as it is now is not in force.
    unfollowed: Mutex<Option<String>>,
    /// Locked while the rules file is read and put in force.
    pub(super) reloading: Mutex<()>,
    pub(super) telemetry: Telemetry,
    pub(super) now: Now,
    /// Where the limits are counted, if nodes share them.
    pub(super) shared: Option<Shared>,
}

impl RateStage {
    /// Makes the limits of a config ready.
    pub(crate) fn new(
        config: &RateConfig,
        telemetry: Telemetry,
        now: Now,
    ) -> Result<Self, ConfigError> {
        config.client_ip.lint().for_each(|it| telemetry.misconfigured(it));
        let stage = Self {
            policies: ArcSwap::default(),
            limits: Mutex::default(),
            hasher: KeyHasher::new(std::array::from_fn(|_| u64::from_le_bytes(random_bytes()))),
            client_ip: config.client_ip.clone(),
            max_held: config.max_held,
            held: AtomicUsize::new(0),
            set_up: SetUp::default(),
            unfollowed: Mutex::default(),
            reloading: Mutex::default(),
            telemetry,
            now,
            shared: config.shared.clone(),
        };
        stage.change(|_| config.limits.clone())?;
        Ok(stage)
    }

    /// Asks all limits that apply to a request; either all are charged or none.
    pub(crate) fn ask(self: &Arc<Self>, head: RequestHead<'_>, now: Timestamp) -> Rated {
        let policies = self.policies.load();
        if policies.is_empty() {
            return Rated::Free;
        }
        if let Some(shared) = &self.shared {
            return self.ask_store(shared, Arc::clone(&policies), head);
        }
        let caller = self.caller(head);
        let is_watched = self.watch_set_up(&caller, &policies);
        let (mut hard, mut soft) = (Asked::none_of(&policies), Asked::none_of(&policies));
        let ask = |index, key| {
            let policy = policies.get(index);
            let asked = match policy.limit.over_limit {
                OverLimit::Refuse => &mut hard,
                OverLimit::Mark | OverLimit::Shadow => &mut soft,
            };
            asked.push(index, key, policy.tier(&head), policy.cost(&head));
        };
        if let Err(unknown) = self.each_applying(&caller, &policies, ask) {
            return Rated::Unknown(unknown);
        }
        if hard.is_empty() && soft.is_empty() {
            return Rated::Free;
        }
        let mut rated = self.charge(&policies, &mut hard, &mut soft, now);
        self.mark_counted(&mut rated, is_watched);
        rated
    }

    /// A request, with what it takes to tell who sent it.
    pub(crate) fn caller<'a>(&'a self, head: RequestHead<'a>) -> Caller<'a> {
        self.caller_by(head, &self.hasher)
    }

    /// The same with other hashes of keys.
    pub(super) fn caller_by<'a>(
        &'a self,
        head: RequestHead<'a>,
        hasher: &'a KeyHasher,
    ) -> Caller<'a> {
        Caller::new(head, hasher, &self.client_ip)
    }

    /// Puts changed limits in force, with the memory of those that stay; or says what is wrong.
    ///
    /// The closure is not called under the lock, so that it may look at the limits; it is called
    /// again if they have been changed meanwhile.
    pub(crate) fn change(&self, change: impl Fn(Limits) -> Limits) -> Result<(), ConfigError> {
        let policies = loop {
            let before = Arc::clone(&self.lock());
            let changed = change(Limits::clone(&before));
            let mut limits = self.lock();
            if !Arc::ptr_eq(&limits, &before) {
                continue;
            }
            let policies = Arc::new({
                let before = self.policies.load();
                Policies::new(&changed, &before, self.shared.as_ref(), (self.now)())?
            });
            self.policies.store(Arc::clone(&policies));
            *limits = Arc::new(changed);
            break policies;
        };
        policies.lint().for_each(|it| self.telemetry.misconfigured(it));
        Ok(())
    }

    /// The rules file is in force, or why not. What was said already is not said again: a file that
    /// is not in force is tried again and again.
    pub(super) fn followed(&self, outcome: Result<(), String>) {
        let before = {
            let mut unfollowed = self.unfollowed.lock().unwrap_or_else(PoisonError::into_inner);
            mem::replace(&mut *unfollowed, outcome.as_ref().err().cloned())
        };
        if outcome.is_ok() || outcome.as_ref().err() != before.as_ref() {
            self.telemetry.rules_file(&outcome);
        }
    }

    /// Why the rules file as it is now is not in force.
    pub(crate) fn unfollowed(&self) -> Option<String> {
        self.unfollowed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The limits in force, as they were written.
    pub(crate) fn limits(&self) -> Arc<Limits> {
        Arc::clone(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Limits>> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Charges the limits that refuse, all or none of them; then those that only watch.
    pub(super) fn charge(
        self: &Arc<Self>,
        policies: &Arc<Policies>,
        hard: &mut Asked<'_>,
        soft: &mut Asked<'_>,
        now: Timestamp,
    ) -> Rated {
        let allowed = hard.charge_all(now);
        let mut told = Told::new(Arc::clone(policies), now);
        told.decisions.extend(hard.applied());
        if !allowed {
            return self.refuse(told);
        }
        let delay = told.delay();
        let place = if delay.is_zero() {
            None
        } else if let Some(place) = QueuePlace::take(self) {
            Some(place.with(hard.spent().filter(|it| it.policy.is_queue())))
        } else {
            hard.spent().for_each(|mut it| it.settle(0, now));
            Self::look_again(&mut told, hard);
            return self.refuse(told);
        };
        let mut adjustable = SmallVec::new();
        for (policy, ask) in hard.iter() {
            self.telemetry.rated(&policy.subject, Rate::Allowed);
            if policy.limit.is_adjustable {
                adjustable.extend(Spent::new(policy, ask));
            }
        }
        told.over_soft = self.watch(soft, &mut adjustable, now);
        if !adjustable.is_empty() {
            told.spend = Some(Spend::new(adjustable, Arc::clone(&self.now)));
        }
        match place {
            Some(place) => Rated::Hold(told, delay, place),
            None => Rated::Pass(told),
        }
    }

    /// Reports who has refused. Those that would have allowed it have not been asked.
    pub(super) fn refuse(&self, told: Box<Told>) -> Rated {
        for it in told.decisions.iter().filter(|it| !it.decision.allowed) {
            self.report(&told.policies, it.policy, Rate::Refused);
        }
        Rated::Refuse(told)
    }

    /// Reports what a limit has said.
    pub(super) fn report(&self, policies: &Policies, policy: usize, what: Rate) {
        self.telemetry.rated(&policies.get(policy).subject, what);
    }

    /// Turns the delay of a request that cannot be held into a refusal, once all was given back.
    fn look_again(told: &mut Told, hard: &Asked<'_>) {
        for (applied, (policy, ask)) in told.decisions.iter_mut().zip(hard.iter()) {
            let delay = applied.decision.delay;
            applied.decision = policy.limiter.look(ask.key(), ask.tier(), ask.cost(), told.at);
            if !delay.is_zero() {
                applied.decision.allowed = false;
                applied.decision.retry_after = Some(delay);
            }
        }
    }

    /// Charges the limits that refuse nobody, and says which of them a request is over.
    fn watch(
        &self,
        soft: &mut Asked<'_>,
        adjustable: &mut SmallVec<[Spent; 2]>,
        now: Timestamp,
    ) -> Option<OverSoftLimit> {
        let mut over = SmallVec::new();
        soft.charge_each(now);
        for (policy, ask) in soft.iter() {
            if ask.charge().is_some() {
                self.telemetry.rated(&policy.subject, Rate::Allowed);
                if policy.limit.is_adjustable {
                    adjustable.extend(Spent::new(policy, ask));
                }
            } else {
                self.telemetry.rated(&policy.subject, policy.over());
                if policy.limit.over_limit == OverLimit::Mark {
                    over.push(Arc::clone(&policy.name));
                }
            }
        }
        (!over.is_empty()).then_some(OverSoftLimit(over))
    }
}
