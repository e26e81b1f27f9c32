//! Tests of first tickets, and of the positions that are shown to newcomers and to visitors in
//! line.

use super::*;
use crate::room::Shares;

#[test]
fn a_client_that_does_not_return_its_ticket_leaves_no_trace() {
    let mut room = room(rules(1));
    pass(room.enter(id(0), at(0)));
    for who in 1..=100_000 {
        ticket(room.enter(id(who), at(1)));
    }
    let snapshot = room.snapshot(at(1));
    assert_eq!((snapshot.waiting, snapshot.active), (0, 1));
    pass(room.enter(id(200_000), at(90)));
}

#[test]
fn a_place_is_in_the_order_of_the_first_touch() {
    let mut room = room(rules(1));
    pass(room.enter(id(0), at(0)));
    let early = ticket(room.enter(id(1), at(1)));
    let late = queue(&mut room, 2, at(2));
    assert_eq!(late.shown_position, Some(1));
    let early = ticket(room.check_in(&early, at(3)));
    assert_eq!(early.shown_position, Some(1));
    room.leave(id(0), at(4));
    let behind = room.check_in(&late, at(4));
    assert_eq!(*behind.reason(), Reason::QueuedBehindOthers);
    pass(room.check_in(&early, at(4)));
}

/// Gives a place in line to the visitor with this id, which contains its network.
fn queue_as(room: &mut Room, id: VisitorId, now: Timestamp) -> Ticket {
    let first = ticket(room.enter(id, now));
    ticket(room.check_in(&first, now))
}

/// Reissues a ticket at `now`, like a node that cannot reach its store.
fn reissued(ticket: Ticket, now: Timestamp) -> Ticket {
    assert!(rules(1).timing().may_reissue(&ticket, now), "a node would not reissue the ticket");
    Ticket { last_check_in: now, ..ticket }
}

/// A store that was paused may execute a check-in after its ticket has lapsed, and after a node has
/// reissued the ticket with the same order of arrival.
#[test]
fn a_place_that_was_made_too_late_goes_back_to_the_order_of_a_reissued_ticket() {
    let mut room = room(rules(1));
    pass(room.enter(id(0), at(0)));
    let shown = ticket(room.enter(id(1), at(1)));
    let other = ticket(room.enter(id(2), at(2)));
    ticket(room.check_in(&other, at(30)));
    let late = ticket(room.check_in(&shown, at(31)));
    assert_eq!((late.first_seen, late.shown_position), (at(31), Some(2)));
    // The lapsed ticket does not restore the order of arrival, but the reissued ticket does.
    let late = ticket(room.check_in(&shown, at(32)));
    assert_eq!((late.first_seen, late.shown_position), (at(31), Some(2)));
    let kept = ticket(room.check_in(&reissued(shown, at(20)), at(33)));
    assert_eq!((kept.first_seen, kept.shown_position), (at(1), Some(1)));
}

#[test]
fn a_place_keeps_its_order_from_an_older_ticket_that_no_node_reissued() {
    let share = Shares::Limit(1);
    let mut room = room(rules(1).shares(share));
    let network = Some(crate::room::Network::new(std::num::NonZeroU16::MIN, 0, 7));
    pass(room.enter(id(0), at(0)));
    let [first, second] = [1, 2].map(|who| id(who).of_network(network));
    queue_as(&mut room, first, at(1));
    let refused = ticket(room.enter(second, at(2)));
    let Verdict::Refuse { ticket: Some(again), .. } = room.check_in(&refused, at(4)) else {
        panic!("the network has no place left");
    };
    room.leave(first, at(5));
    let placed = ticket(room.check_in(&again, again.next_check_in));
    assert_eq!(placed.first_seen, at(4));
    let replayed = ticket(room.check_in(&refused, at(20)));
    assert_eq!(replayed.first_seen, at(4), "the refused order is not restored");
}

