//! An operator whose connection is cut in the middle of a change.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use axum::body::Body;
use tower::ServiceExt;
use tower_waiting_room::{WaitingRoomLayer, room::StoreFailure};
use waiting_room_core::{MemoryStore, Store, room::RoomMode};
use waiting_room_doubles::{Mood, StoreDouble, Verb};

use super::{
    super::{access::Operator, board::Board, dashboard::Dashboard},
    config, post,
};

#[tokio::test]
async fn a_change_is_made_and_recorded_even_if_its_operator_disconnects() {
    let config = config().build().unwrap();
    let inner = MemoryStore::new(config.room().unwrap().clone()).unwrap();
    let store = StoreDouble::new(inner);
    store.set(&[Verb::Configure], Mood::Hangs);
    let config = config.into_builder().room_store(store.clone(), StoreFailure::Wait);
    let layer = WaitingRoomLayer::new(config.build().unwrap());
    let board = Board::sampled_by_hand(layer.handle());
    let router = Dashboard::of(Arc::clone(&board), |_| Ok(Operator::new("Ann"))).router();
    let body = Body::from(r#"{"action":"drain","confirm":"shop"}"#);
    {
        let mut answer = pin!(router.oneshot(post("/change").body(body).unwrap()));
        let mut cx = Context::from_waker(Waker::noop());
        // The change waits for the store, and the connection is cut.
        while store.calls(&[Verb::Configure]) == 0 {
            assert!(matches!(answer.as_mut().poll(&mut cx), Poll::Pending));
            tokio::task::yield_now().await;
        }
    }
    assert_eq!((store.rules().mode, board.state().audit.recorded()), (RoomMode::Auto, 0));
    store.mend();
    // The change continues in a task of its own.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(store.rules().mode, RoomMode::Drain);
    let state = board.state();
    let entry = state.audit.entries().next().unwrap();
    let recorded = (&*entry.operator, entry.action, &*entry.to, &*entry.outcome);
    assert_eq!(recorded, ("Ann", "drain", "drain", "done"));
}
