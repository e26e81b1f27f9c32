use std::time::Duration;

use tower_waiting_room::{
    Quota, RateLimit, WaitingRoomConfig, config::WaitingRoomConfigBuilder, room::QueueingMethod,
};

use super::{again, of, position, queued};
use crate::support::{House, Visitor, config};

/// Members get a head start of two minutes, and those who ask for too much get five.
fn classes() -> WaitingRoomConfigBuilder {
    classes_of(config().session_duration(Duration::from_secs(1_000)))
}

fn classes_of(config: WaitingRoomConfigBuilder) -> WaitingRoomConfigBuilder {
    config.priority(Duration::from_secs(300), |head| {
        match head.headers().get("x-class").and_then(|class| class.to_str().ok()) {
            Some("member") => Duration::from_secs(120),
            Some("greedy") => Duration::MAX,
            _ => Duration::ZERO,
        }
    })
}

async fn full(config: WaitingRoomConfigBuilder) -> House {
    let house = House::new(config);
    assert!(Visitor::default().send(&house, of("")).await.is_inside());
    house
}

#[tokio::test]
async fn a_member_is_ordered_as_if_it_had_arrived_earlier() {
    let house = full(classes()).await;
    let (mut early, _) = queued(&house, "").await;
    house.advance(130);
    early.send(&house, of("")).await;
    let (mut late, second) = queued(&house, "").await;
    let (mut member, ahead_of_late) = queued(&house, "member").await;
    assert_eq!((second, ahead_of_late), (2, 2));
    // The visitor that was overtaken sees its position rise, and that it is approximate.
    house.advance(27);
    assert_eq!(position(&early.send(&house, of("")).await), 1);
    assert_eq!(position(&member.send(&house, of("member")).await), 2);
    let seen = late.send(&house, of("")).await.json();
    assert_eq!(seen["waitingRoom"]["position"], 3);
    assert_eq!(seen["waitingRoom"]["isApproximate"], true, "{seen}");
}

#[tokio::test]
async fn head_starts_are_capped_at_the_longest_one() {
    let house = full(classes()).await;
    let (mut early, _) = queued(&house, "").await;
    for _ in 0..13 {
        again(&mut early, &house, "").await;
    }
    // The first visitor came more than five minutes before.
    let (_, greedy) = queued(&house, "greedy").await;
    assert_eq!(greedy, 2);
    assert_eq!(position(&again(&mut early, &house, "").await), 1);
}

#[tokio::test]
async fn headers_that_change_in_the_line_change_nothing() {
    let house = full(classes()).await;
    let (mut first, _) = queued(&house, "").await;
    let (mut second, _) = queued(&house, "").await;
    // The second visitor says that it is a member now, with its ticket.
    for class in ["member", "greedy"] {
        again(&mut first, &house, "").await;
        assert_eq!(position(&second.send(&house, of(class)).await), 2);
    }
    // The third one says so between its two touches.
    let mut third = Visitor::default();
    let seen = third.send(&house, of("")).await;
    house.advance(seen.header("retry-after").unwrap().parse().unwrap());
    assert_eq!(position(&third.send(&house, of("greedy")).await), 3);
    // A member that says that it is none keeps its head start.
    let (mut member, at) = queued(&house, "member").await;
    assert_eq!(at, 1);
    assert_eq!(position(&again(&mut member, &house, "").await), 1);
    assert_eq!(position(&first.send(&house, of("")).await), 2);
}

#[tokio::test]
async fn a_crowd_that_returns_without_its_tickets_gains_nothing() {
    let house = full(classes()).await;
    let (mut first, _) = queued(&house, "member").await;
    for _ in 0..20 {
        let (_, position) = queued(&house, "member").await;
        assert!(position > 1);
    }
    assert_eq!(position(&again(&mut first, &house, "member").await), 1);
}

#[tokio::test]
async fn the_order_is_restored_from_the_tickets_after_a_restart() {
    let house = full(classes()).await;
    let (mut visitor, _) = queued(&house, "").await;
    let (mut member, at) = queued(&house, "member").await;
    assert_eq!(at, 1);
    let house = house.restarted(classes());
    assert!(Visitor::default().send(&house, of("")).await.is_inside());
    assert_eq!(position(&again(&mut visitor, &house, "").await), 1);
    assert_eq!(position(&member.send(&house, of("")).await), 1);
    assert_eq!(position(&again(&mut member, &house, "").await), 1);
    assert_eq!(position(&visitor.send(&house, of("")).await), 2);
}

#[tokio::test]
async fn a_place_that_has_lapsed_begins_again_with_the_head_start_of_today() {
    let house = full(classes()).await;
    let (mut member, _) = queued(&house, "member").await;
    let (mut visitor, _) = queued(&house, "").await;
    for _ in 0..14 {
        again(&mut visitor, &house, "").await;
    }
    // The member was away for too long, and is behind everybody who came two minutes before now.
    assert_eq!(position(&member.send(&house, of("member")).await), 2);
    again(&mut visitor, &house, "").await;
    assert_eq!(position(&member.send(&house, of("")).await), 2);
    let (_, next) = queued(&house, "").await;
    assert_eq!(next, 3);
}

#[tokio::test]
async fn a_head_start_takes_no_slot_that_is_not_free() {
    let house = full(classes().total_active_users(2)).await;
    assert!(Visitor::default().send(&house, of("")).await.is_inside());
    let mut members = Vec::new();
    for _ in 0..5 {
        members.push(queued(&house, "member").await.0);
    }
    for member in &mut members {
        assert!(!again(member, &house, "member").await.is_inside());
    }
    assert_eq!(house.active().await, 2);
}

#[tokio::test]
async fn a_line_in_random_order_has_no_head_starts() {
    // With the same ids, the lots would be the same: the head start is in no lot.
    let house = full(classes().queueing_method(QueueingMethod::Random)).await;
    let mut first = Visitor::default();
    let mut member = Visitor::default();
    first.send(&house, of("")).await;
    member.send(&house, of("member")).await;
    house.advance(3);
    for visitor in [&mut first, &mut member] {
        let seen = visitor.send(&house, of("")).await.json();
        assert_eq!(seen["waitingRoom"]["position"], serde_json::Value::Null);
    }
}

#[test]
fn the_longest_head_start_is_bounded() {
    let error = |longest| {
        let config = config().priority(longest, |_| Duration::ZERO);
        config.build().unwrap_err().to_string()
    };
    let short = Duration::from_millis(999);
    let long = Duration::from_secs(3_601);
    assert_eq!(error(short), "priority is 999ms, expected a longest head start of at least 1s");
    assert_eq!(error(long), "priority is 3601s, expected a longest head start of at most 1h");
    let limit = RateLimit::global(Quota::per_minute(1));
    let no_room = classes_of(WaitingRoomConfig::builder("shop").rate_limit(limit));
    assert_eq!(
        no_room.build().unwrap_err().to_string(),
        "priority is set, expected total_active_users, because visitors wait only in a room"
    );
}
