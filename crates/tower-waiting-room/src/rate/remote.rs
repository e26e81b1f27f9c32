//! Limits that are counted in a store, for all nodes.

use std::{future::Future, pin::Pin, sync::Arc};

use smallvec::SmallVec;
use waiting_room_core::{
    KeyHash, LimitAsk, LimitReply, LimitStore, Reason, StoreError, StoreErrorKind, Timestamp,
};

use super::{
    charge::Asked,
    failure::LimitFailure,
    handle::{OverSoftLimit, Spend, Spent},
    held_request::QueuePlace,
    limit::OverLimit,
    policies::Policies,
    report::{Applied, Rated, Told},
    stage::RateStage,
};
use crate::{request::RequestHead, telemetry::Rate};

/// Where limits are counted that nodes share.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn LimitStore>,
    pub(crate) on_failure: LimitFailure,
}

/// A request about whose limits the store is asked.
pub(crate) struct Asking {
    asked: Pin<Box<dyn Future<Output = Result<Vec<LimitReply>, StoreError>> + Send>>,
    policies: Arc<Policies>,
    /// Which of them, in the order of the asks.
    applying: SmallVec<[usize; 2]>,
    asks: Vec<LimitAsk>,
    is_watched: bool,
}

impl Asking {
    /// What the store says, once it does.
    pub(crate) fn asked(
        &mut self,
    ) -> Pin<&mut (dyn Future<Output = Result<Vec<LimitReply>, StoreError>> + Send)> {
        self.asked.as_mut()
    }
}

impl RateStage {
    /// Asks the store about all limits that apply to a request.
    pub(super) fn ask_store(
        &self,
        shared: &Shared,
        policies: Arc<Policies>,
        head: RequestHead<'_>,
    ) -> Rated {
        let hasher = shared.store.hasher();
        let caller = self.caller_by(head, &hasher);
        let is_watched = self.watch_set_up(&caller, &policies);
        let (mut applying, mut asks) = (SmallVec::new(), Vec::with_capacity(2));
        let ask = |index, key: KeyHash| {
            let policy = policies.get(index);
            if let Some(known) = &policy.shared {
                let (tier, cost) = (policy.tier(&head), policy.cost(&head));
                let ask = LimitAsk::new(Arc::clone(known), key, tier, cost);
                let is_soft = policy.limit.over_limit != OverLimit::Refuse;
                applying.push(index);
                asks.push(if is_soft { ask.soft() } else { ask });
            }
        };
        if let Err(unknown) = self.each_applying(&caller, &policies, ask) {
            return Rated::Unknown(unknown);
        }
        if asks.is_empty() {
            return Rated::Free;
        }
        let asked = shared.store.charge_all(&asks);
        Rated::Ask(Box::new(Asking { asked, policies, applying, asks, is_watched }))
    }

    /// Goes on with a request about which the store was asked.
    pub(crate) fn answered(
        self: &Arc<Self>,
        asking: Asking,
        replies: Result<Vec<LimitReply>, StoreError>,
        now: Timestamp,
    ) -> Rated {
        let is_watched = asking.is_watched;
        let mut rated = match replies {
            Ok(replies) if replies.len() == asking.asks.len() => {
                self.replied(&asking, &replies, now)
            }
            Ok(_) => self.failed(&asking, &StoreError::new(StoreErrorKind::Unavailable), now),
            Err(error) => self.failed(&asking, &error, now),
        };
        self.mark_counted(&mut rated, is_watched);
        rated
    }

