//! First tickets, and the positions that are shown to newcomers and to visitors in line.

use super::*;

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

/// A store that stalls may receive a check-in after its ticket has lapsed, when the visitor has
/// long been given another ticket with the same order.
#[test]
fn a_place_that_was_made_too_late_goes_back_to_the_order_of_a_ticket_that_is_still_good() {
    let mut room = room(rules(1));
    pass(room.enter(id(0), at(0)));
    let shown = ticket(room.enter(id(1), at(1)));
    let other = ticket(room.enter(id(2), at(2)));
    ticket(room.check_in(&other, at(30)));
    let late = ticket(room.check_in(&shown, at(31)));
    assert_eq!((late.first_seen, late.shown_position), (at(31), Some(2)));
    // The ticket that has lapsed does not restore the order. The one issued meanwhile does.
    let late = ticket(room.check_in(&shown, at(32)));
    assert_eq!((late.first_seen, late.shown_position), (at(31), Some(2)));
    let issued_anew = Ticket { last_check_in: at(20), ..shown };
    let kept = ticket(room.check_in(&issued_anew, at(33)));
    assert_eq!((kept.first_seen, kept.shown_position), (at(1), Some(1)));
}

#[test]
fn a_position_that_rises_is_said_to_be_approximate() {
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
fn a_newcomer_is_told_how_many_are_ahead_and_asked_back_within_two_seconds() {
    let mut room = room(rules(1));
    pass(room.enter(id(0), at(0)));
    let mut intervals = std::collections::BTreeSet::new();
    for who in 1..=100 {
        let first = ticket(room.enter(id(who), at(1)));
        let (position, is_approximate) = (first.shown_position.unwrap(), first.is_approximate);
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
    let mut room = room(rules(10).with_session_duration(Duration::from_secs(300)));
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
fn a_first_ticket_keeps_its_order_for_half_as_long_again_as_any_client_stays_away() {
    let mut room = room(rules(1));
    pass(room.enter(id(0), at(0)));
    let first = ticket(room.enter(id(1), at(1)));
    let brought_back = |room: &mut Room, now| ticket(room.check_in(&first, now)).first_seen;
    let last = at(1) + Duration::from_millis(29_999);
    assert_eq!(brought_back(&mut room.clone(), last), at(1));
    assert_eq!(brought_back(&mut room, at(31)), at(31));
}

/// Counts the requests of a minute in which newcomers arrive evenly. The second touch of each comes
/// after the interval that `second` returns, and check-ins follow at the longest interval.
fn requests(room: &Room, newcomers: u128, second: impl Fn(u64) -> Duration) -> u64 {
    let step = Duration::from_secs(60) / u32::try_from(newcomers).unwrap();
    (0..newcomers).fold(0, |sum, who| {
        let arrives = step * u32::try_from(who).unwrap();
        let jitter = id(who).draw(0);
        let rest = Duration::from_secs(60).saturating_sub(arrives + second(jitter));
        let interval = room.rules().longest_check_in_interval(jitter);
        let second_touches = u64::from(!rest.is_zero());
        sum + 1 + second_touches + rest.as_secs() / interval.as_secs()
    })
}

#[test]
fn early_second_touches_of_a_rush_do_not_double_the_requests_of_the_line() {
    let room = room(rules(1));
    let newcomers = 100_000;
    let per_second = newcomers as f64 / 60.0;
    let early =
        requests(&room, newcomers, |jitter| room.rules().second_touch_after(per_second, jitter));
    let late = requests(&room, newcomers, |jitter| room.rules().longest_check_in_interval(jitter));
    assert!(early < late * 2, "{early} requests, and {late} without");
    let after = |per_second, jitter| room.rules().second_touch_after(per_second, jitter).as_secs();
    assert_eq!([0, 300].map(|jitter| after(1_000.0, jitter)), [1, 2]);
    assert_eq!([0, 300].map(|jitter| after(5_000.0, jitter)), [5, 10]);
    assert_eq!([0, 300].map(|jitter| after(1e9, jitter)), [13, 26]);
}
