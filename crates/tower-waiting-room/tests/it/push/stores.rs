//! Push over a store that fails, and that knows no `stay` of its own.

use tower_waiting_room::StoreFailure;
use waiting_room_doubles::StoreDouble;

use super::*;
use crate::support::on_store;

fn room(policy: StoreFailure) -> (Room, StoreDouble) {
    let config = lasting().build().unwrap();
    let rules = config.room().unwrap().clone();
    let store = MemoryStore::with_clock(rules, PausedClock(Instant::now())).unwrap();
    let store = StoreDouble::new(store);
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
    let (room, store) = room(StoreFailure::Wait);
    let mut guest = room.guest().await;
    let (mut visitor, mut stream) = room.streaming().await;
    sleep(secs(2)).await;
    store.cut();
    assert!(stream.has_no_turn_for(secs(40)).await);
    // Without the store, no other stream is opened, and an `EventSource` falls back to polls.
    let answer = visitor.events(PATH).await;
    assert_ne!(answer.status, StatusCode::OK);
    assert!(answer.headers.contains_key("retry-after"));
    store.mend();
    guest.get("/end").await;
    assert!(stream.turn().await <= secs(6));
    assert!(visitor.is_inside().await);
}

/// A stream at the front looks twice a second otherwise.
#[tokio::test(start_paused = true)]
async fn a_stream_asks_a_store_that_fails_once_in_five_seconds() {
    let (room, store) = room(StoreFailure::Wait);
    room.guest().await;
    let (_visitor, mut stream) = room.streaming().await;
    sleep(secs(2)).await;
    store.cut();
    assert!(stream.has_no_turn_for(secs(40)).await);
    let failed = store.failed();
    assert!((7..=9).contains(&failed), "{failed} questions in 40 s");
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_admits_calls_visitors_in_an_outage() {
    let (room, store) = room(StoreFailure::Admit);
    room.guest().await;
    let (mut visitor, mut stream) = room.streaming().await;
    sleep(secs(2)).await;
    store.cut();
    assert!(stream.turn().await <= secs(1));
    // The path of the streams does not reach the application, whatever the policy is.
    assert_eq!(visitor.events(PATH).await.status, StatusCode::NO_CONTENT);
    assert!(visitor.is_inside().await);
}
