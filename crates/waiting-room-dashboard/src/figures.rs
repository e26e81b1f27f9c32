//! The figures of one second, as the page receives them, and the status of the room for monitoring.

use serde_json::{Value, json};
use tower_waiting_room::handle::GateHandle;
use waiting_room_core::{
    Timestamp,
    gate::GateSnapshot,
    room::{EventFigures, RoomMode, RoomNode, RoomSnapshot},
};

/// The maximum number of reasons, gates, limits and nodes on the page.
pub(super) const MAX_ROWS: usize = 64;

/// Returns the figures of a room.
pub(super) fn room(room: &RoomSnapshot) -> Value {
    let mut figures = serde_json::to_value(room).unwrap_or_default();
    figures["mode"] = room.mode.name().into();
    figures
}

/// Adds up the gates of this handle, one for each key in use, without naming the keys. The refusals
/// are those of all keys since the start. A time is in milliseconds. The limit is `null` if there
/// is none, or if no key is in use.
pub(super) fn gate(gate: &GateHandle) -> Value {
    let gates = &gate.snapshots();
    let sum = |of: fn(&GateSnapshot) -> u32| gates.iter().map(of).fold(0, u32::saturating_add);
    let oldest = gates.iter().map(|gate| gate.oldest_wait).max().unwrap_or_default();
    let limits = gates.iter().map(|gate| gate.limit);
    let limit = limits.reduce(|sum, limit| Some(sum?.saturating_add(limit?)));
    json!({
        "name": gate.name(),
        "keys": gates.len(),
        "in_flight": sum(|gate| gate.in_flight),
        "limit": limit.flatten(),
        "queued": sum(|gate| gate.queued),
        "oldest_wait": u64::try_from(oldest.as_millis()).unwrap_or(u64::MAX),
        "refused": gate.refusals(),
        "is_draining": gates.iter().any(|gate| gate.is_draining),
    })
}

/// Describes the nodes that share the store of a room at `now`, in the order of their names, so
/// that each node keeps its row. If there are more than `most` nodes, only this node and those
/// heard from most recently are described.
pub(super) fn nodes(mut nodes: Vec<RoomNode>, now: Timestamp, most: usize) -> Vec<Value> {
    nodes.sort_by_key(|node| (!node.is_this_node, now.since(node.last_heard)));
    nodes.truncate(most);
    nodes.sort_by(|a, b| a.name.cmp(&b.name));
    let figures = nodes.iter().map(|node| {
        json!({
            "name": node.name,
            "last_heard_s": now.since(node.last_heard).as_secs(),
            "is_this_node": node.is_this_node,
            "is_heard": node.is_heard(now),
        })
    });
    figures.collect()
}

/// Returns the status of a room with the field names of Cloudflare Waiting Room's status API, so that
/// monitoring written for that product needs only a different address.
///
/// `wait` is the wait of a visitor who arrives now, in milliseconds, if it is known. The field for
/// the nodes, which Cloudflare does not have, is left out if the store does not know its nodes.
pub(super) fn status(room: &RoomSnapshot, wait: Option<u32>, nodes: Option<Vec<Value>>) -> Value {
    let is_queueing = room.waiting > 0 || room.mode == RoomMode::QueueAll;
    let wait = wait.filter(|_| is_queueing).unwrap_or(0);
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
    let mut result = json!({
        "event_id": event.map_or("", |event| &event.name),
        "estimated_queued_users": room.waiting,
        "estimated_total_active_users": room.active,
        "max_estimated_time_minutes": wait.div_ceil(60_000),
        "status": status,
    });
    if let Some(nodes) = nodes {
        result["nodes"] = nodes.into();
    }
    json!({ "errors": [], "messages": [], "result": result, "success": true })
}

#[cfg(test)]
mod tests {
    use waiting_room_core::{
        Room, RoomRules,
        room::event::{Event, Schedule},
    };

    use super::*;
    use crate::preview::told_to_newcomers;

    fn status(room: &RoomSnapshot) -> Value {
        super::status(room, told_to_newcomers(room), None)
    }

    #[test]
    fn the_nodes_of_a_shared_room_are_a_field_of_our_own() {
        let at = Timestamp::from_secs;
        let room = RoomSnapshot::empty(at(100), &RoomRules::new("shop", 200));
        let nodes = vec![
            RoomNode::new("b".to_owned(), at(100)).as_this_node(),
            RoomNode::new("a".to_owned(), at(84)),
        ];
        let status = super::status(&room, None, Some(super::nodes(nodes, at(100), MAX_ROWS)));
        let expected = json!([
            { "name": "a", "last_heard_s": 16, "is_this_node": false, "is_heard": false },
            { "name": "b", "last_heard_s": 0, "is_this_node": true, "is_heard": true },
        ]);
        assert_eq!(status["result"]["nodes"], expected);
    }

    #[test]
    fn the_fields_are_those_of_cloudflare() {
        let mut room = RoomSnapshot::empty(Timestamp::from_secs(0), &RoomRules::new("shop", 200));
        room.active = 200;
        room.waiting = 121;
        room.present = 120;
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
            room.mode = mode;
            room.waiting = waiting;
            assert_eq!(status(&room)["result"]["status"], expected, "{mode:?}, {waiting}");
        }
    }
}
