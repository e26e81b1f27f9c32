//! Many visitors, and rooms that hold them.

use std::time::Duration;

use waiting_room_core::{Pass, Room, RoomRules, Ticket, Timestamp, Verdict, VisitorId};

/// When the first visitor comes.
pub(super) const OPENING: Timestamp = Timestamp::from_secs(1_700_000_000);

/// How often a visitor in a long line checks in.
pub(super) const INTERVAL: Duration = Duration::from_secs(20);

/// A visitor with bits that look random: multiples of an odd number.
pub(super) fn visitor(number: u64) -> VisitorId {
    VisitorId::new((u128::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
}

/// A room with sessions of five minutes and room for everybody.
pub(super) fn wide() -> Room {
    Room::new(RoomRules::new("shop", RoomRules::MAX_USERS)).expect("the rules are right")
}

/// A room whose only slot is taken for a day, and the pass of who has it.
pub(super) fn full() -> (Room, Pass) {
    let rules = RoomRules::new("shop", 1)
        .session_duration(Duration::from_secs(24 * 60 * 60))
        .line_capacity(RoomRules::MAX_LINE_CAPACITY)
        .refresh_interval(INTERVAL);
    let mut room = Room::new(rules).expect("the rules are right");
    let pass = admit(&mut room, u64::MAX, OPENING);
    (room, pass)
}

/// Lets a visitor into a room that has a slot.
pub(super) fn admit(room: &mut Room, number: u64, now: Timestamp) -> Pass {
    match room.enter(visitor(number), now) {
        Verdict::Admit { pass, .. } => pass,
        verdict => unreachable!("the room has a slot: {verdict:?}"),
    }
}

/// Has a visitor check in where there is no slot.
pub(super) fn wait(room: &mut Room, ticket: &Ticket, now: Timestamp) -> Ticket {
    match room.check_in(ticket, now) {
        Verdict::Wait { ticket, .. } => ticket,
        verdict => unreachable!("the room is full: {verdict:?}"),
    }
}

/// Has so many visitors stand in line, all at the opening.
pub(super) fn line_up(room: &mut Room, count: u64) -> Vec<Ticket> {
    let mut stand = |number| {
        let first = Ticket::new(visitor(number), OPENING, OPENING, OPENING);
        wait(room, &first, OPENING)
    };
    (0..count).map(&mut stand).collect()
}
