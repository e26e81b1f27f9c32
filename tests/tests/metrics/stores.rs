//! Stores that a test can disconnect.

use std::{
    future::{Future, ready},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tower_waiting_room::{
    room::{MemoryStore, RoomNode, RoomRules, RoomSnapshot, StoreError, StoreErrorKind},
    time::{ManualClock, Timestamp},
};
use waiting_room_core::{
    Pass, Store, Ticket, Verdict, VisitorId,
    rate::{Charge, ChargeReply, ChargeRequest, KeyHasher, RateStore},
    room::Renewal,
};

/// A memory store that fails while it is cut off.
#[derive(Clone)]
pub(crate) struct Remote {
    inner: MemoryStore,
    is_cut: Arc<AtomicBool>,
}

impl Remote {
    pub(crate) fn new(rules: RoomRules, clock: &ManualClock) -> Self {
        let inner = MemoryStore::with_clock(rules, clock.clone()).unwrap();
        Self { inner, is_cut: Arc::default() }
    }

    pub(crate) fn cut(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
    }

    fn there(&self) -> Result<&MemoryStore, StoreError> {
        if self.is_cut.load(Ordering::Relaxed) {
            Err(StoreError::new(StoreErrorKind::Unavailable))
        } else {
            Ok(&self.inner)
        }
    }
}

impl Store for Remote {
    fn now(&self) -> Timestamp {
        self.inner.now()
    }
    fn remembers_since(&self) -> Timestamp {
        self.inner.remembers_since()
    }
    fn rules(&self) -> Arc<RoomRules> {
        self.inner.rules()
    }
    fn nodes(&self) -> Option<Vec<RoomNode>> {
        let other = RoomNode::new("other".to_owned(), self.now());
        Some(vec![RoomNode::new("this".to_owned(), self.now()).as_this_node(), other])
    }
    async fn enter(&self, id: VisitorId) -> Result<Verdict, StoreError> {
        self.there()?.enter(id).await
    }
    async fn check_in(&self, ticket: Ticket) -> Result<Verdict, StoreError> {
        self.there()?.check_in(ticket).await
    }
    async fn renew(&self, pass: Pass) -> Result<Renewal, StoreError> {
        self.there()?.renew(pass).await
    }
    async fn leave(&self, id: VisitorId) -> Result<(), StoreError> {
        self.there()?.leave(id).await
    }
    async fn sweep(&self) -> Result<(), StoreError> {
        self.there()?.sweep().await
    }
    async fn snapshot(&self) -> Result<RoomSnapshot, StoreError> {
        self.there()?.snapshot().await
    }
    async fn configure(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> Result<(), StoreError> {
        self.there()?.configure(change).await
    }
}

/// A store of rate limits that never answers.
#[derive(Debug)]
pub(crate) struct NoRates;

impl RateStore for NoRates {
    fn hasher(&self) -> KeyHasher {
        KeyHasher::shared([1, 2])
    }

    fn charge_all(
        &self,
        _: &[ChargeRequest],
    ) -> Pin<Box<dyn Future<Output = Result<Vec<ChargeReply>, StoreError>> + Send>> {
        Box::pin(ready(Err(StoreError::new(StoreErrorKind::Unavailable))))
    }

    fn settle(&self, _: &ChargeRequest, _: &Charge, _: u64) -> Result<Charge, StoreError> {
        Err(StoreError::new(StoreErrorKind::Unavailable))
    }
}
