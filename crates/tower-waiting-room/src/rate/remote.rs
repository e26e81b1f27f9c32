//! A request whose limits are counted in a store that all nodes share.
//!
//! The stage sends one query for all limits of a request, and the request waits for the reply as a
//! [`PendingCharge`]. Failures of the store are not handled in this module. The error is passed on
//! to the stage together with the [`AskedLimits`], which contain everything that the stage needs to
//! charge the limits of this node instead.
//!
//! ```text
//! AskedLimits ─► PendingCharge ──store──► StoreReply ─► one StoreCharge for each limit
//! ```

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use smallvec::SmallVec;
use waiting_room_core::{
    StoreError,
    error::StoreErrorKind,
    rate::{ChargeReply, ChargeRequest, RateStore, charging::LazyDecision},
};

use super::{handle::Spent, policy::Policy, report::Charged};

/// A request that is waiting for the store that counts its limits.
///
/// # Cancel safety
///
/// If this value is dropped, the store may or may not have charged the request. If the store has
/// charged the request, the charge is not refunded, so the limits are stricter by this amount until
/// it has been replenished.
pub(crate) struct PendingCharge {
    replies: Pin<Box<dyn Future<Output = Result<Vec<ChargeReply>, StoreError>> + Send>>,
    /// The limits that the query charges, or `None` once the store has replied.
    asked: Option<AskedLimits>,
}

/// The limits that a query charges.
pub(super) struct AskedLimits {
    /// The limits that were in effect when the query was sent.
    pub(super) policies: Arc<Vec<Arc<Policy>>>,
    /// The indices in `policies` of the limits that apply, in the order of `asks`.
    pub(super) applying: SmallVec<[usize; 2]>,
    /// One charge request for each limit that applies.
    pub(super) asks: Vec<ChargeRequest>,
    /// Whether the request is one of the layer's first requests, which are inspected.
    pub(super) is_watched: bool,
}

/// The store's reply, with the limits that it concerns.
pub(crate) struct StoreReply {
    pub(super) asked: AskedLimits,
    /// One reply for each charge request, in the same order.
    pub(super) replies: Result<Vec<ChargeReply>, StoreError>,
}

/// The store's reply for one limit.
#[derive(Clone, Copy)]
pub(super) struct StoreCharge<'a> {
    /// The index of the limit in the list of current limits.
    policy: usize,
    pub(super) ask: &'a ChargeRequest,
    pub(super) reply: &'a ChargeReply,
    /// The store with which the charge can be settled.
    store: &'a Arc<dyn RateStore>,
}

impl PendingCharge {
    /// Starts the query.
    pub(super) fn new(store: &Arc<dyn RateStore>, asked: AskedLimits) -> Box<Self> {
        Box::new(Self { replies: store.charge_all(&asked.asks), asked: Some(asked) })
    }

    /// Polls for the reply. The store itself limits the wait with a deadline.
    ///
    /// # Panics
    ///
    /// Panics if called again after it has returned `Ready`.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<StoreReply> {
        let replies = ready!(self.replies.as_mut().poll(cx));
        let asked = self.asked.take().expect("the reply of the store is taken only once");
        // A store that does not return one reply for every limit violates its contract. Its replies
        // cannot be matched to the limits, so the request is treated as it would be during an
        // outage.
        let is_whole = |replies: &Vec<_>| replies.len() == asked.asks.len();
        let replies = match replies {
            Ok(replies) if !is_whole(&replies) => Err(StoreError::new(StoreErrorKind::Unavailable)),
            replies => replies,
        };
        Poll::Ready(StoreReply { asked, replies })
    }
}

impl AskedLimits {
    /// Pairs each limit with its reply.
    pub(super) fn charges<'a>(
        &'a self,
        replies: &'a [ChargeReply],
        store: &'a Arc<dyn RateStore>,
    ) -> impl Iterator<Item = StoreCharge<'a>> + Clone {
        let asked = self.applying.iter().zip(&self.asks).zip(replies);
        asked.map(move |((&policy, ask), reply)| StoreCharge { policy, ask, reply, store })
    }
}

impl StoreCharge<'_> {
    /// Returns the decision, corrected for the refund of the cost. The correction is computed here
    /// to save a round trip, and therefore ignores the units that other nodes have used in the
    /// meantime.
    pub(super) fn given_back(&self) -> Option<LazyDecision> {
        let mut decision = self.reply.decision?;
        let remaining = decision.remaining.saturating_add(self.ask.cost);
        decision.remaining = remaining.min(decision.limit);
        Some(decision.into())
    }
}

impl Charged for StoreCharge<'_> {
    fn policy(&self) -> usize {
        self.policy
    }

    fn tier(&self) -> usize {
        self.ask.tier
    }

    fn decision(&self) -> Option<LazyDecision> {
        self.reply.decision.map(LazyDecision::from)
    }

    fn is_charged(&self) -> bool {
        self.reply.charge.is_some()
    }

    fn spent(&self, policy: &Arc<Policy>) -> Option<Spent> {
        Some(Spent::in_store(policy, self.ask, self.reply.charge?, Arc::clone(self.store)))
    }
}
