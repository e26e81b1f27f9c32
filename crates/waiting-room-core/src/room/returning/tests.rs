use proptest::prelude::*;

use super::*;
use crate::{
    Reason, RoomRules, Verdict, VisitorId,
    room::{QueueingMethod, Recovery, RoomMode, Shares},
};

fn at(secs: u64) -> Timestamp {
    Timestamp::from_secs(100_000 + secs)
}

fn id(who: u128) -> VisitorId {
    VisitorId::new(who)
}

fn seconds(secs: u64) -> HeadStart {
    HeadStart::new(Duration::from_secs(secs))
}

fn waits(verdict: Verdict) -> Ticket {
    match verdict {
        Verdict::Wait { ticket, .. } => ticket,
        other @ (Verdict::Admit { .. } | Verdict::Refuse { .. }) => panic!("{other:?}"),
    }
}

fn pass(verdict: Verdict) -> Pass {
    match verdict {
        Verdict::Admit { pass, .. } => pass,
        other @ (Verdict::Refuse { .. } | Verdict::Wait { .. }) => panic!("{other:?}"),
    }
}

/// A room with one slot, which visitor 1 has taken, and sessions of 80 s, so that passes last 90 s.
fn full() -> (Room, Pass) {
    let rules = RoomRules::new("r", 1).session_duration(Duration::from_secs(80));
    let mut room = Room::new(rules).unwrap();
    let pass = pass(room.enter(id(1), at(0)));
    (room, pass)
}

/// Gives a visitor a place two seconds after its first touch, as a layer with priorities does.
fn queue(room: &mut Room, who: u128, secs: u64, head_start: u64) -> Ticket {
    let mut ticket = waits(room.enter(id(who), at(secs)));
    ticket.head_start = seconds(head_start);
    waits(room.check_in(&ticket, at(secs + 2)))
}

#[test]
fn a_head_start_puts_a_visitor_ahead_of_slightly_earlier_ones() {
    let (mut room, _) = full();
    let early = queue(&mut room, 2, 0, 0);
    let late = queue(&mut room, 3, 31, 0);
    waits(room.check_in(&early, at(41)));
    let guest = queue(&mut room, 4, 40, 30);
    assert_eq!((guest.first_seen, guest.arrival()), (at(40), at(10)));
    assert_eq!(guest.shown_position, Some(2));
    // The position of the visitor that was overtaken rises, and is said to be approximate.
    let [early, late] = [early, late].map(|ticket| waits(room.check_in(&ticket, at(43))));
    assert_eq!((early.shown_position, early.is_approximate), (Some(1), false));
    assert_eq!((late.shown_position, late.is_approximate), (Some(3), true));
    assert_eq!(room.snapshot(at(43)).oldest_wait, Duration::from_secs(43));
    room.leave(id(1), at(44));
    room.leave(id(2), at(44));
    assert!(matches!(room.check_in(&late, at(44)), Verdict::Wait { reason, .. }
        if reason == Reason::QueuedBehindOthers));
    assert!(matches!(room.check_in(&guest, at(44)), Verdict::Admit { .. }));
}

#[test]
fn the_order_is_restored_from_the_tickets_after_a_loss_of_state() {
    let (mut room, _) = full();
    let late = queue(&mut room, 3, 31, 0);
    let guest = queue(&mut room, 4, 40, 30);
    let (mut room, _) = full();
    assert_eq!(waits(room.check_in(&late, at(50))).shown_position, Some(1));
    assert_eq!(waits(room.check_in(&guest, at(50))).shown_position, Some(1));
    assert_eq!(waits(room.check_in(&late, at(51))).shown_position, Some(2));
}

#[test]
fn a_ticket_that_has_lapsed_has_no_head_start() {
    let (mut room, pass) = full();
    let guest = queue(&mut room, 4, 40, 3_600);
    room.renew(&pass, at(60));
    let early = queue(&mut room, 2, 120, 0);
    room.renew(&pass, at(140));
    // Five minutes after its last check-in, the ticket has lapsed, and so has its place.
    let rules = room.rules().clone().total_active_users(2);
    room.configure(rules, at(140)).unwrap();
    room.configure(room.rules().clone().total_active_users(1), at(140)).unwrap();
    let mut early = waits(room.check_in(&early, at(142)));
    for secs in (200..=400).step_by(50) {
        room.renew(&pass, at(secs));
        early = waits(room.check_in(&early, at(secs)));
    }
    let again = waits(room.check_in(&guest, at(401)));
    assert_eq!((again.head_start, again.first_seen), (HeadStart::NONE, at(401)));
    assert_eq!(again.shown_position, Some(2));
    // The visitor's new place has no head start either.
    let again = waits(room.check_in(&guest, at(402)));
    assert_eq!(
        (again.head_start, again.arrival(), again.shown_position),
        (HeadStart::NONE, at(401), Some(2))
    );
}

