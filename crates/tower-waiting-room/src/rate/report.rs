//! What the limits say to one request.

use std::{sync::Arc, time::Duration};

use http::Extensions;
use smallvec::SmallVec;
use waiting_room_core::{Decision, Reason, Timestamp};

use super::{
    diagnosis::SetUp,
    handle::{OverSoftLimit, Spend},
    held_request::QueuePlace,
    policies::Policies,
    policy::Policy,
    remote::Asking,
};
use crate::respond;

/// What the limits say to a request.
pub(crate) enum Rated {
    /// The store that counts them has to be asked.
    Ask(Box<Asking>),
    /// None applies.
    Free,
    /// All allow it, after so long; the place in the queue is given back if it does not wait.
    Hold(Box<Told>, Duration, QueuePlace),
    /// All allow it.
    Pass(Box<Told>),
    /// One of them refuses it.
    Refuse(Box<Told>),
    /// The store cannot decide, and nobody is let through without it.
    Unavailable,
    /// One that refuses cannot tell whose it is.
    Unknown(Arc<Policy>),
}

/// What the limits said.
pub(crate) struct Told {
    /// When.
    pub(crate) at: Timestamp,
    /// Why the request goes on, if there is no room that has a say.
    pub(crate) admitted: Reason,
    pub(super) policies: Arc<Policies>,
    pub(super) decisions: SmallVec<[Applied; 2]>,
    /// For the application.
    pub(super) spend: Option<Spend>,
    pub(super) over_soft: Option<OverSoftLimit>,
    pub(super) counted: Option<SetUp>,
}

/// What one limit said.
pub(super) struct Applied {
    pub(super) policy: usize,
    pub(super) tier: usize,
    pub(super) decision: Decision,
}

impl Told {
    /// Nothing yet. In a box, since it is handed on often from here to the response.
    pub(super) fn new(policies: Arc<Policies>, at: Timestamp) -> Box<Self> {
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

    /// The same for a request that goes on for this reason.
    pub(super) fn because(mut self: Box<Self>, reason: Reason) -> Box<Self> {
        self.admitted = reason;
        self
    }

    /// Turns the delay of a request that cannot be held into a refusal, once these costs were given
    /// back.
    pub(super) fn refuse_to_hold(&mut self, costs: impl Iterator<Item = u64>) {
        for (Applied { decision, .. }, cost) in self.decisions.iter_mut().zip(costs) {
            decision.remaining = decision.remaining.saturating_add(cost).min(decision.limit);
            if !decision.delay.is_zero() {
                decision.allowed = false;
                decision.retry_after = Some(decision.delay);
            }
        }
    }

    /// Gives the application its handles; those that an outer layer has put there stay.
    pub(crate) fn equip(&mut self, extensions: &mut Extensions) {
        if let Some(spend) = self.spend.take() {
            let spend = match extensions.remove::<Spend>() {
                Some(outer) => outer.and(spend),
                None => spend,
            };
            extensions.insert(spend);
        }
        if let Some(OverSoftLimit(over)) = self.over_soft.take() {
            extensions.get_or_insert_with(|| OverSoftLimit(SmallVec::new())).0.extend(over);
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

    /// For how long the request is to be held.
    pub(super) fn delay(&self) -> Duration {
        self.decisions.iter().map(|it| it.decision.delay).max().unwrap_or_default()
    }
}
