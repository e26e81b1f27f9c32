//! A room whose store counts its calls, and the tokens of its visitors.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use http::{Request, Response, header};
use tower::{Layer, ServiceExt};
use tower_waiting_room::{
    KeyRing, TokenKey, WaitingRoomConfig, WaitingRoomLayer,
    config::WaitingRoomConfigBuilder,
    room::{MemoryStore, RoomRules, RoomSnapshot, StoreError},
    time::Timestamp,
};
use waiting_room_core::{Pass, Store, Ticket, Verdict, VisitorId, room::Renewal};

use crate::{
    requests::{Peer, peer},
    services::Ready,
};

/// The configuration of a room with one slot, and with sessions that need no renewal during a
/// measurement.
pub(crate) fn config() -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("shop")
        .total_active_users(1)
        .session_duration(Duration::from_secs(24 * 60 * 60))
        .keys(KeyRing::new(key(1)))
}

/// Returns a key that is the same in every process of a benchmark.
pub(crate) fn key(byte: u8) -> TokenKey {
    TokenKey::from_bytes([byte; TokenKey::LEN])
}

/// Returns the token of a new visitor: a pass while a slot is free, and then a ticket.
pub(crate) async fn token(layer: &WaitingRoomLayer) -> String {
    token_at(layer, peer([127, 0, 0, 1])).await
}

/// Returns the token of a new visitor with this address.
pub(crate) async fn token_at(layer: &WaitingRoomLayer, peer: Peer) -> String {
    let request = Request::get("/").extension(peer).body(()).expect("the request is well formed");
    let Ok(response) = layer.layer(Ready).oneshot(request).await;
    cookie_of(&response).expect("the room has slots or a line")
}

/// Returns the value of the first cookie that a response sets.
pub(crate) fn cookie_of<B>(response: &Response<B>) -> Option<String> {
    let line = response.headers().get(header::SET_COOKIE)?.to_str().ok()?;
    let (_, value) = line.split(';').next()?.split_once('=')?;
    Some(value.to_owned())
}

/// A [`MemoryStore`] that counts the calls of its verbs.
#[derive(Clone, Debug)]
pub(crate) struct CountingStore {
    store: MemoryStore,
    calls: Arc<AtomicU32>,
}

impl CountingStore {
    pub(crate) fn new(store: MemoryStore) -> Self {
        Self { store, calls: Arc::default() }
    }

    /// The number of calls so far.
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

    async fn snapshot(&self) -> Result<RoomSnapshot, StoreError> {
        self.counted().snapshot().await
    }

    async fn configure(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> Result<(), StoreError> {
        self.counted().configure(change).await
    }
}
