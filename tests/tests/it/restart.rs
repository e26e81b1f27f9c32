//! The process ends, and another one starts on its port, with the same keys and without state.

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;
use tests::{House, Seen, Visitor, config, obey};
use tower_waiting_room::config::WaitingRoomConfigBuilder;

/// Restarts the house on the same port.
async fn restarted(house: House) -> House {
    let port = house.port();
    house.close().await;
    House::open_at(port, unhurried(), |app| app)
}

/// An interval that is long enough that a visitor who checks in a second late is still present.
fn unhurried() -> WaitingRoomConfigBuilder {
    config().refresh_interval(Duration::from_secs(3))
}

/// Sends a request for both visitors in this order, and returns the answers of the room once both
/// may send the next.
async fn asked(visitors: [&Visitor; 2]) -> [Value; 2] {
    let [first, second] = visitors;
    let seen = [first.get("/").await, second.get("/").await];
    let retry_after = seen.iter().filter_map(Seen::retry_after).max();
    obey(retry_after.unwrap()).await;
    seen.map(|answer| answer.json()["waitingRoom"].clone())
}

#[tokio::test]
async fn an_active_visitor_stays_inside() {
    let (house, guest) = House::full(unhurried()).await;
    let house = restarted(house).await;
    assert_eq!(house.snapshot().await.active, 0, "the state is lost");
    assert!(guest.get("/").await.is_inside());
    assert_eq!(house.snapshot().await.active, 1, "the visitor is counted again");
    assert_eq!(Visitor::of(&house).get("/").await.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn places_in_the_line_are_kept_in_their_order() {
    let (house, guest) = House::full(unhurried()).await;
    let bob = Visitor::of(&house);
    let cat = Visitor::of(&house);
    asked([&bob, &cat]).await;
    let [bobs, cats] = asked([&bob, &cat]).await;
    assert_eq!((&bobs["position"], &cats["position"]), (&1.into(), &2.into()));

    let _house = restarted(house).await;
    assert!(guest.get("/").await.is_inside());
    // The later visitor checks in first, and still stands behind the earlier one.
    let [cats_now, bobs_now] = asked([&cat, &bob]).await;
    assert_eq!(bobs_now["waitingSince"], bobs["waitingSince"]);
    assert_eq!(cats_now["waitingSince"], cats["waitingSince"]);
    guest.leave().await;
    assert_eq!(cat.get("/").await.json()["waitingRoom"]["reason"], "queued:behind_others");
    assert!(bob.get("/").await.is_inside());
}
