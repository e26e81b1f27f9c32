//! The events of a room become a schedule.

use waiting_room_core::{
    Timestamp,
    room::event::{Event, Seed},
};

use super::*;

/// An event with these additional fields.
fn event(fields: Value) -> Value {
    let mut event = json!({
        "name": "doors",
        "event_start_time": "2026-11-21T10:00:00Z", "event_end_time": "2026-11-21T12:00:00Z",
    });
    event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    event
}

#[track_caller]
fn with_events(events: &[Value]) -> WaitingRoom {
    room(json!({})).with_events(&json!({ "success": true, "result": events }).to_string()).unwrap()
}

/// Returns why the last of these events is left out. The events before it are used.
#[track_caller]
fn error(events: &[Value]) -> String {
    let room = with_events(events);
    assert_eq!(room.schedule().unwrap().events().len(), events.len() - 1);
    room.config().unwrap();
    let unsupported = room.unsupported();
    let last = unsupported.last().unwrap();
    assert_eq!(last.field, format!("events[{}]", events.len() - 1));
    last.why.strip_prefix("it is left out, because ").unwrap().to_owned()
}

/// 10 o'clock on 2026-11-21, in UTC.
const TEN: Timestamp = Timestamp::from_secs(1_795_255_200);

const HOUR: Duration = Duration::from_secs(3_600);

#[test]
fn an_event_with_every_field_carries_over() {
    let room = with_events(&[event(json!({
        "id": "25756b2dfe6e378a06b033b670413757", "description": "Production event",
        "created_on": "2014-01-01T05:20:00.12345Z", "modified_on": "2014-01-01T05:20:00.12345Z",
        "event_start_time": "2026-11-21T11:00:00+01:00",
        "prequeue_start_time": "2026-11-21T09:30:00.000Z",
        "total_active_users": 500, "new_users_per_minute": 400, "session_duration": 3,
        "disable_session_renewal": true, "queueing_method": "random", "suspended": false,
        "shuffle_at_event_start": false, "custom_page_html": null,
    }))]);
    let expected = Event::new("doors", TEN, TEN + 2 * HOUR)
        .prequeue_start(TEN.before(HOUR / 2))
        .limits(500, 400)
        .session_duration(Duration::from_secs(180))
        .session_renewal(SessionRenewal::Fixed)
        .queueing_method(QueueingMethod::Random);
    assert_eq!(room.schedule().unwrap().events(), [expected]);
    assert_eq!(room.unsupported().len(), 1);
}

#[test]
fn an_event_inherits_unset_values() {
    let room = with_events(&[event(json!({ "queueing_method": null, "session_duration": null }))]);
    assert_eq!(room.schedule().unwrap().events(), [Event::new("doors", TEN, TEN + 2 * HOUR)]);
}

#[test]
fn an_event_that_ends_before_it_starts_is_left_out() {
    assert_eq!(
        error(&[event(json!({ "event_end_time": "2026-11-21T09:59:59Z" }))]),
        "event_end_time is \"2026-11-21T09:59:59Z\" in events[0], expected after \
         event_start_time, \"2026-11-21T10:00:00Z\""
    );
    assert!(error(&[event(json!({ "event_end_time": "2026-11-21T10:00:00Z" }))]).contains("after"));
}

#[test]
fn an_event_whose_prequeue_begins_after_the_start_is_left_out() {
    assert_eq!(
        error(&[event(json!({ "prequeue_start_time": "2026-11-21T10:30:00Z" }))]),
        "prequeue_start_time is \"2026-11-21T10:30:00Z\" in events[0], expected before \
         event_start_time, \"2026-11-21T10:00:00Z\""
    );
}

#[test]
fn an_event_that_overlaps_or_has_the_name_of_an_earlier_one_is_left_out() {
    let later = event(json!({ "name": "later", "event_start_time": "2026-11-21T11:00:00Z" }));
    assert!(error(&[event(json!({})), later]).contains("at or after the end of event \"doors\""));
    let tomorrow = event(json!({
        "event_start_time": "2026-11-22T10:00:00Z", "event_end_time": "2026-11-22T12:00:00Z",
    }));
    assert!(error(&[event(json!({})), tomorrow]).contains("\"doors\" for two events"));
}