    fn replied(self: &Arc<Self>, asking: &Asking, replies: &[LimitReply], now: Timestamp) -> Rated {
        let mut told = Told::new(Arc::clone(&asking.policies), now);
        let each = || asking.applying.iter().zip(&asking.asks).zip(replies);
        let hard = || each().filter(|((_, ask), _)| !ask.is_soft);
        told.decisions.extend(hard().filter_map(|((&policy, ask), reply)| {
            let decision = reply.decision?;
            Some(Applied { policy, tier: ask.tier, decision })
        }));
        if hard().any(|(_, reply)| reply.charge.is_none()) {
            return self.refuse(told);
        }
        let delay = told.delay();
        let spent =
            each().filter_map(|((&policy, ask), reply)| self.spent(asking, policy, ask, reply));
        let place = if delay.is_zero() {
            None
        } else if let Some(place) = QueuePlace::take(self) {
            Some(place.with(spent.clone().filter(|it| it.policy.is_queue())))
        } else {
            spent.for_each(|mut it| it.settle(0, now));
            told.refuse_to_hold(hard().map(|((_, ask), _)| ask.cost));
            return self.refuse(told);
        };
        hard().for_each(|((&policy, _), _)| self.report(&asking.policies, policy, Rate::Allowed));
        let soft = each().filter(|((_, ask), _)| ask.is_soft);
        let over: SmallVec<_> =
            soft.filter_map(|((&policy, _), reply)| self.over(asking, policy, reply)).collect();
        told.over_soft = (!over.is_empty()).then_some(OverSoftLimit(over));
        let adjustable: SmallVec<_> = spent.filter(|it| it.policy.limit.is_adjustable).collect();
        if !adjustable.is_empty() {
            told.spend = Some(Spend::new(adjustable, Arc::clone(&self.now)));
        }
        match place {
            Some(place) => Rated::Hold(told, delay, place),
            None => Rated::Pass(told),
        }
    }

    /// What the policy for failures says.
    fn failed(self: &Arc<Self>, asking: &Asking, error: &StoreError, now: Timestamp) -> Rated {
        let on_failure = self.shared.as_ref().map(|shared| shared.on_failure);
        self.telemetry.limits_failed(on_failure.map_or("refuse", LimitFailure::as_str), error);
        match on_failure {
            Some(LimitFailure::Admit) => {
                let told = Told::new(Arc::clone(&asking.policies), now);
                Rated::Pass(told.because(Reason::AdmittedUnlimited))
            }
            Some(LimitFailure::LocalShare { .. }) => self.ask_own_part(asking, now),
            Some(LimitFailure::Refuse) | None => Rated::Unavailable,
        }
    }

    /// Asks this node's own part of the limits.
    fn ask_own_part(self: &Arc<Self>, asking: &Asking, now: Timestamp) -> Rated {
        let policies = &asking.policies;
        let (mut hard, mut soft) = (Asked::none_of(policies), Asked::none_of(policies));
        for (&policy, ask) in asking.applying.iter().zip(&asking.asks) {
            let asked = if ask.is_soft { &mut soft } else { &mut hard };
            asked.push(policy, ask.key, ask.tier, ask.cost);
        }
        match self.charge(policies, &mut hard, &mut soft, now) {
            Rated::Pass(told) => Rated::Pass(told.because(Reason::AdmittedLocalShare)),
            Rated::Hold(told, delay, place) => {
                Rated::Hold(told.because(Reason::AdmittedLocalShare), delay, place)
            }
            rated => rated,
        }
    }

    /// What was spent of a limit.
    fn spent(
        &self,
        asking: &Asking,
        policy: usize,
        ask: &LimitAsk,
        reply: &LimitReply,
    ) -> Option<Spent> {
        let store = Arc::clone(&self.shared.as_ref()?.store);
        let policy = asking.policies.get(policy);
        Some(Spent::in_store(policy, ask, reply.charge?, store))
    }

    /// Reports what a soft limit says; gives its name if the application is to know.
    fn over(&self, asking: &Asking, policy: usize, reply: &LimitReply) -> Option<Arc<str>> {
        let limit = asking.policies.get(policy);
        let rate = if reply.charge.is_some() { Rate::Allowed } else { limit.over() };
        self.report(&asking.policies, policy, rate);
        (rate == Rate::OverSoft).then(|| Arc::clone(&limit.name))
    }
}
