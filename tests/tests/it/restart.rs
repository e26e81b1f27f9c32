//! The process ends, and another takes its port: the same keys, and no memory.

use http::StatusCode;
use serde_json::Value;
use tests::{House, Visitor, config};

/// The same house after its process ended.
async fn restarted(house: House) -> House {
    let port = house.port();
    house.close().await;
    House::open_at(port, config(), |app| app)
}

/// Asks as soon as that counts, and returns what the room says.
async fn asked(visitor: &Visitor) -> Value {
    let seen = visitor.get("/").await;
    assert_eq!(seen.status, StatusCode::TOO_MANY_REQUESTS);
    tokio::time::sleep(seen.retry_after().unwrap()).await;
    seen.json()["waitingRoom"].clone()
}

#[tokio::test]
async fn a_visitor_who_is_inside_stays_inside() {
    let (house, guest) = House::full(config()).await;
    let house = restarted(house).await;
    assert_eq!(house.snapshot().await.active, 0, "the memory is lost");
    assert!(guest.get("/").await.is_inside());
    assert_eq!(house.snapshot().await.active, 1, "and the room has learned of it");
    assert_eq!(Visitor::of(&house).get("/").await.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn places_in_the_line_are_kept_in_their_order() {
    let (house, guest) = House::full(config()).await;
    let (bob, cat) = (Visitor::of(&house), Visitor::of(&house));
    let both = async || (asked(&bob).await, asked(&cat).await);
    both().await;
    let before = both().await;
    assert_eq!((&before.0["position"], &before.1["position"]), (&1.into(), &2.into()));

    let _house = restarted(house).await;
    assert!(guest.get("/").await.is_inside());
    // The later of the two comes first, and still stands behind.
    let cats = asked(&cat).await;
    let bobs = asked(&bob).await;
    assert_eq!(bobs["waitingSince"], before.0["waitingSince"]);
    assert_eq!(cats["waitingSince"], before.1["waitingSince"]);
    guest.leave().await;
    assert_eq!(cat.get("/").await.json()["waitingRoom"]["reason"], "queued:behind_others");
    assert!(bob.get("/").await.is_inside());
}