#[test]
fn an_event_with_a_malformed_time_is_left_out() {
    for time in [
        "",
        "tomorrow",
        "2026-11-21",
        "2026-11-21T10:00:00",
        "1969-12-31T23:59:59Z",
        "9999-12-31T23:59:59Z",
        "2026-02-30T10:00:00Z",
    ] {
        let error = error(&[event(json!({ "event_start_time": time }))]);
        let begin =
            format!("event_start_time is {time:?} in events[0], expected a time after 1970");
        assert!(error.starts_with(&begin), "{error}");
    }
    assert_eq!(
        error(&[event(json!({ "event_start_time": 1_795_255_200 }))]),
        "event_start_time is 1795255200 in events[0], expected a string"
    );
    assert_eq!(
        error(&[event(json!({ "event_end_time": null }))]),
        "event_end_time is missing in events[0], expected a value"
    );
}

#[test]
fn limits_are_overridden_together_or_not_at_all() {
    assert_eq!(
        error(&[event(json!({ "total_active_users": 500 }))]),
        "total_active_users is 500 in events[0], expected absent, because new_users_per_minute is \
         absent"
    );
    assert!(error(&[event(json!({ "new_users_per_minute": 500 }))]).contains("absent"));
    assert!(error(&[event(json!({ "total_active_users": "500" }))]).contains("in events[0]"));
}

#[test]
fn a_shuffle_needs_a_seed_and_a_prequeue() {
    assert_eq!(
        error(&[event(json!({ "shuffle_at_event_start": true }))]),
        "shuffle_at_event_start is true in events[0], expected false, because there is no \
         prequeue_start_time"
    );
    let prequeue = "2026-11-21T09:30:00Z";
    let fields = json!({ "shuffle_at_event_start": true, "prequeue_start_time": prequeue });
    let room = with_events(&[event(fields)]);
    let unsupported = room.unsupported();
    let shuffle = unsupported.last().unwrap();
    assert_eq!(shuffle.field, "events[0].shuffle_at_event_start");
    assert!(shuffle.why.contains("with_draw(\"doors\", …)"), "{shuffle}");
    let drawn = room.clone().with_draw("doors", Seed::new([7; 32])).unwrap();
    drawn.config().unwrap();
    assert_eq!(drawn.unsupported().len() + 1, unsupported.len());
    assert_eq!(
        room.clone().with_draw("floors", Seed::new([7; 32])).unwrap_err().to_string(),
        "event is \"floors\", expected the name of an event: doors"
    );
    let without = with_events(&[event(json!({}))]).with_draw("doors", Seed::new([7; 32]));
    let without = without.unwrap_err().to_string();
    assert!(without.contains("prequeue_start"), "{without}");
}

#[test]
fn the_configuration_contains_the_events() {
    let config = with_events(&[event(json!({}))]).config().unwrap();
    let late = Event::new("late", TEN + HOUR, TEN + 3 * HOUR);
    let error = config.into_builder().event(late).build().unwrap_err().to_string();
    assert!(error.contains("\"doors\""), "{error}");
}

#[test]
fn unsupported_overrides_of_an_event_are_named() {
    let room = with_events(&[event(json!({
        "queueing_method": "reject", "custom_page_html": "<p>", "turnstile_mode": "off",
        "turnstile_action": "log", "colour": "blue",
    }))]);
    let fields: Vec<_> =
        room.unsupported().into_iter().map(|unsupported| unsupported.field.clone()).collect();
    assert_eq!(
        fields[1..],
        [
            "events[0].queueing_method",
            "events[0].custom_page_html",
            "events[0].turnstile_action",
            "events[0].turnstile_mode",
            "events[0].colour",
        ]
    );
}

#[test]
fn a_suspended_event_is_left_out_and_named() {
    let room = with_events(&[event(json!({ "suspended": true }))]);
    assert!(room.schedule().unwrap().events().is_empty());
    assert_eq!(
        room.unsupported().last().unwrap().to_string(),
        "events[0].suspended: the event \"doors\" is suspended, so it is left out"
    );
}

#[test]
fn a_room_that_is_closed_outside_its_events_is_named() {
    let closed = room(json!({ "queueing_method": "reject" }));
    let events = json!([event(json!({ "queueing_method": "fifo" }))]).to_string();
    let room = closed.with_events(&events).unwrap();
    assert_eq!(room.unsupported().last().unwrap().field, "events");
}
