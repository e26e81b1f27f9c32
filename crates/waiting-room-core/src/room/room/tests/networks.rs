//! Tests of the number of places that the clients of one network may hold.

use std::num::NonZeroU16;

use super::*;
use crate::room::{Network, Shares};

/// Returns a room without a free slot, with the given limit on the places of a network.
fn full(places: Shares) -> Room {
    let mut room = room(rules(1).shares(places).line_capacity(100));
    pass(room.enter(id(0), at(0)));
    room
}

/// Returns the id of visitor number `who` in a network.
fn of(network: u16, who: u128) -> VisitorId {
    id(who).of_network(NonZeroU16::new(network).map(|wide| Network::new(wide, 0, 0)))
}

/// Lets a newcomer enter, and returns the verdict on its second touch, one second after the first.
fn second_touch(room: &mut Room, id: VisitorId, secs: u64) -> Verdict {
    let first = ticket(room.enter(id, at(secs)));
    room.check_in(&first, at(secs + 1))
}

#[track_caller]
fn refused(verdict: Verdict) -> Ticket {
    match verdict {
        Verdict::Refuse { ticket: Some(ticket), reason, retry_after: Some(_) } => {
            assert_eq!(reason, Reason::RefusedNetworkFull);
            ticket
        }
        other @ (Verdict::Admit { .. } | Verdict::Refuse { .. } | Verdict::Wait { .. }) => {
            panic!("the visitor was not refused: {other:?}")
        }
    }
}

#[test]
fn a_network_has_no_more_places_than_its_share_and_others_have_theirs() {
    let mut room = full(Shares::Limit(2));
    for who in 1..=2 {
        ticket(second_touch(&mut room, of(7, who), 1));
    }
    for who in 3..=20 {
        refused(second_touch(&mut room, of(7, who), 2));
    }
    assert_eq!(room.snapshot(at(3)).waiting, 2);
    ticket(second_touch(&mut room, of(8, 1), 3));
    // Visitors from unknown networks may take all places in the line.
    for who in 30..40 {
        ticket(second_touch(&mut room, id(who), 4));
    }
    assert_eq!(room.snapshot(at(5)).waiting, 13);
}

#[test]
fn a_place_that_is_given_back_is_for_another_of_the_network() {
    let mut room = full(Shares::Limit(2));
    let first = ticket(second_touch(&mut room, of(7, 1), 1));
    ticket(second_touch(&mut room, of(7, 2), 1));
    // One visitor leaves.
    room.leave(of(7, 2), at(3));
    ticket(second_touch(&mut room, of(7, 3), 3));
    refused(second_touch(&mut room, of(7, 4), 3));
    // One visitor is admitted.
    room.leave(id(0), at(5));
    pass(room.check_in(&first, at(5)));
    ticket(second_touch(&mut room, of(7, 5), 5));
    refused(second_touch(&mut room, of(7, 6), 5));
    // One visitor presents a pass that is unknown to the room.
    let shown = Pass::new(of(7, 3), 0, at(0), at(1), at(1_000));
    assert!(matches!(room.renew(&shown, at(7)), Renewal::Renew(_)));
    ticket(second_touch(&mut room, of(7, 7), 7));
    refused(second_touch(&mut room, of(7, 8), 7));
    // All places lapse, while the active visitor renews its pass.
    room.renew(&shown, at(80));
    room.renew(&shown, at(160));
    room.renew(&shown, at(240));
    room.renew(&shown, at(309));
    assert_eq!(room.snapshot(at(309)).waiting, 0);
    for who in 11..=12 {
        ticket(second_touch(&mut room, of(7, who), 309));
    }
    refused(second_touch(&mut room, of(7, 13), 309));
}

#[test]
fn a_lower_share_takes_no_place_away() {
    let mut room = full(Shares::Limit(9));
    let held: Vec<_> = (1..=9).map(|who| ticket(second_touch(&mut room, of(7, who), 1))).collect();
    let low = room.rules().clone().shares(Shares::Limit(1));
    room.configure(low, at(4)).unwrap();
    for ticket in &held {
        assert!(super::ticket(room.check_in(ticket, at(5))).placed);
    }
    refused(second_touch(&mut room, of(7, 10), 5));
}

#[test]
fn a_visitor_that_is_admitted_at_once_needs_no_place() {
    let mut room = full(Shares::Limit(1));
    let tickets: Vec<_> = (1..=5).map(|who| ticket(room.enter(of(7, who), at(1)))).collect();
    ticket(room.check_in(&tickets[0], at(2)));
    let wider = room.rules().clone().total_active_users(9);
    room.configure(wider, at(3)).unwrap();
    for ticket in &tickets {
        pass(room.check_in(ticket, at(3)));
    }
}

#[test]
fn a_refused_visitor_goes_to_the_back_so_no_network_reserves_the_front() {
    let mut room = full(Shares::Limit(1));
    let early = ticket(room.enter(of(7, 1), at(1)));
    ticket(second_touch(&mut room, of(7, 2), 1));
    let late = refused(room.check_in(&early, at(3)));
    assert_eq!((late.first_seen, late.last_check_in, late.placed), (at(3), at(3), false));
    assert!(late.next_check_in > at(3));
    ticket(second_touch(&mut room, of(8, 1), 1));
    room.leave(of(7, 2), at(4));
    let behind = ticket(room.check_in(&late, late.next_check_in));
    assert_eq!(behind.shown_position, Some(2), "it is behind a later visitor");
}

#[test]
fn in_shadow_a_place_over_the_share_is_reported_and_granted() {
    let mut room = full(Shares::Shadow(1));
    let within = second_touch(&mut room, of(7, 1), 1);
    assert_eq!(*within.reason(), Reason::QueuedActiveLimit);
    let over = second_touch(&mut room, of(7, 2), 1);
    assert_eq!(*over.reason(), Reason::QueuedNetworkFull);
    let over = ticket(over);
    assert!(over.placed && over.wait.is_some());
    // The reason is reported once, when the place is created.
    let again = room.check_in(&over, over.next_check_in);
    assert_eq!(*again.reason(), Reason::QueuedActiveLimit);
    assert_eq!(room.snapshot(at(10)).waiting, 2);
}

#[test]
fn without_a_share_no_network_is_counted() {
    let mut room = full(Shares::Off);
    for who in 1..=100 {
        assert_eq!(*second_touch(&mut room, of(7, who), 1).reason(), Reason::QueuedActiveLimit);
    }
}

#[test]
fn a_share_that_is_exhausted_counts_before_a_line_that_is_full() {
    let mut room = room(rules(1).shares(Shares::Limit(1)).line_capacity(1));
    pass(room.enter(id(0), at(0)));
    ticket(second_touch(&mut room, of(7, 1), 1));
    // A ticket that kept its order of arrival would be a claim on the front of the line.
    refused(second_touch(&mut room, of(7, 2), 1));
    let other = second_touch(&mut room, of(8, 1), 1);
    assert_eq!(*other.reason(), Reason::RefusedLineFull);
}
