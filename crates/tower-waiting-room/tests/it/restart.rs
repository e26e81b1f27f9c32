//! Restarts of the process: the memory is lost, and the key stays the same.

use tower_waiting_room::{config::Enforcement, room::Recovery};

use crate::support::{House, Visitor, config};

#[tokio::test]
async fn passes_stay_valid_and_are_counted_again_when_seen() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    ann.get(&house).await;
    house.advance(1);
    let house = house.restarted(config());
    assert_eq!(ann.get(&house).await.reason, "admitted");
    assert_eq!(house.active().await, 1);
    assert_eq!(Visitor::default().get(&house).await.reason, "queued:active_limit");
}

#[tokio::test]
async fn places_are_kept_in_the_order_of_arrival() {
    let house = House::new(config());
    let (mut ann, mut bob, mut cat) = Default::default();
    Visitor::get(&mut ann, &house).await;
    Visitor::queue(&mut bob, &house).await;
    let waiting = Visitor::queue(&mut cat, &house).await;
    house.advance(waiting.header("retry-after").unwrap().parse().unwrap());

    let house = house.restarted(config());
    ann.get(&house).await;
    let second = cat.get(&house).await.json();
    let first = bob.get(&house).await.json();
    let since = |answer: &serde_json::Value| answer["waitingRoom"]["waitingSince"].clone();
    assert_eq!(since(&second), since(&waiting.json()));
    assert!(since(&first).as_str() < since(&second).as_str());
    ann.send(&house, http::Request::get("/").header("x-end", "1")).await;
    house.advance(15);
    assert_eq!(cat.get(&house).await.reason, "queued:behind_others");
    assert!(bob.get(&house).await.is_inside());
}

#[tokio::test]
async fn a_clock_set_back_over_a_restart_voids_no_pass_and_no_place() {
    let house = House::new(config());
    let (mut ann, mut bob, mut cat) = Default::default();
    Visitor::get(&mut ann, &house).await;
    Visitor::queue(&mut bob, &house).await;
    Visitor::queue(&mut cat, &house).await;

    let house = house.restarted_earlier(config(), 120);
    // The pass is counted as soon as it is shown, as after any restart.
    assert_eq!(ann.get(&house).await.reason, "admitted");
    assert_eq!(house.active().await, 1);
    assert_eq!(cat.get(&house).await.reason, "queued:active_limit");
    assert_eq!(bob.get(&house).await.reason, "queued:active_limit");
    let mut dan = Visitor::default();
    assert!(!dan.get(&house).await.is_inside());
    ann.send(&house, http::Request::get("/").header("x-end", "1")).await;
    house.advance(15);
    assert_eq!(cat.get(&house).await.reason, "queued:behind_others");
    assert!(!dan.get(&house).await.is_inside());
    assert!(bob.get(&house).await.is_inside());
}

#[tokio::test]
async fn a_clock_set_back_by_more_than_five_minutes_voids_issued_tokens() {
    let house = House::new(config());
    let mut ann = Visitor::default();
    ann.get(&house).await;
    let house = house.restarted_earlier(config(), 301);
    assert_eq!(ann.get(&house).await.reason, "admitted:slot");
}

#[tokio::test]
async fn on_hold_no_newcomer_is_admitted_before_the_old_passes_are_void() {
    let house = House::new(config());
    let mut silent = Visitor::default();
    silent.get(&house).await;
    let house = house.restarted(config().recovery(Recovery::Pause));
    let mut bob = Visitor::default();
    assert_eq!(bob.get(&house).await.reason, "queued:recovery");
    house.advance(89);
    assert_eq!(bob.get(&house).await.reason, "queued:recovery");
    house.advance(26);
    assert!(bob.get(&house).await.is_inside());
}

#[tokio::test]
async fn shadow_mode_survives_a_restart() {
    let house = House::new(config().enforcement(Enforcement::Shadow));
    let mut ann = Visitor::default();
    ann.get(&house).await;
    let house = house.restarted(config().enforcement(Enforcement::Shadow));
    assert_eq!(ann.get(&house).await.reason, "admitted");
}
