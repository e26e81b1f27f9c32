//! A request about whose limits a store is asked, which counts them for all nodes.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use smallvec::SmallVec;
use waiting_room_core::{
    ChargeReply, ChargeRequest, Decision, RateStore, StoreError, StoreErrorKind,
};

use super::{handle::Spent, policy::Policy, report::Charged};

/// A request that waits for the store of its limits. Dropped, it is charged or is not.
pub(crate) struct PendingCharge {
    replies: Pin<Box<dyn Future<Output = Result<Vec<ChargeReply>, StoreError>> + Send>>,
    /// `None` once the store has replied.
    asked: Option<AskedLimits>,
}

/// The limits about which a store is asked.
pub(super) struct AskedLimits {
    pub(super) policies: Arc<Vec<Arc<Policy>>>,
    /// Which of them, in the order of the asks.
    pub(super) applying: SmallVec<[usize; 2]>,
    pub(super) asks: Vec<ChargeRequest>,
    /// Whether the request is one of those that are looked at.
    pub(super) is_watched: bool,
}

/// What the store has said.
pub(crate) struct StoreReply {
    pub(super) asked: AskedLimits,
    /// One for each ask.
    pub(super) replies: Result<Vec<ChargeReply>, StoreError>,
}

/// What the store has said of one limit.
#[derive(Clone, Copy)]
pub(super) struct StoreCharge<'a> {
    policy: usize,
    pub(super) ask: &'a ChargeRequest,
    pub(super) reply: &'a ChargeReply,
    store: &'a Arc<dyn RateStore>,
}

impl PendingCharge {
    pub(super) fn new(store: &Arc<dyn RateStore>, asked: AskedLimits) -> Box<Self> {
        Box::new(Self { replies: store.charge_all(&asked.asks), asked: Some(asked) })
    }

    /// Waits for what the store says.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<StoreReply> {
        let replies = ready!(self.replies.as_mut().poll(cx));
        let asked = self.asked.take().expect("the store replies once");
        let is_whole = |replies: &Vec<_>| replies.len() == asked.asks.len();
        let replies = match replies {
            Ok(replies) if !is_whole(&replies) => Err(StoreError::new(StoreErrorKind::Unavailable)),
            replies => replies,
        };
        Poll::Ready(StoreReply { asked, replies })
    }
}

impl AskedLimits {
    /// What these replies say of each limit.
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
    /// The decision as it is once the cost was given back.
    pub(super) fn given_back(&self) -> Option<Decision> {
        let mut decision = self.reply.decision?;
        let remaining = decision.remaining.saturating_add(self.ask.cost);
        decision.remaining = remaining.min(decision.limit);
        Some(decision)
    }
}

impl Charged for StoreCharge<'_> {
    fn policy(&self) -> usize {
        self.policy
    }

    fn tier(&self) -> usize {
        self.ask.tier
    }

    fn decision(&self) -> Option<Decision> {
        self.reply.decision
    }

    fn is_charged(&self) -> bool {
        self.reply.charge.is_some()
    }

    fn spent(&self, policy: &Arc<Policy>) -> Option<Spent> {
        Some(Spent::in_store(policy, self.ask, self.reply.charge?, Arc::clone(self.store)))
    }
}
