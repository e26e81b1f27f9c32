//! An operator whose connection is cut in the middle of a change.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll, Waker},
};

use axum::body::Body;
use tokio::sync::Semaphore;
use tower::ServiceExt;
use tower_waiting_room::{WaitingRoomLayer, room::StoreFailure};
use waiting_room_core::{
    MemoryStore, Pass, RoomRules, Store, StoreError, Ticket, Timestamp, Verdict, VisitorId,
    room::{Renewal, RoomMode, RoomSnapshot},
};

use super::{
    super::{access::Operator, board::Board, dashboard::Dashboard},
    config, post,
};

/// A store that changes its rules only when it is allowed to.
#[derive(Clone)]
struct Slow {
    inner: MemoryStore,
    /// The number of changes that have been asked for.
    asked: Arc<AtomicU32>,
    allowed: Arc<Semaphore>,
}

impl Store for Slow {
    fn now(&self) -> Timestamp {
        self.inner.now()
    }
    fn remembers_since(&self) -> Timestamp {
        self.inner.remembers_since()
    }
    fn rules(&self) -> Arc<RoomRules> {
        self.inner.rules()
    }
    async fn enter(&self, id: VisitorId) -> Result<Verdict, StoreError> {
        self.inner.enter(id).await
    }
    async fn check_in(&self, ticket: Ticket) -> Result<Verdict, StoreError> {
        self.inner.check_in(ticket).await
    }
    async fn renew(&self, pass: Pass) -> Result<Renewal, StoreError> {
        self.inner.renew(pass).await
    }
    async fn leave(&self, id: VisitorId) -> Result<(), StoreError> {
        self.inner.leave(id).await
    }
    async fn sweep(&self) -> Result<(), StoreError> {
        self.inner.sweep().await
    }
    async fn snapshot(&self) -> Result<RoomSnapshot, StoreError> {
        self.inner.snapshot().await
    }
    async fn configure(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> Result<(), StoreError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.allowed.acquire().await.unwrap().forget();
        self.inner.configure(change).await
    }
}

#[tokio::test]
async fn a_change_is_made_and_recorded_even_if_its_operator_disconnects() {
    let config = config().build().unwrap();
    let inner = MemoryStore::new(config.room().unwrap().clone()).unwrap();
    let store = Slow { inner, asked: Arc::default(), allowed: Arc::new(Semaphore::new(0)) };
    let config = config.into_builder().room_store(store.clone(), StoreFailure::Wait);
    let layer = WaitingRoomLayer::new(config.build().unwrap());
    let board = Board::sampled_by_hand(layer.handle());
    let router = Dashboard::of(Arc::clone(&board), |_| Ok(Operator::new("Ann"))).router();
    let body = Body::from(r#"{"action":"drain","confirm":"shop"}"#);
    {
        let mut answer = pin!(router.oneshot(post("/change").body(body).unwrap()));
        let mut cx = Context::from_waker(Waker::noop());
        // The change waits for the store, and the connection is cut.
        while store.asked.load(Ordering::Relaxed) == 0 {
            assert!(matches!(answer.as_mut().poll(&mut cx), Poll::Pending));
            tokio::task::yield_now().await;
        }
    }
    assert_eq!((store.rules().mode, board.state().audit.recorded()), (RoomMode::Auto, 0));
    store.allowed.add_permits(1);
    // The change goes on in a task of its own.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(store.rules().mode, RoomMode::Drain);
    let state = board.state();
    let entry = state.audit.entries().next().unwrap();
    let recorded = (&*entry.operator, entry.action, &*entry.to, &*entry.outcome);
    assert_eq!(recorded, ("Ann", "drain", "drain", "done"));
}
