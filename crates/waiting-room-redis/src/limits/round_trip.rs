//! Decides on one request, on this node if possible, and in the store otherwise.
//!
//! ```text
//!  charge_all ─► Refused::refuse ─ known to be refused ──────────────────────────► reply
//!                      │
//!                      ▼
//!                Leases::pay ───── all limits can be paid from blocks ───────────► reply
//!                      │
//!                      ▼
//!                Leases::plan      which blocks to request, which to give back
//!                      │
//!                      ▼
//!                script ────────── refused because of this node's own blocks? ─┬─► reply
//!                      ▲                  gives them back, calls once more     │
//!                      └───────────────────────────────────────────────────────┘
//! ```
//!
//! The first two steps take no round trip, and no lock that another request holds for long. Both
//! steps run before the future is created, so a request that this node can decide on without the
//! store never waits.

use std::{future::Future, pin::Pin, time::Duration};

use tokio::{sync::oneshot, time::timeout};
use waiting_room_core::{
    StoreError,
    error::StoreErrorKind,
    rate::{Charge, ChargeReply, ChargeRequest, Decision, KeyHasher, RateStore},
};

use super::{
    ask::Request,
    batch::ChargeCall,
    leases::{Lessee, Plan},
    refused::LONGEST,
    reply::{self, ChargeNumbers},
    store::RedisLimits,
};
use crate::{connections::patience, store::BREAKER_IS_OPEN};

/// The receiver of the store's reply to one call.
type PendingReply = oneshot::Receiver<Result<ChargeNumbers, StoreError>>;

// The trait documents the contract. The order is preserved because the charges and corrections of a
// node go through one channel, so a correction counts before any later charge.
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
        // Refusals come first, because a request that one limit refuses must not spend blocks of
        // other limits.
        let refused = self.shared.refused.refuse(asks, now);
        if let Some(known) = refused.or_else(|| leases?.pay(asks, now)) {
            return Box::pin(std::future::ready(Ok(known)));
        }
        // The call is sent now rather than when the future is first polled, so that calls are sent
        // in the order in which the layer made them.
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
            self.send(ChargeCall::settlement(request))?;
        }
        // The node computes the receipt, because the store sends no reply to a correction.
        Ok(ask.settled(charge, cost))
    }
}

impl RedisLimits {
    /// Decides which blocks to request and which to give back. The plan is empty on a node without
    /// leases.
    fn plan(&self, asks: &[ChargeRequest]) -> Plan {
        let plan = self.leases.as_ref().map(|leases| leases.plan(asks, self.shared.now()));
        plan.unwrap_or_default()
    }

    /// Sends a charge of the given limits to the store, after giving back the blocks in the plan.
    ///
    /// # Errors
    ///
    /// Returns an error if the breaker is open or the channel is full.
    fn ask(&self, asks: &[ChargeRequest], plan: Plan) -> Result<PendingReply, StoreError> {
        let Plan { wanted, ended } = plan;
        // The blocks are given back before the charge, so that units of this node do not count
        // against it.
        if !ended.is_empty() {
            self.send(ChargeCall::settlement(Request::give_back(&self.shared.group, &ended)))?;
        }
        let (reply, replied) = oneshot::channel();
        let request = Request::charge_all(&self.shared.group, asks, &wanted);
        let lessee =
            self.leases.clone().map(|leases| Lessee { leases, asks: asks.to_vec(), wanted });
        self.send(ChargeCall { request, reply: Some(reply), lessee })?;
        Ok(replied)
    }

    /// Awaits the reply to a charge, and remembers the refusals in it.
    ///
    /// # Errors
    ///
    /// Returns an error if the script fails or takes too long. The limits may have been charged.
    async fn replied(
        self,
        asks: Vec<ChargeRequest>,
        replied: PendingReply,
    ) -> Result<Vec<ChargeReply>, StoreError> {
        let (mut replies, mut said) = self.said(&asks, replied).await?;
        if let Some(leases) = &self.leases {
            // The node's own blocks may be the only reason for a refusal. The blocks are given
            // back, and the charge is repeated once, without a request for new blocks, so no second
            // repetition can follow.
            let ended = leases.withdraw(refusing(&asks, &replies));
            if !ended.is_empty() {
                let replied = self.ask(&asks, Plan { ended, ..Plan::default() })?;
                (replies, said) = self.said(&asks, replied).await?;
            }
            // The store counts blocks as spent, but the client can still use the units of this
            // node's blocks.
            let now = self.shared.now();
            for (ask, decision) in allowed(&asks, &mut replies) {
                let remaining = decision.remaining.saturating_add(leases.left(ask, now));
                decision.remaining = remaining.min(decision.limit);
                if decision.remaining == decision.limit {
                    decision.reset = Duration::ZERO;
                }
            }
        }
        // With leases, a refusal may be caused by blocks of other nodes, which are given back after
        // about the length of a lease. The refusal is not remembered for longer.
        let longest = self.leases.as_ref().map_or(LONGEST, |leases| leases.lease().min(LONGEST));
        self.shared.refused.remember(&asks, &replies, (said.sent, said.received), longest);
        Ok(replies)
    }

    /// Awaits and decodes the reply to a charge.
    ///
    /// # Errors
    ///
    /// Returns an error if the script fails or takes too long, or if its reply cannot be decoded.
    async fn said(
        &self,
        asks: &[ChargeRequest],
        replied: PendingReply,
    ) -> Result<(Vec<ChargeReply>, ChargeNumbers), StoreError> {
        let said = match timeout(patience(self.shared.deadline), replied).await {
            Ok(Ok(said)) => said?,
            Ok(Err(_)) => return Err(StoreError::new(StoreErrorKind::Unavailable)),
            // The failure is not recorded here. The batch records it, because a slow script must
            // count as one failure, not as one failure for each request that waits for the script.
            Err(_) => return Err(self.shared.breaker.overdue()),
        };
        let told = reply::decode_all(asks, &said)?;
        Ok((told.into_iter().map(|told| told.reply).collect(), said))
    }

    /// Sends a call to the task that runs the script.
    ///
    /// # Errors
    ///
    /// Returns an error if the breaker is open or the channel is full.
    fn send(&self, call: ChargeCall) -> Result<(), StoreError> {
        let breaker = &self.shared.breaker;
        if breaker.is_open() {
            return Err(StoreError::new(StoreErrorKind::Unavailable).with_source(BREAKER_IS_OPEN));
        }
        self.calls.try_send(call).map_err(|_| breaker.crowded_out())
    }
}

/// Returns the hard limits that have refused the request.
fn refusing<'a>(
    asks: &'a [ChargeRequest],
    replies: &'a [ChargeReply],
) -> impl Iterator<Item = &'a ChargeRequest> {
    let refuses = |decision: Decision| !decision.allowed;
    let each = asks.iter().zip(replies);
    each.filter(move |(ask, reply)| !ask.is_soft && reply.decision.is_some_and(refuses))
        .map(|(ask, _)| ask)
}

/// Returns the decisions of the limits that have allowed the request.
fn allowed<'a>(
    asks: &'a [ChargeRequest],
    replies: &'a mut [ChargeReply],
) -> impl Iterator<Item = (&'a ChargeRequest, &'a mut Decision)> {
    let decisions = replies.iter_mut().map(|reply| reply.decision.as_mut());
    asks.iter()
        .zip(decisions)
        .filter_map(|(ask, decision)| Some((ask, decision.filter(|decision| decision.allowed)?)))
}