#[test]
fn a_session_that_has_lapsed_continues_ahead_of_the_line() {
    let (mut room, old) = full();
    let next = queue(&mut room, 2, 1, 0);
    let next = waits(room.check_in(&next, at(80)));
    assert_eq!(Ticket::resuming(&old, at(90)), None);
    let back = Ticket::resuming(&old, at(91)).unwrap();
    // The limit holds: although the next visitor is present, the free slot is for the visitor ahead
    // of it.
    let new = pass(room.check_in(&back, at(91)));
    assert!(matches!(room.check_in(&next, at(91)), Verdict::Wait { .. }));
    assert_eq!((new.id, new.accepted_at), (old.id, at(91)));
    // A copy of the old pass continues the same session.
    assert_eq!(
        pass(room.check_in(&Ticket::resuming(&old, at(92)).unwrap(), at(92))).accepted_at,
        at(91)
    );
    assert_eq!(room.snapshot(at(92)).active, 1);
}

#[test]
fn a_visitor_that_returns_to_a_full_room_gets_the_first_place() {
    let (mut room, old) = full();
    let [first, second] = [2, 3].map(|who| queue(&mut room, who, 1, 0));
    let first = waits(room.check_in(&first, at(88)));
    waits(room.check_in(&second, at(88)));
    pass(room.check_in(&first, at(90)));
    let back = waits(room.check_in(&Ticket::resuming(&old, at(91)).unwrap(), at(91)));
    assert_eq!((back.shown_position, back.placed, back.resumes), (Some(1), true, false));
    assert_eq!(room.snapshot(at(91)).active, 1);
    room.leave(first.id, at(92));
    let new = pass(room.check_in(&back, at(92)));
    // Once that session is over, neither the place nor the old pass is worth anything.
    room.leave(new.id, at(93));
    for ticket in [back, Ticket::resuming(&old, at(93)).unwrap()] {
        let verdict = room.clone().check_in(&ticket, at(93));
        assert!(matches!(verdict, Verdict::Wait { ticket, .. } if !ticket.placed), "{verdict:?}");
    }
}

#[test]
fn a_visitor_that_has_left_does_not_return_ahead_of_the_line() {
    let (mut room, old) = full();
    let next = queue(&mut room, 2, 1, 0);
    let next = waits(room.check_in(&next, at(80)));
    room.leave(old.id, at(81));
    let verdict = room.check_in(&Ticket::resuming(&old, at(91)).unwrap(), at(91));
    assert!(matches!(verdict, Verdict::Wait { ticket, .. } if !ticket.placed));
    assert!(matches!(room.check_in(&next, at(91)), Verdict::Admit { .. }));
}

#[test]
fn no_visitor_returns_during_a_pause() {
    let (_, old) = full();
    let rules = RoomRules::new("r", 1).recovery(Recovery::Pause);
    let mut room = Room::new(rules).unwrap();
    room.recover(at(90));
    let verdict = room.check_in(&Ticket::resuming(&old, at(91)).unwrap(), at(91));
    assert!(matches!(verdict, Verdict::Wait { reason: Reason::QueuedRecovery, .. }));
}

/// The pass of a visitor who came to another site at this time and was admitted there.
fn from_elsewhere(who: u128, secs: u64) -> Pass {
    let bucket = u32::try_from(at(secs).as_secs() / 60).unwrap();
    Pass::new(id(who), bucket, at(secs), at(secs), at(secs) + Duration::from_secs(90))
}

fn moves(room: &mut Room, pass: &Pass, secs: u64) -> Verdict {
    room.check_in(&Ticket::moving(pass, at(secs)), at(secs))
}

#[test]
fn a_visitor_of_another_site_takes_a_free_slot_ahead_of_the_line() {
    let (mut room, pass_of_the_first) = full();
    let next = queue(&mut room, 2, 1, 0);
    room.leave(pass_of_the_first.id, at(4));
    let new = pass(moves(&mut room, &from_elsewhere(3, 1), 4));
    assert_eq!((new.id, new.accepted_at, new.expires_at), (id(3), at(4), at(94)));
    waits(room.check_in(&next, at(4)));
    // Presenting the same pass again leads to the same session.
    assert_eq!(pass(moves(&mut room, &from_elsewhere(3, 1), 5)).accepted_at, at(4));
    assert_eq!((room.snapshot(at(5)).active, room.snapshot(at(5)).new_in_last_minute), (1, 2));
}

#[test]
fn a_visitor_of_another_site_waits_ahead_of_an_hour_old_line() {
    let (mut room, _) = full();
    let first = queue(&mut room, 2, 1, 0);
    let guest = queue(&mut room, 3, 21, 3_600);
    let guest = waits(room.check_in(&guest, at(62)));
    assert_eq!(guest.shown_position, Some(1));
    let moved = waits(moves(&mut room, &from_elsewhere(4, 20), 62));
    assert_eq!((moved.shown_position, moved.placed, moved.resumes), (Some(1), true, false));
    room.leave(id(1), at(63));
    waits(room.check_in(&first, at(63)));
    waits(room.check_in(&guest, at(63)));
    pass(room.check_in(&moved, at(64)));
}

