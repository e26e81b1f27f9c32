//! What all limits together say to a request.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use http::Extensions;
use smallvec::SmallVec;
use waiting_room_core::{
    Ask, Charge, ConfigError, Decision, KeyHash, KeyHasher, Timestamp, charge_all,
};

use super::{
    config::RateConfig,
    limit::OverLimit,
    limits::Limits,
    policies::Policies,
    policy::{Found, Policy},
    set_up::SetUp,
    spend::{Now, OverSoftLimit, Spend, Spent},
};
use crate::{
    client_ip::ClientIp,
    head::RequestHead,
    key::Caller,
    misconfiguration::Misconfiguration,
    respond,
    telemetry::{Rate, Telemetry},
    token::random_bytes,
};

/// The limits of a layer, and what it takes to apply them.
pub(crate) struct RateStage {
    policies: ArcSwap<Policies>,
    /// What the limits in force were made of. Locked while they are changed.
    limits: Mutex<Limits>,
    hasher: KeyHasher,
    client_ip: ClientIp,
    max_held: usize,
    held: AtomicUsize,
    set_up: SetUp,
    /// Why the rules file as it is now is not in force.
    unfollowed: Mutex<Option<String>>,
    telemetry: Telemetry,
    now: Now,
}

/// What the limits say to a request.
pub(crate) enum Rated {
    /// None applies.
    Free,
    /// All allow it, after so long; the place in the queue is given back if it does not wait.
    Hold(Box<Told>, Duration, QueuePlace),
    /// All allow it.
    Pass(Box<Told>),
    /// One of them refuses it.
    Refuse(Box<Told>),
    /// One of them cannot tell whose it is.
    Unknown(Arc<Policy>),
}

/// What the limits said.
pub(crate) struct Told {
    /// When.
    pub(crate) at: Timestamp,
    policies: Arc<Policies>,
    decisions: SmallVec<[Applied; 2]>,
    /// For the application.
    spend: Option<Spend>,
    over_soft: Option<OverSoftLimit>,
    counted: Option<SetUp>,
}

/// What one limit said.
struct Applied {
    policy: usize,
    tier: usize,
    decision: Decision,
}

