//! One request of a node: decided here if it can be, or else on its way to the store and back.

use std::{future::Future, pin::Pin, time::Duration};

use tokio::{sync::oneshot, time::timeout};
use waiting_room_core::{
    Charge, ChargeReply, ChargeRequest, Decision, KeyHasher, RateStore, StoreError, StoreErrorKind,
};

use super::{
    ask::Request,
    lane::Call,
    leases::{Lessee, Plan},
    refused::LONGEST,
    reply::{self, Said},
    store::RedisLimits,
};
use crate::{connections::patience, store::BREAKER_IS_OPEN};

/// Where what is said to a request comes from.
type Replied = oneshot::Receiver<Result<Said, StoreError>>;

impl RateStore for RedisLimits {
    fn hasher(&self) -> KeyHasher {
        self.shared.hasher()
    }

    fn charge_all(
        &self,
        asks: &[ChargeRequest],
    ) -> Pin<Box<dyn Future<Output = Result<Vec<ChargeReply>, StoreError>> + Send>> {
        let now = self.shared.now();
        let leases = self.leases.as_ref();
        let refused = self.shared.refused.refuse(asks, now);
        if let Some(known) = refused.or_else(|| leases?.pay(asks, now)) {
            return Box::pin(std::future::ready(Ok(known)));
        }
        match self.ask(asks, self.plan(asks)) {
            Ok(replied) => Box::pin(self.clone().replied(asks.to_vec(), replied)),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn settle(
        &self,
        ask: &ChargeRequest,
        charge: &Charge,
        cost: u64,
    ) -> Result<Charge, StoreError> {
        if cost != charge.cost {
            let request = Request::settle(&self.shared.group, ask, charge, cost);
            self.send(Call::settlement(request))?;
        }
        Ok(ask.settled(charge, cost))
    }
}

impl RedisLimits {
    /// What to do about blocks for these.
    fn plan(&self, asks: &[ChargeRequest]) -> Plan {
        let plan = self.leases.as_ref().map(|leases| leases.plan(asks, self.shared.now()));
        plan.unwrap_or_default()
    }

    /// Asks the store about all of these, and does what is planned about blocks.
    fn ask(&self, asks: &[ChargeRequest], plan: Plan) -> Result<Replied, StoreError> {
        let Plan { wanted, ended } = plan;
        if !ended.is_empty() {
            self.send(Call::settlement(Request::give_back(&self.shared.group, &ended)))?;
        }
        let (reply, replied) = oneshot::channel();
        let request = Request::charge_all(&self.shared.group, asks, &wanted);
        let lessee =
            self.leases.clone().map(|leases| Lessee { leases, asks: asks.to_vec(), wanted });
        self.send(Call { request, reply: Some(reply), lessee })?;
        Ok(replied)
    }

    /// Waits for the reply to these, and remembers what is refused.
    async fn replied(
        self,
        asks: Vec<ChargeRequest>,
        replied: Replied,
    ) -> Result<Vec<ChargeReply>, StoreError> {
        let (mut replies, mut said) = self.said(&asks, replied).await?;
        if let Some(leases) = &self.leases {
            // What this node holds itself is no reason to refuse.
            let ended = leases.withdraw(refusing(&asks, &replies));
            if !ended.is_empty() {
                let replied = self.ask(&asks, Plan { ended, ..Plan::default() })?;
                (replies, said) = self.said(&asks, replied).await?;
            }
            let now = self.shared.now();
            for (ask, decision) in allowed(&asks, &mut replies) {
                let remaining = decision.remaining.saturating_add(leases.left(ask, now));
                decision.remaining = remaining.min(decision.limit);
                if decision.remaining == decision.limit {
                    decision.reset = Duration::ZERO;
                }
            }
        }
        let longest = self.leases.as_ref().map_or(LONGEST, |leases| leases.lease().min(LONGEST));
        self.shared.refused.remember(&asks, &replies, (said.sent, said.received), longest);
        Ok(replies)
    }

    /// Waits for what the store says.
    async fn said(
        &self,
        asks: &[ChargeRequest],
        replied: Replied,
    ) -> Result<(Vec<ChargeReply>, Said), StoreError> {
        let said = match timeout(patience(self.shared.deadline), replied).await {
            Ok(Ok(said)) => said?,
            Ok(Err(_)) => return Err(StoreError::new(StoreErrorKind::Unavailable)),
            // Whether the server fails, its scripts tell: one slow script is not as many failures as
            // there are requests that wait for it.
            Err(_) => return Err(self.shared.breaker.overdue()),
        };
        let told = reply::decode_all(asks, &said)?;
        Ok((told.into_iter().map(|told| told.reply).collect(), said))
    }

    /// Sends a call on its way.
    fn send(&self, call: Call) -> Result<(), StoreError> {
        let breaker = &self.shared.breaker;
        if breaker.is_open() {
            return Err(StoreError::new(StoreErrorKind::Unavailable).with_source(BREAKER_IS_OPEN));
        }
        self.calls.try_send(call).map_err(|_| breaker.crowded_out())
    }
}

/// Which of these refuse a request.
fn refusing<'a>(
    asks: &'a [ChargeRequest],
    replies: &'a [ChargeReply],
) -> impl Iterator<Item = &'a ChargeRequest> {
    let refuses = |decision: Decision| !decision.allowed;
    let each = asks.iter().zip(replies);
    each.filter(move |(ask, reply)| !ask.is_soft && reply.decision.is_some_and(refuses))
        .map(|(ask, _)| ask)
}

/// What those say that allow it.
fn allowed<'a>(
    asks: &'a [ChargeRequest],
    replies: &'a mut [ChargeReply],
) -> impl Iterator<Item = (&'a ChargeRequest, &'a mut Decision)> {
    let decisions = replies.iter_mut().map(|reply| reply.decision.as_mut());
    asks.iter().zip(decisions).filter_map(|(ask, it)| Some((ask, it.filter(|it| it.allowed)?)))
}
