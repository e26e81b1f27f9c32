//! What the limits say to one request.

use std::{sync::Arc, time::Duration};

use http::Extensions;
use smallvec::SmallVec;
use waiting_room_core::{Decision, Timestamp};

use super::{
    policies::Policies,
    policy::Policy,
    queue_place::QueuePlace,
    set_up::SetUp,
    spend::{OverSoftLimit, Spend},
};
use crate::respond;

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
    /// One that refuses cannot tell whose it is.
    Unknown(Arc<Policy>),
}

/// What the limits said.
pub(crate) struct Told {
    /// When.
    pub(crate) at: Timestamp,
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
