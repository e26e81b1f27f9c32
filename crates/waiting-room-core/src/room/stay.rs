//! The presence of a waiting visitor who does not ask for a slot with each check-in.
//!
//! A visitor who follows the line over a push stream sends no requests. The stream confirms that
//! the visitor is still there, and learns when it is the visitor's turn. The stream does not take
//! the slot: it cannot deliver a pass, and its client may be gone. The visitor takes the slot with
//! its next request, as it would without a stream.
//!
//! ```text
//!  stay ─┬─ not yet ──► position, wait, next check-in
//!        └─ turn ─────► the place is kept, and counts as present ──► check_in: admitted
//! ```
//!
//! Until that request, no slot is taken, but one is reserved: the visitor is present, so it counts
//! as ahead of all visitors behind it. At the front of the line, a stay lasts only for the shortest
//! interval. After a stream has ended, a slot therefore stays reserved for at most one and a half
//! of these intervals, which is 3 s. From then on, the visitor is away: it keeps its place, but the
//! slot is free for the next visitor.
//!
//! If a visitor does not come when it is its turn, the caller decides how long the visitor stays.
//! The streams of `tower-waiting-room` stay for 10 s after they have announced the turn, so such a
//! visitor holds a slot for up to 13 s.

use crate::{Reason, Room, Ticket, Timestamp, Verdict, room::timing::Purpose};

impl Room {
    /// Confirms that a waiting visitor is still waiting, without admitting it.
    ///
    /// The verdict is that of [`check_in`](Self::check_in), except that a visitor who would be
    /// admitted waits with the reason [`QueuedTurn`](Reason::QueuedTurn). A visitor who is already
    /// active keeps its session.
    ///
    /// A visitor whose ticket has been used up waits with the same reason: only a check-in decides
    /// whether it enters as a newcomer.
    pub fn stay(&mut self, ticket: &Ticket, now: Timestamp) -> Verdict {
        self.check_in_for(Purpose::Stay, ticket, now)
    }

    /// Lets the visitor wait, although it would be admitted if it checked in. A visitor without a
    /// place keeps the ticket that it has `shown` and gets no place, because its next check-in will
    /// admit it directly.
    pub(super) fn turn(
        &mut self,
        shown: &Ticket,
        ticket: Ticket,
        needs_place: bool,
        now: Timestamp,
    ) -> Verdict {
        let reason = Reason::QueuedTurn;
        if needs_place {
            Verdict::Wait { ticket: *shown, reason }
        } else {
            // A slot is free for this visitor, so it counts as being at the front of the line.
            self.stand(Purpose::Stay, ticket, needs_place, 0, reason, now)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{RoomRules, VisitorId};

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(10_000 + secs)
    }

    fn id(who: u128) -> VisitorId {
        VisitorId::new(who)
    }

    /// A room with one slot, which visitor 1 has taken, and the placed tickets of visitors 2 and 3.
    fn full() -> (Room, [Ticket; 2]) {
        let mut room = Room::new(RoomRules::new("r", 1)).unwrap();
        assert!(matches!(room.enter(id(1), at(0)), Verdict::Admit { .. }));
        let tickets = [2, 3].map(|who| {
            let first = waits(room.enter(id(who), at(0))).0;
            waits(room.check_in(&first, at(2))).0
        });
        (room, tickets)
    }

    fn waits(verdict: Verdict) -> (Ticket, Reason) {
        match verdict {
            Verdict::Wait { ticket, reason } => (ticket, reason),
            other @ (Verdict::Admit { .. } | Verdict::Refuse { .. }) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_stay_never_takes_a_slot_and_the_check_in_after_it_does() {
        let (mut room, [first, second]) = full();
        assert_eq!(waits(room.stay(&first, at(4))).1, Reason::QueuedActiveLimit);
        room.leave(id(1), at(5));
        let (ticket, reason) = waits(room.stay(&first, at(5)));
        assert_eq!((reason, room.snapshot(at(5)).active), (Reason::QueuedTurn, 0));
        assert_eq!(waits(room.stay(&second, at(5))).1, Reason::QueuedBehindOthers);
        // Any ticket of the visitor will do: a browser holds the ticket from before the stream.
        for ticket in [first, ticket] {
            assert!(matches!(room.clone().check_in(&ticket, at(6)), Verdict::Admit { .. }));
        }
    }

    #[test]
    fn a_turn_that_is_not_taken_goes_to_the_next_visitor_and_the_place_is_kept() {
        let (mut room, [first, second]) = full();
        room.leave(id(1), at(5));
        assert_eq!(waits(room.stay(&first, at(5))).1, Reason::QueuedTurn);
        let second = waits(room.stay(&second, at(7))).0;
        assert_eq!(waits(room.stay(&second, at(9))).1, Reason::QueuedTurn);
        // The first visitor comes back before the second visitor comes, and is still ahead.
        assert!(matches!(room.check_in(&first, at(9)), Verdict::Admit { .. }));
        assert_eq!(waits(room.stay(&second, at(10))).1, Reason::QueuedActiveLimit);
    }

    #[test]
    fn a_visitor_at_the_front_that_stops_staying_is_away_after_three_seconds() {
        let (mut room, [first, second]) = full();
        room.leave(id(1), at(5));
        assert_eq!(waits(room.stay(&first, at(5))).1, Reason::QueuedTurn);
        let just_before = at(8).before(Duration::from_nanos(1));
        let (second, reason) = waits(room.stay(&second, just_before));
        assert_eq!(reason, Reason::QueuedBehindOthers);
        assert_eq!(waits(room.stay(&second, at(8))).1, Reason::QueuedTurn);
    }

    #[test]
    fn staying_keeps_a_place_for_as_long_as_it_lasts() {
        let (mut room, [first, _]) = full();
        let mut ticket = first;
        for secs in (4..2_000).step_by(20) {
            room.renew(&crate::Pass::new(id(1), 0, at(0), at(secs), at(9_000)), at(secs));
            ticket = waits(room.stay(&ticket, at(secs))).0;
            assert_eq!((ticket.first_seen, ticket.shown_position), (at(0), Some(1)));
        }
        // The first ticket has lapsed, but the place has not.
        assert_eq!(waits(room.check_in(&first, at(2_000))).0.first_seen, at(0));
    }

    #[test]
    fn a_visitor_whose_session_has_ended_is_not_admitted_by_a_stay() {
        let (mut room, [first, second]) = full();
        room.leave(id(1), at(5));
        assert!(matches!(room.check_in(&first, at(6)), Verdict::Admit { .. }));
        room.leave(id(2), at(7));
        room.leave(id(3), at(7));
        assert_eq!(waits(room.stay(&first, at(8))), (first, Reason::QueuedTurn));
        assert_eq!(waits(room.stay(&second, at(8))), (second, Reason::QueuedTurn));
        assert_eq!(room.snapshot(at(8)).active, 0);
    }

    #[test]
    fn a_newcomer_gets_a_place_by_staying_but_no_slot() {
        let mut room = Room::new(RoomRules::new("r", 1)).unwrap();
        room.enter(id(1), at(0));
        let first = waits(room.enter(id(2), at(0))).0;
        assert!(waits(room.stay(&first, at(2))).0.placed);
        let late = Ticket::new(id(3), at(1), at(1), at(2));
        let mut empty = Room::new(RoomRules::new("r", 1)).unwrap();
        assert_eq!(waits(empty.stay(&late, at(2))), (late, Reason::QueuedTurn));
        assert_eq!(empty.snapshot(at(2) + Duration::from_secs(1)).waiting, 0);
    }
}
