//! A store that counts how often it is asked.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use tower_waiting_room::{MemoryStore, RoomRules, Snapshot, Store, StoreError, Timestamp};
use waiting_room_core::{Pass, Renewal, Ticket, Verdict, VisitorId};

/// A [`MemoryStore`], and how many of its verbs were called.
#[derive(Clone, Debug)]
pub(crate) struct CountingStore {
    store: MemoryStore,
    calls: Arc<AtomicU32>,
}

impl CountingStore {
    pub(crate) fn new(store: MemoryStore) -> Self {
        Self { store, calls: Arc::default() }
    }

    /// How many verbs were called so far.
    pub(crate) fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    fn counted(&self) -> &MemoryStore {
        self.calls.fetch_add(1, Ordering::Relaxed);
        &self.store
    }
}

impl Store for CountingStore {
    fn now(&self) -> Timestamp {
        self.store.now()
    }

    fn remembers_since(&self) -> Timestamp {
        self.store.remembers_since()
    }

    fn rules(&self) -> Arc<RoomRules> {
        self.store.rules()
    }

    async fn enter(&self, id: VisitorId) -> Result<Verdict, StoreError> {
        self.counted().enter(id).await
    }

    async fn check_in(&self, ticket: Ticket) -> Result<Verdict, StoreError> {
        self.counted().check_in(ticket).await
    }

    async fn renew(&self, pass: Pass) -> Result<Renewal, StoreError> {
        self.counted().renew(pass).await
    }

    async fn leave(&self, id: VisitorId) -> Result<(), StoreError> {
        self.counted().leave(id).await
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        self.counted().sweep().await
    }

    async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.counted().snapshot().await
    }

    async fn configure(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> Result<(), StoreError> {
        self.counted().configure(change).await
    }
}
