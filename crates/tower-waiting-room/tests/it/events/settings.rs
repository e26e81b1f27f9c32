//! Events that are configured wrongly, and events that change while the room is in use.

use super::*;

/// Returns the error of a configuration file with these events.
fn file_error(events: &str) -> String {
    let file = format!(r#"{{ "name": "shop", "total_active_users": 5, "events": [{events}] }}"#);
    serde_json::from_str::<WaitingRoomConfig>(&file).unwrap_err().to_string()
}

#[test]
fn a_file_with_a_bad_event_is_refused_with_the_field_and_both_values() {
    let start = r#""start": "2027-03-01T10:00:00Z""#;
    let end = r#""end": "2027-03-01T11:00:00Z""#;
    for (event, expected) in [
        (
            r#"{ "name": "doors", "start": "2027-03-01T10:00:00Z", "end": "2027-03-01T09:00:00Z" }"#
                .to_owned(),
            "end is 2027-03-01T09:00:00Z in event \"doors\", expected after its start, \
             2027-03-01T10:00:00Z",
        ),
        (
            format!(
                r#"{{ "name": "a", {start}, {end} }},
                   {{ "name": "b", "start": "2027-03-01T10:30:00Z", "end": "2027-03-01T12:00:00Z" }}"#
            ),
            "start is 2027-03-01T10:30:00Z in event \"b\", expected at or after the end of event \
             \"a\", 2027-03-01T11:00:00Z",
        ),
        (
            format!(r#"{{ "name": "doors", {start}, {end}, "seed": "{}" }}"#, "09".repeat(32)),
            "expected absent, because event \"doors\" has no prequeue_start",
        ),
        (
            format!(
                r#"{{ "name": "doors", {start}, {end}, "prequeue_start": "2027-03-01T09:30:00Z",
                      "shuffle_at_start": "{}", "seed": "{}" }}"#,
                "01".repeat(32),
                "09".repeat(32)
            ),
            "expected the seed with the commitment 0101",
        ),
        (
            format!(
                r#"{{ "name": "doors", {start}, {end}, "prequeue_start": "2027-03-01T09:30:00Z",
                      "shuffle_at_start": "{}" }}"#,
                "01".repeat(32)
            ),
            "seed is missing for event \"doors\", expected the seed with the commitment 0101",
        ),
        (
            format!(r#"{{ "name": "doors", {start}, {end}, "new_users_per_minute": 7 }}"#),
            "new_users_per_minute is 7, expected absent in event \"doors\"",
        ),
        (
            r#"{ "name": "doors", "start": "1969-12-31T23:00:00Z", "end": "2027-03-01T11:00:00Z" }"#
                .to_owned(),
            "start is \"1969-12-31T23:00:00Z\", expected at least 1970-01-01T00:00:00Z",
        ),
        (format!(r#"{{ "name": "doors", {start}, {end}, "prequeu": 1 }}"#), "unknown field `prequeu`"),
    ] {
        let error = file_error(&event);
        assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
    }
}

#[test]
fn a_file_sets_an_event_like_the_builder() {
    let file = r#"{ "name": "shop", "total_active_users": 5, "events": [{
        "name": "doors", "prequeue_start": "2023-11-14T22:15:00Z", "start": "2023-11-14T23:25:00+01:00",
        "end": "2023-11-14T23:25:00Z", "total_active_users": 50, "new_users_per_minute": 20,
        "session_duration": "2m", "session_renewal": "fixed", "queueing_method": "fifo",
        "seed": "SEED" }] }"#
        .replace("SEED", &"09".repeat(32));
    let config: WaitingRoomConfig = serde_json::from_str(&file).unwrap();
    let built = WaitingRoomConfig::builder("shop")
        .total_active_users(5)
        .event(
            doors()
                .limits(50, 20)
                .session_duration(Duration::from_secs(120))
                .session_renewal(tower_waiting_room::room::SessionRenewal::Fixed)
                .queueing_method(tower_waiting_room::room::QueueingMethod::Fifo),
        )
        .event_seed("doors", Seed::new([9; 32]))
        .build()
        .unwrap();
    assert_eq!(config.schedule(), built.schedule());
    // A builder that continues from a configuration keeps its events and their seeds.
    let again = config.into_builder().build().unwrap();
    assert_eq!(again.schedule(), built.schedule());
}