#[test]
fn a_visitor_of_another_site_waits_where_newcomers_are_refused() {
    let network = Some(crate::room::Network::new(std::num::NonZeroU16::MIN, 0, 7));
    let of_network = |who| VisitorId::new(who).of_network(network);
    let rules = RoomRules::new("r", 1).queueing_method(QueueingMethod::Reject);
    let drains = RoomRules::new("r", 1).mode(RoomMode::Drain);
    let narrow = RoomRules::new("r", 1).shares(Shares::Limit(1));
    for rules in [rules, drains, narrow.line_capacity(1)] {
        let mut room = Room::new(RoomRules::new("r", 1)).unwrap();
        room.enter(id(1), at(0));
        let ticket = waits(room.enter(of_network(2), at(0)));
        waits(room.check_in(&ticket, at(2)));
        room.configure(rules.clone(), at(3)).unwrap();
        let mut old = from_elsewhere(3, 1);
        old.id = of_network(3);
        let moved = waits(moves(&mut room, &old, 3));
        assert_eq!(moved.shown_position, Some(1), "{rules:?}");
    }
}

#[test]
fn a_visitor_of_another_site_that_has_left_this_one_is_a_newcomer() {
    let (mut room, old) = full();
    let mut lapsed = room.clone();
    pass(moves(&mut lapsed, &from_elsewhere(1, 0), 91));
    room.leave(old.id, at(50));
    pass(room.enter(id(2), at(51)));
    for since in [0, 60] {
        let verdict = moves(&mut room, &from_elsewhere(1, since), 62);
        assert!(matches!(verdict, Verdict::Wait { ticket, .. } if !ticket.placed), "{verdict:?}");
    }
}

/// A visitor of the crowd in the property test.
#[derive(Clone, Debug)]
struct Guest {
    first_seen: u64,
    head_start: u64,
    stays: u64,
    ticket: Option<Ticket>,
    /// The time at which the visitor leaves, once it is inside.
    leaves: Option<u64>,
}

fn guests() -> impl Strategy<Value = Vec<Guest>> {
    let head_start = prop::sample::select(vec![0, 0, 7, 30, 90]);
    let guest = (0..240u64, head_start, 1..40u64).prop_map(|(first_seen, head_start, stays)| {
        Guest { first_seen, head_start, stays, ticket: None, leaves: None }
    });
    prop::collection::vec(guest, 1..60)
}

proptest! {
    #[test]
    fn a_head_start_is_never_longer_than_asked_and_survives_its_bits(secs in 0..300_000u64) {
        let start = HeadStart::new(Duration::from_secs(secs));
        let got = start.duration().as_secs();
        let unit = if secs < 4_096 { 1 } else { 60 };
        prop_assert!(got <= secs && (secs - got < unit || start == HeadStart::MAX));
        prop_assert_eq!(HeadStart::from_bits(start.bits()), start);
    }

    /// The bound on starvation: with head starts of up to 90 s, a visitor never gets a slot while
    /// another visitor, who is present and came more than 90 s earlier, has neither a free nor a
    /// reserved slot.
    #[test]
    fn no_visitor_is_overtaken_by_one_later_than_the_longest_head_start(
        mut guests in guests(),
        slots in 1..4u32,
    ) {
        let mut room = Room::new(RoomRules::new("r", slots)).unwrap();
        for secs in 0..4_000 {
            for who in 0..guests.len() {
                let guest = guests[who].clone();
                let name = id(who as u128 + 1);
                let is_due = |ticket: &Ticket| ticket.next_check_in <= at(secs);
                let verdict = match (guest.leaves, &guest.ticket) {
                    (Some(leaves), _) if leaves == secs => {
                        room.leave(name, at(secs));
                        continue;
                    }
                    (None, None) if guest.first_seen == secs => room.enter(name, at(secs)),
                    (None, Some(ticket)) if is_due(ticket) => room.check_in(ticket, at(secs)),
                    _ => continue,
                };
                match verdict {
                    Verdict::Wait { mut ticket, .. } => {
                        prop_assert_eq!(ticket.first_seen, at(guest.first_seen));
                        ticket.head_start = seconds(guest.head_start);
                        guests[who].ticket = Some(ticket);
                    }
                    Verdict::Admit { .. } => {
                        guests[who].leaves = Some(secs + guest.stays);
                        let is_starved = |other: &&Guest| {
                            other.leaves.is_none()
                                && other.ticket.is_some_and(|ticket| ticket.placed)
                                && other.first_seen + 90 < guest.first_seen
                        };
                        let starved = guests.iter().filter(is_starved).count();
                        let free = slots - room.snapshot(at(secs)).active;
                        prop_assert!(starved <= free as usize, "{starved} of {guests:?}");
                    }
                    Verdict::Refuse { .. } => prop_assert!(false, "nobody is refused"),
                }
            }
        }
        prop_assert!(guests.iter().all(|guest| guest.leaves.is_some()), "everybody gets in");
    }
}
