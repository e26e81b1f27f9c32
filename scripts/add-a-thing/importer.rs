//! A rule of the room, and an event that overrides it: a room of Cloudflare sets them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use waiting_room_cloudflare::WaitingRoom;

#[test]
fn a_room_of_cloudflare_sets_the_rule() {
    let room = r#"{ "name": "shop", "total_active_users": 300, "new_users_per_minute": 200,
                    "line_reserve": 3 }"#;
    let event = r#"[{ "name": "doors", "event_start_time": "2027-03-01T10:00:00Z",
                      "event_end_time": "2027-03-01T11:00:00Z", "line_reserve": 5 }]"#;
    let room = WaitingRoom::from_json(room).unwrap().with_events(event).unwrap();
    let unsupported = room.unsupported();
    assert!(
        unsupported.iter().all(|other| !other.field.contains("line_reserve")),
        "{unsupported:?}"
    );
    let config = room.config().unwrap();
    assert_eq!(config.room().unwrap().line_reserve, 3);
}
