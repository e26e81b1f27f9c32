//! The limits of one request: the charges that they were asked for, and what they decided.

use std::{slice, sync::Arc, time::Duration};

use http::Extensions;
use smallvec::SmallVec;
use waiting_room_core::{Decision, KeyHash, LimiterCharge, Reason, Timestamp, charge_all};

use super::{
    diagnosis::Diagnosis,
    handle::{ChargeHandle, OverSoftLimit, Spent},
    policy::Policy,
};
use crate::rate_headers::PolicyState;

/// The decisions of the limits about a request.
pub(crate) struct RateReport {
    /// When they were made.
    pub(crate) at: Timestamp,
    /// Why the request goes on, if no room has a say.
    pub(crate) admitted: Reason,
    policies: Arc<Vec<Arc<Policy>>>,
    pub(super) decisions: SmallVec<[Applied; 2]>,
    /// For the application.
    pub(super) spend: Option<ChargeHandle>,
    pub(super) over_soft: Option<OverSoftLimit>,
    pub(super) counted: Option<Diagnosis>,
}

/// The decision of one limit.
pub(super) struct Applied {
    pub(super) policy: usize,
    pub(super) tier: usize,
    pub(super) decision: Decision,
}

/// One limit of those that apply to a request, wherever it is counted, once it was charged or not.
pub(super) trait Charged {
    /// Which of the limits in force it is.
    fn policy(&self) -> usize;

    fn tier(&self) -> usize;

    /// What it says; nothing if another limit has refused before it was asked.
    fn decision(&self) -> Option<Decision>;

    fn is_charged(&self) -> bool;

    /// What was spent of it; nothing, unless it was charged.
    fn spent(&self, policy: &Arc<Policy>) -> Option<Spent>;
}

impl RateReport {
    /// No decisions yet. In a box, since it is handed on often from here to the response.
    pub(super) fn new(policies: Arc<Vec<Arc<Policy>>>, at: Timestamp) -> Box<Self> {
        Box::new(Self {
            at,
            admitted: Reason::AdmittedLimits,
            decisions: SmallVec::new(),
            policies,
            spend: None,
            over_soft: None,
            counted: None,
        })
    }

    /// Gives the application its handles; those that an outer layer has put there stay.
    pub(crate) fn insert_extensions(&mut self, extensions: &mut Extensions) {
        if let Some(spend) = self.spend.take() {
            let spend = match extensions.remove::<ChargeHandle>() {
                Some(outer) => outer.and(spend),
                None => spend,
            };
            extensions.insert(spend);
        }
        if let Some(OverSoftLimit(over)) = self.over_soft.take() {
            extensions.get_or_insert_with(|| OverSoftLimit(SmallVec::new())).0.extend(over);
        }
        if let Some(counted) = self.counted.take() {
            counted.mark(extensions);
        }
    }

    /// Turns the delay of a request that cannot be held into a refusal, by decisions that were
    /// corrected for what it has given back.
    pub(super) fn refuse_to_hold(&mut self, corrected: impl Iterator<Item = Decision>) {
        for (applied, corrected) in self.decisions.iter_mut().zip(corrected) {
            let delay = applied.decision.delay;
            applied.decision = corrected;
            if !delay.is_zero() {
                applied.decision.allowed = false;
                applied.decision.retry_after = Some(delay);
            }
        }
    }

    /// The lines of the headers.
    pub(crate) fn lines(&self) -> impl Iterator<Item = PolicyState<'_>> {
        self.decisions.iter().map(|it| {
            let lines = &self.policies[it.policy].lines;
            PolicyState { line: lines.get(it.tier).unwrap_or(&lines[0]), decision: &it.decision }
        })
    }

    /// The limit that a refusal is put down to, and when to try again: the longest wait decides.
    pub(crate) fn binding(&self) -> (&Policy, Option<Duration>) {
        let refused = self.decisions.iter().filter(|it| !it.decision.allowed);
        let longest = refused.max_by_key(|it| it.decision.retry_after.unwrap_or(Duration::MAX));
        let longest = longest.unwrap_or(&self.decisions[0]);
        (&self.policies[longest.policy], longest.decision.retry_after)
    }

    /// For how long the request is to be held.
    pub(super) fn delay(&self) -> Duration {
        self.decisions.iter().map(|it| it.decision.delay).max().unwrap_or_default()
    }
}

/// The limits that apply to a request and are counted here, and what each of them is asked.
pub(super) struct ChargeSet<'a> {
    pub(super) policies: &'a Arc<Vec<Arc<Policy>>>,
    /// Which of them, in the order of the asks.
    applying: SmallVec<[usize; 2]>,
    pub(super) asks: SmallVec<[LimiterCharge<'a>; 2]>,
}

/// What one limit has said that is counted here.
pub(super) struct LocalCharge<'a> {
    pub(super) policy: usize,
    ask: &'a LimiterCharge<'a>,
}

impl<'a> ChargeSet<'a> {
    /// Nothing is asked of any of these yet.
    pub(super) fn of(policies: &'a Arc<Vec<Arc<Policy>>>) -> Self {
        Self { policies, applying: SmallVec::new(), asks: SmallVec::new() }
    }

    pub(super) fn push(&mut self, policy: usize, key: KeyHash, tier: usize, cost: u64) {
        self.applying.push(policy);
        self.asks.push(LimiterCharge::new(&self.policies[policy].limiter, key, tier, cost));
    }

    /// The limits that apply.
    pub(super) fn policies(&self) -> impl Iterator<Item = &'a Arc<Policy>> {
        self.applying.iter().map(|&index| &self.policies[index])
    }

    /// Charges each limit by itself.
    pub(super) fn charge_each(&mut self, now: Timestamp) -> impl Iterator<Item = LocalCharge<'_>> {
        self.asks.iter_mut().for_each(|ask| _ = charge_all(slice::from_mut(ask), now));
        self.charges()
    }

    pub(super) fn charges(&self) -> impl Iterator<Item = LocalCharge<'_>> + Clone {
        self.applying.iter().zip(&self.asks).map(|(&policy, ask)| LocalCharge { policy, ask })
    }

    /// What each limit would say now.
    pub(super) fn looks(&self, now: Timestamp) -> impl Iterator<Item = Decision> {
        self.charges().map(move |LocalCharge { policy, ask }| {
            self.policies[policy].limiter.look(ask.key(), ask.tier(), ask.cost(), now)
        })
    }
}

impl Charged for LocalCharge<'_> {
    fn policy(&self) -> usize {
        self.policy
    }

    fn tier(&self) -> usize {
        self.ask.tier()
    }

    fn decision(&self) -> Option<Decision> {
        self.ask.decision().copied()
    }

    fn is_charged(&self) -> bool {
        self.ask.charge().is_some()
    }

    fn spent(&self, policy: &Arc<Policy>) -> Option<Spent> {
        Spent::new(policy, self.ask)
    }
}