/// A limit that applies to a request, before it is asked.
#[derive(Clone, Copy)]
struct Candidate {
    policy: usize,
    tier: usize,
    key: KeyHash,
    cost: u64,
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
        let caller = Caller::new(head, &self.hasher, &self.client_ip);
        let is_watched = self.set_up.watch(&caller, &self.telemetry);
        let (mut hard, mut soft) = (Candidates::new(), Candidates::new());
        for (index, policy) in policies.iter().enumerate() {
            if !policy.concerns(&caller) {
                continue;
            }
            let key = match policy.key(&caller) {
                Found::Key(key) => key,
                Found::Bypass => continue,
                Found::Refuse => return Rated::Unknown(Arc::clone(policy)),
                Found::Stranger => {
                    self.telemetry.misconfigured(Misconfiguration::PeerUnknown);
                    return Rated::Unknown(Arc::clone(policy));
                }
            };
            let (tier, cost) = (policy.tier(&head), policy.cost(&head));
            let candidate = Candidate { policy: index, tier, key, cost };
            match policy.limit.over_limit {
                OverLimit::Refuse => hard.push(candidate),
                OverLimit::Mark | OverLimit::Shadow => soft.push(candidate),
            }
        }
        if hard.is_empty() && soft.is_empty() {
            return Rated::Free;
        }
        let mut rated = self.charge(&policies, &hard, &soft, now);
        if let Rated::Pass(told) | Rated::Hold(told, ..) = &mut rated {
            told.counted = is_watched.then(|| self.set_up.clone());
        }
        rated
    }

    /// Puts changed limits in force, with the memory of those that stay; or says what is wrong.
    pub(crate) fn change(&self, change: impl FnOnce(Limits) -> Limits) -> Result<(), ConfigError> {
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(limits.clone());
        let policies = Policies::new(&changed, &self.policies.load(), (self.now)())?;
        policies.lint().for_each(|it| self.telemetry.misconfigured(it));
        self.policies.store(Arc::new(policies));
        *limits = changed;
        Ok(())
    }

    /// The rules file was read again; what was wrong with it keeps the old limits in force.
    pub(crate) fn followed(&self, outcome: Result<(), String>) {
        self.telemetry.rules_file(&outcome);
        *self.unfollowed.lock().unwrap_or_else(PoisonError::into_inner) = outcome.err();
    }

    /// Why the rules file as it is now is not in force.
    pub(crate) fn unfollowed(&self) -> Option<String> {
        self.unfollowed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The limits in force, as they were written.
    pub(crate) fn limits(&self) -> Limits {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Charges the limits that refuse, all or none of them; then those that only watch.
    fn charge(
        self: &Arc<Self>,
        policies: &Arc<Policies>,
        hard: &[Candidate],
        soft: &[Candidate],
        now: Timestamp,
    ) -> Rated {
        let ask =
            |it: &Candidate| Ask::new(&policies.get(it.policy).limiter, it.key, it.tier, it.cost);
        let mut asks: SmallVec<[Ask<'_>; 2]> = hard.iter().map(ask).collect();
        let allowed = charge_all(&mut asks, now);
        let told = hard.iter().zip(&asks).filter_map(|(it, ask)| {
            let decision = *ask.decision()?;
            Some(Applied { policy: it.policy, tier: it.tier, decision })
        });
        // In a box, since it is handed on often from here to the response.
        let mut told = Box::new(Told {
            at: now,
            decisions: told.collect(),
            policies: Arc::clone(policies),
            spend: None,
            over_soft: None,
            counted: None,
        });
        for Applied { policy, decision, .. } in &told.decisions {
            let what = if decision.allowed { Rate::Allowed } else { Rate::Refused };
            self.telemetry.rated(&policies.get(*policy).name, what);
        }
        if !allowed {
            return Rated::Refuse(told);
        }
        told.spend = self.spend(policies, hard.iter().zip(asks.iter().map(Ask::charge)));
        told.over_soft = self.watch(policies, soft, now);
        let delay = told.decisions.iter().map(|it| it.decision.delay).max().unwrap_or_default();
        if delay.is_zero() {
            return Rated::Pass(told);
        }
        let charges = hard.iter().zip(asks.iter().filter_map(Ask::charge));
        let spent = charges.map(|(it, charge)| Self::spent(policies, it, *charge)).collect();
        let place = QueuePlace { stage: Arc::clone(self), spent, is_over: false };
        if self.held.fetch_add(1, Ordering::Relaxed) >= self.max_held {
            drop(place);
            told.refuse(delay);
            return Rated::Refuse(told);
        }
        Rated::Hold(told, delay, place)
    }

    /// Charges the limits that refuse nobody, and says which of them a request is over.
    fn watch(
        &self,
        policies: &Policies,
        soft: &[Candidate],
        now: Timestamp,
    ) -> Option<OverSoftLimit> {
        let mut over = SmallVec::new();
        for it in soft {
            let policy = policies.get(it.policy);
            let is_over = policy.limiter.charge(it.key, it.tier, it.cost, now).is_err();
            let what = match policy.limit.over_limit {
                _ if !is_over => Rate::Allowed,
                OverLimit::Shadow => Rate::OverShadow,
                _ => {
                    over.push(Arc::clone(&policy.name));
                    Rate::OverSoft
                }
            };
            self.telemetry.rated(&policy.name, what);
        }
        (!over.is_empty()).then_some(OverSoftLimit(over))
    }

    /// The handle of what a request spent, if any of its limits is adjustable.
    fn spend<'a>(
        &self,
        policies: &Policies,
        charges: impl Iterator<Item = (&'a Candidate, Option<&'a Charge>)>,
    ) -> Option<Spend> {
        let adjustable = charges.filter_map(|(it, charge)| {
            let is_adjustable = policies.get(it.policy).limit.is_adjustable;
            is_adjustable.then(|| charge.map(|charge| Self::spent(policies, it, *charge)))?
        });
        let spent: SmallVec<[Spent; 2]> = adjustable.collect();
        (!spent.is_empty()).then(|| Spend::new(spent, Arc::clone(&self.now)))
    }

    fn spent(policies: &Policies, it: &Candidate, charge: Charge) -> Spent {
        let policy = Arc::clone(policies.get(it.policy));
        Spent { policy, key: it.key, tier: it.tier, charge }
    }
}

impl Told {
    /// Gives the application its handles.
    pub(crate) fn equip(&mut self, extensions: &mut Extensions) {
        if let Some(spend) = self.spend.take() {
            extensions.insert(spend);
        }
        if let Some(over_soft) = self.over_soft.take() {
            extensions.insert(over_soft);
        }
        if let Some(set_up) = self.counted.take() {
            set_up.mark(extensions);
        }
    }

    /// What the headers say.
    pub(crate) fn lines(&self) -> impl Iterator<Item = respond::Told<'_>> {
        self.decisions.iter().map(|it| {
            let line = self.policies.get(it.policy).line(it.tier);
            respond::Told { line, decision: &it.decision }
        })
    }

    /// The limit that a refusal is put down to, and when to try again: the longest wait decides.
    pub(crate) fn binding(&self) -> (&Policy, Option<Duration>) {
        let refused = self.decisions.iter().filter(|it| !it.decision.allowed);
        let longest = refused.max_by_key(|it| it.decision.retry_after.unwrap_or(Duration::MAX));
        let longest = longest.unwrap_or(&self.decisions[0]);
        (self.policies.get(longest.policy), longest.decision.retry_after)
    }

    /// Turns the delay of a request that cannot be held into a refusal.
    fn refuse(&mut self, delay: Duration) {
        for it in self.decisions.iter_mut().filter(|it| !it.decision.delay.is_zero()) {
            it.decision.allowed = false;
            it.decision.retry_after = Some(delay);
        }
    }
}

/// A request that is held until its turn. One that goes away before gives its place in the queue
/// back, if nobody stands behind it.
pub(crate) struct QueuePlace {
    stage: Arc<RateStage>,
    spent: SmallVec<[Spent; 2]>,
    is_over: bool,
}

impl QueuePlace {
    /// It is its turn.
    pub(crate) fn go_on(mut self) {
        self.is_over = true;
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        self.stage.held.fetch_sub(1, Ordering::Relaxed);
        if !self.is_over {
            let now = (self.stage.now)();
            for Spent { policy, key, tier, charge } in &mut self.spent {
                policy.limiter.settle(*key, *tier, charge, 0, now);
            }
        }
    }
}

type Candidates = SmallVec<[Candidate; 2]>;
