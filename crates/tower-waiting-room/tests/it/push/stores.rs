//! Push over a store that fails, and that knows no `stay` of its own.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use tower_waiting_room::{
    StoreFailure,
    room::{RoomRules, RoomSnapshot, StoreError, StoreErrorKind},
};
use waiting_room_core::{Pass, Ticket, Verdict, VisitorId, room::Renewal};

use super::*;
use crate::support::on_store;

/// A store that can be cut off, with the default implementation of `stay`.
#[derive(Clone)]
struct Plain {
    store: MemoryStore,
    is_cut: Arc<AtomicBool>,
    /// The number of calls while the store was cut off.
    failed: Arc<AtomicU32>,
}

impl Plain {
    fn reached(&self) -> Result<&MemoryStore, StoreError> {
        if self.is_cut.load(Ordering::Relaxed) {
            self.failed.fetch_add(1, Ordering::Relaxed);
            Err(StoreError::new(StoreErrorKind::Unavailable))
        } else {
            Ok(&self.store)
        }
    }
}

impl Store for Plain {
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
        self.reached()?.enter(id).await
    }

    async fn check_in(&self, ticket: Ticket) -> Result<Verdict, StoreError> {
        self.reached()?.check_in(ticket).await
    }

    async fn renew(&self, pass: Pass) -> Result<Renewal, StoreError> {
        self.reached()?.renew(pass).await
    }

    async fn leave(&self, id: VisitorId) -> Result<(), StoreError> {
        self.reached()?.leave(id).await
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        self.reached()?.sweep().await
    }

    async fn snapshot(&self) -> Result<RoomSnapshot, StoreError> {
        self.reached()?.snapshot().await
    }

    async fn configure(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> Result<(), StoreError> {
        self.reached()?.configure(change).await
    }
}

fn room(policy: StoreFailure) -> (Room, Arc<AtomicBool>) {
    let (room, store) = room_and_store(policy);
    (room, store.is_cut)
}

fn room_and_store(policy: StoreFailure) -> (Room, Plain) {
    let config = lasting().build().unwrap();
    let rules = config.room().unwrap().clone();
    let store = MemoryStore::with_clock(rules, PausedClock(Instant::now())).unwrap();
    let store = Plain { store, is_cut: Arc::default(), failed: Arc::default() };
    (Room { layer: on_store(config, store.clone(), policy) }, store)
}

#[tokio::test(start_paused = true)]
async fn a_store_without_stay_admits_and_the_next_request_finds_the_session() {
    let (room, _) = room(StoreFailure::Wait);
    let mut guest = room.guest().await;
    let (mut ann, mut stream) = room.streaming().await;
    let (mut bob, mut behind) = room.streaming().await;
    guest.get("/end").await;
    assert!(stream.turn().await <= secs(1));
    assert_eq!(stream.event().await, None);
    sleep(secs(30)).await;
    assert!(behind.has_no_turn_for(secs(1)).await);
    assert!(ann.is_inside().await);
    assert!(!bob.is_inside().await);
    assert_eq!(room.layer.handle().room().unwrap().snapshot().await.unwrap().active, 1);
}

#[tokio::test(start_paused = true)]
async fn streams_outlast_an_outage_of_the_store() {
    let (room, is_cut) = room(StoreFailure::Wait);
    let mut guest = room.guest().await;
    let (mut visitor, mut stream) = room.streaming().await;
    sleep(secs(2)).await;
    is_cut.store(true, Ordering::Relaxed);
    assert!(stream.has_no_turn_for(secs(40)).await);
    // Without the store, no other stream is opened, and an `EventSource` falls back to polls.
    let answer = visitor.events(PATH).await;
    assert_ne!(answer.status, StatusCode::OK);
    assert!(answer.headers.contains_key("retry-after"));
    is_cut.store(false, Ordering::Relaxed);
    guest.get("/end").await;
    assert!(stream.turn().await <= secs(6));
    assert!(visitor.is_inside().await);
}

/// A stream at the front looks twice a second otherwise.
#[tokio::test(start_paused = true)]
async fn a_stream_asks_a_store_that_fails_once_in_five_seconds() {
    let (room, store) = room_and_store(StoreFailure::Wait);
    room.guest().await;
    let (_visitor, mut stream) = room.streaming().await;
    sleep(secs(2)).await;
    store.is_cut.store(true, Ordering::Relaxed);
    assert!(stream.has_no_turn_for(secs(40)).await);
    let failed = store.failed.load(Ordering::Relaxed);
    assert!((7..=9).contains(&failed), "{failed} questions in 40 s");
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_admits_calls_visitors_in_an_outage() {
    let (room, is_cut) = room(StoreFailure::Admit);
    room.guest().await;
    let (mut visitor, mut stream) = room.streaming().await;
    sleep(secs(2)).await;
    is_cut.store(true, Ordering::Relaxed);
    assert!(stream.turn().await <= secs(1));
    // The path of the streams does not reach the application, whatever the policy is.
    assert_eq!(visitor.events(PATH).await.status, StatusCode::NO_CONTENT);
    assert!(visitor.is_inside().await);
}