#[test]
fn events_need_a_room() {
    let error = WaitingRoomConfig::builder("shop")
        .rate_limit(tower_waiting_room::RateLimit::per_ip(tower_waiting_room::Quota::per_minute(1)))
        .event(doors())
        .build()
        .unwrap_err();
    assert!(error.to_string().starts_with("total_active_users is missing"), "{error}");
}

#[tokio::test]
async fn an_operator_previews_adds_changes_and_removes_an_event() {
    let house = House::new(shop(1));
    let room = house.handle().room().unwrap();
    assert_eq!(
        (room.schedule(), room.rules_at(at(800)).total_active_users),
        (Schedule::default(), 1)
    );
    let event = doors().limits(7, None);
    room.set_schedule(Schedule::new([event.clone()]).unwrap()).await.unwrap();
    let preview = |secs| (room.rules_at(at(secs)).total_active_users, room.rules_at(at(secs)).mode);
    assert_eq!(preview(99), (1, RoomMode::Auto));
    assert_eq!(preview(100), (7, RoomMode::QueueAll));
    assert_eq!(preview(700), (7, RoomMode::Auto));
    assert_eq!(preview(4_300), (1, RoomMode::Auto));

    // While the event runs, its end may change, but not its start.
    house.advance(800);
    let moved = event.clone().start(at(900));
    let error = room.set_schedule(Schedule::new([moved]).unwrap()).await.unwrap_err();
    let error = error.source().unwrap().to_string();
    assert_eq!(
        error,
        "start is 2023-11-14T22:28:20Z, expected 2023-11-14T22:25:00Z, because event \"doors\" \
         has begun"
    );
    let longer = event.end(at(5_000));
    room.set_schedule(Schedule::new([longer]).unwrap()).await.unwrap();
    assert_eq!(preview(4_999), (7, RoomMode::Auto));
    // The limits of the room itself change without touching those of the event.
    room.set_limits(3, None).await.unwrap();
    assert_eq!((preview(4_000).0, preview(5_000).0), (7, 3));
    room.set_schedule(Schedule::default()).await.unwrap();
    assert_eq!(room.rules().total_active_users, 3);
    assert!(Visitor::default().get(&house).await.is_inside());
}

#[tokio::test]
async fn visitors_in_a_prequeue_that_is_cancelled_are_served_in_the_order_of_arrival() {
    let house = House::new(shop(2).event(doors()).event_seed("doors", Seed::new([9; 32])));
    let mut crowd = Crowd::new(6, at(110));
    crowd.run(&house, at(300)).await;
    house.handle().room().unwrap().set_schedule(Schedule::default()).await.unwrap();
    crowd.run(&house, at(380)).await;
    assert_eq!(crowd.inside(), [0, 1]);
    assert_eq!(crowd.json(5)["position"], 4);
    assert_eq!(crowd.json(5)["event"], Value::Null);
}

#[tokio::test]
async fn a_store_without_the_events_of_the_configuration_is_refused() {
    let config = || shop(1).event(doors()).build().unwrap();
    let store = |config: &WaitingRoomConfig| {
        tower_waiting_room::room::MemoryStore::new(config.room().unwrap().clone()).unwrap()
    };
    let without = store(&config());
    let refused = config().into_builder().room_store(without, StoreFailure::Wait).build();
    let error = refused.unwrap_err().to_string();
    assert!(
        error.starts_with("events is a list with \"doors\", expected only events of"),
        "{error}"
    );
}
