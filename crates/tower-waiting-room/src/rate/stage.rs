//! What all limits together say to a request.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicUsize},
};

use arc_swap::ArcSwap;
use smallvec::SmallVec;
use waiting_room_core::{ConfigError, KeyHasher, Timestamp};

use super::{
    asked::Asked,
    config::RateConfig,
    limit::OverLimit,
    limits::Limits,
    policies::Policies,
    queue_place::QueuePlace,
    set_up::SetUp,
    spend::{Now, OverSoftLimit, Spend, Spent},
    told::{Rated, Told},
};
use crate::{
    client_ip::ClientIp,
    head::RequestHead,
    key::{Caller, Found},
    misconfiguration::Misconfiguration,
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
    set_up: SetUp,
    /// Why the rules file as it is now is not in force.
    unfollowed: Mutex<Option<String>>,
    /// Locked while the rules file is read and put in force.
    pub(super) reloading: Mutex<()>,
    telemetry: Telemetry,
    pub(super) now: Now,
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
        let caller = self.caller(head);
        let is_watched = self.set_up.watch(&caller, &policies, &self.telemetry);
        let (mut hard, mut soft) = (Asked::none_of(&policies), Asked::none_of(&policies));
        for (index, policy) in policies.iter().enumerate() {
            if !policy.concerns(&caller) {
                continue;
            }
            let key = match policy.key(&caller) {
                Found::Key(key) => key,
                Found::Bypass => continue,
                found @ (Found::Refuse | Found::Stranger) => {
                    if matches!(found, Found::Stranger) {
                        self.telemetry.misconfigured(Misconfiguration::PeerUnknown);
                    }
                    self.telemetry.rated(&policy.subject, policy.over());
                    if policy.limit.over_limit == OverLimit::Refuse {
                        return Rated::Unknown(Arc::clone(policy));
                    }
                    continue;
                }
            };
            let asked = match policy.limit.over_limit {
                OverLimit::Refuse => &mut hard,
                OverLimit::Mark | OverLimit::Shadow => &mut soft,
            };
            asked.push(index, key, policy.tier(&head), policy.cost(&head));
        }
        if hard.is_empty() && soft.is_empty() {
            return Rated::Free;
        }
        let mut rated = self.charge(&policies, &mut hard, &mut soft, now);
        if let Rated::Pass(told) | Rated::Hold(told, ..) = &mut rated {
            told.counted = is_watched.then(|| self.set_up.clone());
        }
        rated
    }

    /// A request, with what it takes to tell who sent it.
    pub(crate) fn caller<'a>(&'a self, head: RequestHead<'a>) -> Caller<'a> {
        Caller::new(head, &self.hasher, &self.client_ip)
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
            let policies = Arc::new(Policies::new(&changed, &self.policies.load(), (self.now)())?);
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
    fn charge(
        self: &Arc<Self>,
        policies: &Arc<Policies>,
        hard: &mut Asked<'_>,
        soft: &mut Asked<'_>,
        now: Timestamp,
    ) -> Rated {
        let allowed = hard.charge_all(now);
        // In a box, since it is handed on often from here to the response.
        let mut told = Box::new(Told {
            at: now,
            decisions: SmallVec::new(),
            policies: Arc::clone(policies),
            spend: None,
            over_soft: None,
            counted: None,
        });
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
    fn refuse(&self, told: Box<Told>) -> Rated {
        for it in told.decisions.iter().filter(|it| !it.decision.allowed) {
            self.telemetry.rated(&told.policies.get(it.policy).subject, Rate::Refused);
        }
        Rated::Refuse(told)
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