#[test]
fn a_used_up_ticket_stays_void_however_often_a_copy_is_reissued() {
    for leaves in [false, true] {
        let mut room = room(rules(1));
        pass(room.enter(id(0), at(0)));
        let mut copy = queue(&mut room, 1, at(1));
        room.leave(id(0), at(3));
        pass(room.check_in(&copy, at(4)));
        if leaves {
            room.leave(id(1), at(4));
        }
        // A node reissues the copy for as long as this is permitted.
        for secs in (5..2_000).step_by(5) {
            if rules(1).timing().may_reissue(&copy, at(secs)) {
                copy = reissued(copy, at(secs));
            }
        }
        let last = copy.last_check_in.since(at(0)).as_secs();
        for secs in (95..last + 310).step_by(5) {
            pass(room.enter(id(1_000 + u128::from(secs)), at(secs)));
            let verdict = room.check_in(&copy, at(secs));
            let Verdict::Wait { ticket, .. } = verdict else { panic!("the room is full") };
            assert!(ticket.first_seen >= at(secs), "{leaves}, at {secs} s: {ticket:?}");
            room.leave(id(1_000 + u128::from(secs)), at(secs));
            assert!(!ticket.placed);
        }
    }
}

#[test]
fn a_reissued_ticket_without_its_place_counts_for_the_line_and_its_network() {
    let network = Some(crate::room::Network::new(std::num::NonZeroU16::MIN, 0, 7));
    let full = |rules: RoomRules| {
        let mut room = room(rules);
        pass(room.enter(id(0), at(0)));
        let old = queue_as(&mut room, id(1).of_network(network), at(1));
        // The place has lapsed before another visitor takes the network's only place.
        let copy = reissued(old, at(290));
        pass(room.enter(id(9), at(310)));
        queue_as(&mut room, id(2).of_network(network), at(311));
        room.check_in(&copy, at(320))
    };
    let share = full(rules(1).shares(Shares::Limit(1)));
    assert_eq!(*share.reason(), Reason::RefusedNetworkFull);
    let capacity = full(rules(1).line_capacity(1));
    assert_eq!(*capacity.reason(), Reason::RefusedLineFull);
}

#[test]
fn a_rising_position_is_marked_as_approximate() {
    let mut room = room(rules(1));
    pass(room.enter(id(0), at(0)));
    let slow = ticket(room.enter(id(1), at(1)));
    let quick = queue(&mut room, 2, at(2));
    assert_eq!((quick.shown_position, quick.is_approximate), (Some(1), false));
    ticket(room.check_in(&slow, at(3)));
    let quick = ticket(room.check_in(&quick, at(4)));
    assert_eq!((quick.shown_position, quick.is_approximate), (Some(2), true));
    let quick = ticket(room.check_in(&quick, at(6)));
    assert_eq!((quick.shown_position, quick.is_approximate), (Some(2), false));
}

#[test]
fn a_rise_of_a_sixteenth_is_not_shown() {
    let mut shown = Ticket::new(id(1), at(0), at(0), at(0));
    shown.show(160, false);
    shown.placed = true;
    for (position, expected) in [(150, (150, false)), (159, (150, true)), (160, (160, true))] {
        shown.show(position, false);
        assert_eq!((shown.shown_position.unwrap(), shown.is_approximate), expected);
    }
}

#[test]
fn a_newcomer_learns_the_number_ahead_and_returns_within_two_seconds() {
    let mut room = room(rules(1));
    pass(room.enter(id(0), at(0)));
    let mut intervals = std::collections::BTreeSet::new();
    for who in 1..=100 {
        let first = ticket(room.enter(id(who), at(1)));
        let position = first.shown_position.unwrap();
        let is_approximate = first.is_approximate;
        assert_eq!((u128::from(position), is_approximate, first.placed), (who, true, false));
        intervals.insert(first.retry_after(at(1)).as_secs());
        ticket(room.check_in(&first, at(1)));
    }
    assert_eq!(Vec::from_iter(intervals), [1, 2]);
    assert_eq!(room.snapshot(at(1)).first_touches_in_last_minute, 100);
    assert_eq!(room.snapshot(at(70)).first_touches_in_last_minute, 0);
}

