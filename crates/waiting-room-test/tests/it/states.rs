//! Rooms that begin in a state.

use std::error::Error;

use tower_waiting_room::{
    WaitingRoomLayer,
    config::WaitingRoomConfigBuilder,
    room::{MemoryStore, RoomMode, StoreFailure},
};
use waiting_room_core::{Store, Verdict, VisitorId};
use waiting_room_test::{RoomState, TestClient, TestClock};

use crate::fakes::{MINUTE, SECOND, config, open_shop};

fn store(config: WaitingRoomConfigBuilder, clock: TestClock) -> MemoryStore {
    let rules = config.build().unwrap().room().unwrap().clone();
    MemoryStore::with_clock(rules, clock).unwrap()
}

#[test]
fn a_room_is_full_with_a_line_and_paused() {
    waiting_room_test::run(async |clock| {
        let store = store(config(100).new_users_per_minute(10), clock);
        let state = RoomState::new().active(100).waiting(40).mode(RoomMode::QueueAll);
        let occupants = state.reach(&store, clock).await.unwrap();
        let numbers = store.snapshot().await.unwrap();
        assert_eq!((numbers.active, numbers.waiting, numbers.present), (100, 40, 40));
        assert_eq!((numbers.mode, numbers.new_users_per_minute), (RoomMode::QueueAll, Some(10)));
        assert_eq!((occupants.active.len(), occupants.waiting.len()), (100, 40));
        let positions: Vec<_> =
            occupants.waiting.iter().map(|ticket| ticket.shown_position).collect();
        assert_eq!(positions, (1..=40).map(Some).collect::<Vec<_>>());
    });
}

#[test]
fn a_slot_that_becomes_free_goes_to_the_first_in_line_and_not_to_a_newcomer() {
    waiting_room_test::run(async |clock| {
        let store = store(config(3), clock);
        let state = RoomState::new().active(3).waiting(2);
        let occupants = state.reach(&store, clock).await.unwrap();
        store.leave(occupants.active[0].id).await.unwrap();

        let config = config(3).room_store(store.clone(), StoreFailure::Wait);
        let layer = WaitingRoomLayer::new(config.build().unwrap());
        let mut newcomer = TestClient::api(open_shop().layer(layer), clock);
        let seen = newcomer.get("/").await;
        assert_eq!(seen.reason.unwrap().to_string(), "queued:behind_others");

        let first = occupants.waiting[0];
        clock.pass_until(first.next_check_in).await;
        let verdict = store.check_in(first).await.unwrap();
        assert!(matches!(verdict, Verdict::Admit { .. }), "{verdict:?}");
    });
}

#[test]
fn a_state_that_a_room_cannot_be_in_is_refused_with_the_rule() {
    waiting_room_test::run(async |clock| {
        let refused = async |config, state: RoomState| {
            let error = state.reach(&store(config, clock), clock).await.unwrap_err();
            error.to_string()
        };
        assert_eq!(
            refused(config(3), RoomState::new().active(4)).await,
            "active is 4, expected at most 3 (total_active_users)"
        );
        assert_eq!(
            refused(config(3).line_capacity(2), RoomState::new().waiting(3)).await,
            "waiting is 3, expected at most 2 (line_capacity)"
        );
        let short = config(3).session_duration(SECOND);
        assert_eq!(
            refused(short, RoomState::new().active(3).waiting(9)).await,
            "active is 0 after all visitors came, expected 3"
        );
    });
}

#[test]
fn a_room_that_is_not_empty_is_refused() {
    waiting_room_test::run(async |clock| {
        let store = store(config(3), clock);
        store.enter(VisitorId::new(7)).await.unwrap();
        let error = RoomState::new().active(3).reach(&store, clock).await.unwrap_err();
        assert_eq!(error.to_string(), "active: visitor 2 got queued:active_limit");
        assert!(error.source().is_none());
        clock.pass(2 * MINUTE).await;
        RoomState::new().active(3).reach(&store, clock).await.unwrap();
    });
}
