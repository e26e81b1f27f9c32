//! Rooms with a given number of visitors, active or in line.

use std::time::Duration;

use waiting_room_core::{
    Pass, Room, RoomRules, Ticket, Timestamp, Verdict, VisitorId,
    room::{QueueingMethod, Shares},
};

/// When the first visitor arrives.
pub(crate) const OPENING: Timestamp = Timestamp::from_secs(1_700_000_000);

/// How often a visitor in a long line checks in.
pub(super) const INTERVAL: Duration = Duration::from_secs(20);

/// Returns a visitor with bits that look random: a multiple of an odd number.
pub(super) fn visitor(number: u64) -> VisitorId {
    VisitorId::new((u128::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
}

/// Creates a room with sessions of five minutes that never fills.
pub(crate) fn wide() -> Room {
    Room::new(RoomRules::new("shop", RoomRules::MAX_USERS)).expect("the rules are right")
}

/// The rules of a room with one slot, for sessions of a day, and with a line for all visitors.
pub(super) fn one_slot(method: QueueingMethod) -> RoomRules {
    RoomRules::new("shop", 1)
        .session_duration(Duration::from_secs(24 * 60 * 60))
        .line_capacity(RoomRules::MAX_LINE_CAPACITY)
        .shares(Shares::Off)
        .queueing_method(method)
        .refresh_interval(INTERVAL)
}

/// Creates a room whose only slot is taken for a day, and returns the pass that holds it.
pub(crate) fn full(method: QueueingMethod) -> (Room, Pass) {
    let mut room = Room::new(one_slot(method)).expect("the rules are right");
    let pass = admit(&mut room, u64::MAX, OPENING);
    (room, pass)
}

/// Admits a visitor to a room that has a free slot.
pub(crate) fn admit(room: &mut Room, number: u64, now: Timestamp) -> Pass {
    match room.enter(visitor(number), now) {
        Verdict::Admit { pass, .. } => pass,
        verdict @ (Verdict::Refuse { .. } | Verdict::Wait { .. }) => {
            unreachable!("the room has a slot: {verdict:?}")
        }
    }
}

/// Checks in a visitor of a full room.
pub(super) fn wait(room: &mut Room, ticket: &Ticket, now: Timestamp) -> Ticket {
    match room.check_in(ticket, now) {
        Verdict::Wait { ticket, .. } => ticket,
        verdict @ (Verdict::Admit { .. } | Verdict::Refuse { .. }) => {
            unreachable!("the room is full: {verdict:?}")
        }
    }
}

/// Lines up visitors, all at the opening.
pub(crate) fn line_up(room: &mut Room, count: u64) -> Vec<Ticket> {
    (0..count).map(|number| stand(room, number, OPENING)).collect()
}

/// Gives a visitor that has arrived at the opening a place at `now`.
pub(super) fn stand(room: &mut Room, number: u64, now: Timestamp) -> Ticket {
    wait(room, &Ticket::new(visitor(number), OPENING, now, now), now)
}