#[test]
fn first_tickets_are_no_claims_on_the_front_of_the_line() {
    let mut room = room(rules(10).session_duration(Duration::from_secs(300)));
    for who in 0..10 {
        pass(room.enter(id(who), at(0)));
    }
    let hoard: Vec<_> = (100..1_100).map(|who| ticket(room.enter(id(who), at(0)))).collect();
    let mut ann = queue(&mut room, 50, at(1));
    while ann.next_check_in < at(290) {
        ann = ticket(room.check_in(&ann, ann.next_check_in));
    }
    assert_eq!((ann.shown_position, ann.is_approximate), (Some(1), false));
    for first in &hoard {
        ticket(room.check_in(first, at(290)));
    }
    for who in 0..10 {
        room.leave(id(who), at(291));
    }
    pass(room.check_in(&ann, ann.next_check_in));
}

#[test]
fn a_first_ticket_keeps_its_order_for_one_and_a_half_absences() {
    let mut room = room(rules(1));
    pass(room.enter(id(0), at(0)));
    let first = ticket(room.enter(id(1), at(1)));
    let brought_back = |room: &mut Room, now| ticket(room.check_in(&first, now)).first_seen;
    let last = at(1) + Duration::from_millis(29_999);
    assert_eq!(brought_back(&mut room.clone(), last), at(1));
    assert_eq!(brought_back(&mut room, at(31)), at(31));
}

#[test]
fn a_client_that_is_a_quarter_of_a_second_early_is_on_time() {
    let mut room = room(rules(1));
    pass(room.enter(id(0), at(0)));
    let first = ticket(room.enter(id(1), at(1)));
    let due = first.next_check_in;
    assert!(!first.is_early(due.before(Duration::from_millis(250))));
    assert!(first.is_early(due.before(Duration::from_millis(251))));
    // A ticket that a node reissues this early is still marked as reissued.
    let reissued = first.reissued(due.before(Duration::from_millis(250)));
    assert!(reissued.is_reissued() && !first.is_reissued());
    assert_eq!(
        first.reissued(due + Duration::from_secs(1)).last_check_in,
        due + Duration::from_secs(1)
    );
}

/// By the clock of the store, a client that is on time may be a little early. It is then asked to wait
/// for another second, and comes back a second late.
#[test]
fn a_first_ticket_with_the_shortest_interval_has_two_seconds_more() {
    let mut room = room(rules(1).refresh_interval(Duration::from_secs(2)));
    pass(room.enter(id(0), at(0)));
    let first = ticket(room.enter(id(1), at(1)));
    let brought_back = |room: &mut Room, now| ticket(room.check_in(&first, now)).first_seen;
    let last = at(1) + Duration::from_millis(3_999);
    assert_eq!(brought_back(&mut room.clone(), last), at(1));
    assert_eq!(brought_back(&mut room, at(5)), at(5));
}

/// Returns the number of requests in a minute in which newcomers arrive evenly. The second touch of
/// each newcomer comes after the interval that `second` returns, and check-ins follow at the
/// longest check-in interval.
fn requests(room: &Room, newcomers: u128, second: impl Fn(u64) -> Duration) -> u64 {
    let step = Duration::from_secs(60) / u32::try_from(newcomers).unwrap();
    (0..newcomers).fold(0, |sum, who| {
        let arrives = step * u32::try_from(who).unwrap();
        let jitter = id(who).draw(0);
        let rest = Duration::from_secs(60).saturating_sub(arrives + second(jitter));
        let interval = room.rules().timing().longest_check_in_interval(jitter);
        let second_touches = u64::from(!rest.is_zero());
        sum + 1 + second_touches + rest.as_secs() / interval.as_secs()
    })
}

#[test]
fn early_second_touches_of_a_rush_do_not_double_the_requests_of_the_line() {
    let room = room(rules(1));
    let newcomers = 100_000;
    let per_second = newcomers as f64 / 60.0;
    let early = requests(&room, newcomers, |jitter| {
        room.rules().timing().second_touch_after(per_second, jitter)
    });
    let late = requests(&room, newcomers, |jitter| {
        room.rules().timing().longest_check_in_interval(jitter)
    });
    assert!(early < late * 2, "{early} requests with early touches, {late} without");
    let after =
        |per_second, jitter| room.rules().timing().second_touch_after(per_second, jitter).as_secs();
    assert_eq!([0, 300].map(|jitter| after(1_000.0, jitter)), [1, 2]);
    assert_eq!([0, 300].map(|jitter| after(5_000.0, jitter)), [5, 10]);
    assert_eq!([0, 300].map(|jitter| after(1e9, jitter)), [13, 26]);
}
