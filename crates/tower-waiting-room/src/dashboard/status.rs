//! The status of the room as JSON, with the field names of Cloudflare Waiting Room's status API, so
//! that monitoring written for that product needs only a different address.

use serde::Serialize;
use waiting_room_core::room::{EventFigures, RoomMode, RoomSnapshot};

use super::{board::told_to_newcomers, figures::NodeFigures};

/// The answer of the status endpoint, in the envelope of Cloudflare's API.
#[derive(Debug, Serialize)]
pub(super) struct Status {
    errors: [(); 0],
    messages: [(); 0],
    result: StatusResult,
    success: bool,
}

#[derive(Debug, Serialize)]
struct StatusResult {
    /// The name of the event that takes place, including its prequeue; empty without one.
    event_id: String,
    /// The number of places in the line.
    estimated_queued_users: u32,
    /// The number of active visitors.
    estimated_total_active_users: u32,
    /// The wait of a visitor who arrives now, in minutes, rounded up; 0 if no visitor waits or the
    /// wait is unknown.
    max_estimated_time_minutes: u32,
    /// The nodes of the room, unless the store does not know them. Cloudflare has no such field.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<NodeFigures>>,
    /// `event_prequeueing`, `not_queueing`, `queueing` or `suspended`.
    status: &'static str,
}

impl Status {
    pub(super) fn new(room: &RoomSnapshot, nodes: Option<Vec<NodeFigures>>) -> Self {
        let is_queueing = room.waiting > 0 || room.mode == RoomMode::QueueAll;
        let wait = told_to_newcomers(room).filter(|_| is_queueing).unwrap_or(0);
        let takes_place = |event: &&EventFigures| event.is_prequeue || event.starts_in.is_zero();
        let event = room.event.as_ref().filter(takes_place);
        let status = if room.mode == RoomMode::Suspended {
            "suspended"
        } else if event.is_some_and(|event| event.is_prequeue) {
            "event_prequeueing"
        } else if is_queueing {
            "queueing"
        } else {
            "not_queueing"
        };
        let result = StatusResult {
            event_id: event.map(|event| event.name.clone()).unwrap_or_default(),
            estimated_queued_users: room.waiting,
            estimated_total_active_users: room.active,
            max_estimated_time_minutes: wait.div_ceil(60_000),
            nodes,
            status,
        };
        Self { errors: [], messages: [], result, success: true }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use waiting_room_core::{
        Room, RoomRules, Timestamp,
        room::{
            RoomNode,
            event::{Event, Schedule},
        },
    };

    use super::*;

    fn status(room: &RoomSnapshot) -> serde_json::Value {
        serde_json::to_value(Status::new(room, None)).unwrap()
    }

    #[test]
    fn the_nodes_of_a_shared_room_are_a_field_of_our_own() {
        let at = Timestamp::from_secs;
        let room = RoomSnapshot::empty(at(100), &RoomRules::new("shop", 200));
        let nodes = vec![
            RoomNode::new("b".to_owned(), at(100)).as_this_node(),
            RoomNode::new("a".to_owned(), at(84)),
        ];
        let status = Status::new(&room, Some(NodeFigures::of(nodes, at(100))));
        let expected = json!([
            { "name": "a", "last_heard_s": 16, "is_this_node": false, "is_heard": false },
            { "name": "b", "last_heard_s": 0, "is_this_node": true, "is_heard": true },
        ]);
        assert_eq!(serde_json::to_value(status).unwrap()["result"]["nodes"], expected);
    }

    #[test]
    fn the_fields_are_those_of_cloudflare() {
        let mut room = RoomSnapshot::empty(Timestamp::from_secs(0), &RoomRules::new("shop", 200));
        (room.active, room.waiting, room.present) = (200, 121, 120);
        room.admissions_per_minute = 60.0;
        let expected = json!({
            "errors": [],
            "messages": [],
            "result": {
                "event_id": "",
                "estimated_queued_users": 121,
                "estimated_total_active_users": 200,
                "max_estimated_time_minutes": 3,
                "status": "queueing",
            },
            "success": true,
        });
        assert_eq!(status(&room), expected);
    }

    #[test]
    fn an_event_is_named_from_its_prequeue_to_its_end() {
        let at = Timestamp::from_secs;
        let doors = Event::new("doors", at(200), at(300)).prequeue_start(at(100));
        let room = Room::new(RoomRules::new("shop", 200)).unwrap();
        let mut room = room.with_schedule(Schedule::new([doors]).unwrap()).unwrap();
        for (time, name, expected) in [
            (99, "", "not_queueing"),
            (100, "doors", "event_prequeueing"),
            (200, "doors", "not_queueing"),
            (300, "", "not_queueing"),
        ] {
            let result = &status(&room.snapshot(at(time)))["result"];
            assert_eq!((&result["event_id"], &result["status"]), (&json!(name), &json!(expected)));
        }
    }

    #[test]
    fn the_status_follows_the_mode_and_the_line() {
        let mut room = RoomSnapshot::empty(Timestamp::from_secs(0), &RoomRules::new("shop", 200));
        for (mode, waiting, expected) in [
            (RoomMode::Auto, 0, "not_queueing"),
            (RoomMode::Auto, 1, "queueing"),
            (RoomMode::Drain, 0, "not_queueing"),
            (RoomMode::QueueAll, 0, "queueing"),
            (RoomMode::Suspended, 9, "suspended"),
        ] {
            (room.mode, room.waiting) = (mode, waiting);
            assert_eq!(status(&room)["result"]["status"], expected, "{mode:?}, {waiting}");
        }
    }
}
