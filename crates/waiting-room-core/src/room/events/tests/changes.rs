//! Schedules that change, clocks that jump, and rooms that lose their state.

use super::*;

/// Returns the positions that the visitors are shown; `None` for those inside.
fn positions(crowd: &Crowd) -> Vec<Option<u32>> {
    let shown = |visitor: &Visitor| match visitor {
        Visitor::Waiting(ticket, _) => ticket.shown_position,
        Visitor::Admitted(..) | Visitor::Coming => None,
    };
    crowd.visitors.iter().map(shown).collect()
}

#[test]
fn a_seed_that_does_not_match_its_commitment_is_refused_with_both_commitments() {
    let event = doors().shuffle_at_start(Commitment::new([1; 32]));
    let schedule = Schedule::new([event]).unwrap();
    let error = schedule.clone().with_seed("shop", "doors", seed()).unwrap_err();
    assert_eq!((error.kind(), error.field()), (ConfigErrorKind::Contradicts, "seed"));
    assert!(error.given().contains(&doors_commitment().to_string()), "{error}");
    assert!(error.expected().contains(&"01".repeat(32)), "{error}");
    assert!(!error.to_string().contains(&"07".repeat(32)), "the seed is secret");
    // Without its seed, the event cannot be followed.
    let error = Room::new(rules(1)).unwrap().with_schedule(schedule).unwrap_err();
    assert_eq!(error.kind(), ConfigErrorKind::Missing);
    assert!(error.to_string().starts_with("seed is missing for event \"doors\""), "{error}");
    let other = plain().with_seed("market", "doors", seed()).unwrap();
    assert_eq!(
        Room::new(rules(1)).unwrap().with_schedule(other).unwrap_err().to_string(),
        "seed is one for room \"market\", expected one for room \"shop\""
    );
}

#[test]
fn rules_that_rule_out_waiting_for_the_event_are_refused() {
    let method = QueueingMethod::Reject;
    let mut room = room(rules(1), plain());
    let error = room.configure(rules(1).queueing_method(method), at(0)).unwrap_err();
    assert!(error.to_string().contains("because of its prequeue_start"), "{error}");
    assert_eq!(room.rules(), &rules(1));
    let closed = Room::new(rules(1).queueing_method(method)).unwrap();
    assert!(closed.with_schedule(plain()).is_err());
}

#[test]
fn a_schedule_that_is_refused_changes_nothing() {
    let mut room = room(rules(1), shuffled());
    room.sweep(at(1_700));
    let moved = doors().start(at(1_800)).shuffle_at_start(doors_commitment());
    let error = room.schedule(Schedule::new([moved]).unwrap(), at(1_700)).unwrap_err();
    assert_eq!((error.kind(), error.field()), (ConfigErrorKind::Contradicts, "start"));
    assert_eq!(room.plan().unwrap().schedule.events(), shuffled().events());
}

#[test]
fn a_clock_that_steps_over_the_start_admits_in_the_drawn_order() {
    // The room sees no request from the prequeue until hours after the start of a long event.
    let event = doors().end(at(100_000));
    let schedule = Schedule::new([event]).unwrap().with_seed("shop", "doors", seed()).unwrap();
    let mut room = room(rules(2).place_retention(Duration::from_secs(86_000)), schedule);
    let mut crowd = Crowd::new(8, at(1_010));
    crowd.run(&mut room, at(1_300));
    let now = at(20_000);
    crowd.due.clear();
    (0..8).for_each(|who| crowd.ask(&mut room, who, now));
    assert_eq!(reveal(&room).entrants(), 8);
    (0..8).for_each(|who| crowd.ask(&mut room, who, now + Duration::from_secs(5)));
    assert_eq!(crowd.admitted().len(), 2);
    for who in (0..8).filter(|who| !crowd.admitted().contains(who)) {
        let ticket = crowd.ticket(who);
        let place = ticket.entrant.unwrap().place.unwrap();
        assert!(place > 2, "the first two places are inside");
        assert_eq!(ticket.shown_position, Some(place - 2));
    }
}

#[test]
fn a_clock_that_steps_over_the_whole_prequeue_starts_the_event_without_a_draw() {
    let mut room = room(rules(1), shuffled());
    room.sweep(at(900));
    let mut crowd = Crowd::new(3, at(1_700));
    crowd.run(&mut room, at(1_710));
    assert_eq!(crowd.admitted(), [0]);
    assert_eq!(crowd.ticket(1).shown_position, Some(1));
}

#[test]
fn a_clock_that_steps_over_the_end_skips_the_event() {
    let mut room = room(rules(1), Schedule::new([doors().limits(5, None)]).unwrap());
    let mut crowd = Crowd::new(3, at(1_010));
    crowd.run(&mut room, at(1_100));
    crowd.due.clear();
    (0..3).for_each(|who| crowd.ask(&mut room, who, at(6_100)));
    // The places have lapsed in the meantime, so the visitors are newcomers under the room's own
    // rules.
    assert_eq!(crowd.admitted(), [0]);
    assert_eq!(room.rules(), &rules(1));
}

#[test]
fn a_clock_that_is_set_back_over_the_start_keeps_the_event_active() {
    let mut room = room(rules(5), plain());
    room.sweep(at(1_600));
    let mut crowd = Crowd::new(3, at(1_500));
    crowd.run(&mut room, at(1_510));
    assert_eq!(crowd.admitted().len(), 3);
}

#[test]
fn an_event_that_is_removed_in_its_prequeue_admits_in_the_order_of_arrival() {
    let mut room = room(rules(4), shuffled());
    let mut crowd = Crowd::new(10, at(1_010));
    crowd.run(&mut room, at(1_100));
    room.schedule(Schedule::default(), at(1_100)).unwrap();
    assert_eq!(room.plan(), None);
    crowd.run(&mut room, at(1_130));
    assert!(crowd.admitted().into_iter().eq(0..4));
    assert_eq!(crowd.ticket(7).shown_position, Some(4));
}

#[test]
fn an_event_that_is_removed_while_it_is_active_keeps_the_drawn_order() {
    let mut room = room(rules(2), shuffled());
    let mut crowd = Crowd::new(10, at(1_010));
    crowd.run(&mut room, at(1_650));
    let before = positions(&crowd);
    room.schedule(Schedule::default(), at(1_650)).unwrap();
    crowd.run(&mut room, at(1_700));
    assert_eq!(positions(&crowd), before);
}

#[test]
fn a_start_that_is_postponed_in_the_prequeue_admits_no_visitor_early() {
    let mut room = room(rules(20), shuffled());
    let mut crowd = Crowd::new(10, at(1_010));
    crowd.run(&mut room, at(1_590));
    let later = doors().start(at(1_700)).shuffle_at_start(doors_commitment());
    room.schedule(Schedule::new([later]).unwrap(), at(1_590)).unwrap();
    crowd.run(&mut room, at(1_699));
    assert_eq!(crowd.admitted(), []);
    crowd.run(&mut room, at(1_704));
    assert_eq!(crowd.admitted().len(), 10);
    assert_eq!(reveal(&room).entrants(), 10);
}

#[test]
fn own_rules_that_change_during_an_event_are_inherited() {
    let event = doors().limits(50, None);
    let mut room = room(rules(10), Schedule::new([event]).unwrap());
    room.sweep(at(1_700));
    let capacity = |users| rules(users).line_capacity(7);
    room.configure(capacity(20), at(1_700)).unwrap();
    assert_eq!(room.rules(), &capacity(50));
    room.sweep(at(3_000));
    assert_eq!(room.rules(), &capacity(20));
}

#[test]
fn a_room_that_is_restarted_in_the_prequeue_gives_no_number_twice() {
    let mut first = room(rules(3), shuffled());
    let mut crowd = Crowd::new(10, at(1_010));
    crowd.run(&mut first, at(1_100));
    let mut second = room(rules(3), shuffled());
    second.recover(at(1_100));
    crowd.add(at(1_101));
    crowd.run(&mut second, at(1_610));
    let number = |visitor: &Visitor| match visitor {
        Visitor::Waiting(ticket, _) => Some(ticket.entrant.unwrap().number),
        Visitor::Admitted(..) | Visitor::Coming => None,
    };
    let mut numbers: Vec<_> = crowd.visitors.iter().filter_map(number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!((numbers.len(), crowd.admitted().len()), (8, 3));
    assert_eq!(reveal(&second).entrants(), 11);
}

#[test]
fn a_room_that_is_restarted_after_the_start_keeps_the_drawn_order() {
    let mut first = room(rules(2), shuffled());
    let mut crowd = Crowd::new(10, at(1_010));
    crowd.run(&mut first, at(1_650));
    let inside = crowd.admitted();
    let places = |crowd: &Crowd| -> Vec<_> {
        let waiting = (0..10).filter(|who| !inside.contains(who));
        waiting.map(|who| crowd.ticket(who).entrant.unwrap().place.unwrap()).collect()
    };
    let before = places(&crowd);
    let mut second = room(rules(2), shuffled());
    second.recover(at(1_650));
    for who in &inside {
        let Visitor::Admitted(pass, _) = &crowd.visitors[*who] else { panic!() };
        second.renew(pass, at(1_651));
    }
    crowd.run(&mut second, at(1_690));
    assert_eq!((places(&crowd), crowd.admitted()), (before, inside.clone()));
    assert_eq!(reveal(&second).entrants(), 10);
}

#[test]
fn after_a_restart_just_behind_the_start_active_visitors_delay_no_others() {
    let mut first = room(rules(3), shuffled());
    let mut crowd = Crowd::new(12, at(1_010));
    // All visitors check in again after the slots are taken.
    crowd.run(&mut first, at(1_650));
    assert_eq!(crowd.admitted().len(), 3);
    let mut waiting: Vec<_> = (0..12).filter(|who| !crowd.admitted().contains(who)).collect();
    waiting.sort_by_key(|who| crowd.ticket(*who).entrant.unwrap().place);
    // The new room knows neither those inside nor those who wait.
    let mut second = room(rules(1), shuffled());
    second.recover(at(1_650));
    for turn in 0..3 {
        let next = waiting[turn];
        let behind = waiting[turn + 1];
        crowd.ask(&mut second, behind, at(1_651));
        let Visitor::Waiting(ticket, reason) = &crowd.visitors[behind] else { panic!() };
        assert_eq!((reason, ticket.shown_position), (&Reason::QueuedBehindOthers, Some(2)));
        crowd.ask(&mut second, next, at(1_651));
        let Visitor::Admitted(pass, _) = crowd.visitors[next] else {
            panic!("turn {turn}: {:?}", crowd.visitors[next])
        };
        second.leave(pass.id, at(1_651));
    }
}

#[test]
fn an_entrant_that_returns_after_its_place_has_lapsed_counts_again() {
    // One operation removes up to three lapsed places, in addition to the place of its own visitor.
    for sweeps in [0, 2] {
        let mut room = room(rules(1), shuffled());
        let mut crowd = Crowd::new(6, at(1_010));
        crowd.run(&mut room, at(1_014));
        let retention = rules(1).place_retention;
        crowd.due.clear();
        // All places lapse. A node that could not reach the store has reissued the tickets.
        let back = at(1_044) + retention;
        (0..sweeps).for_each(|_| room.sweep(back));
        let mut latest_first: Vec<_> = (0..6).collect();
        latest_first.sort_by_key(|who| Reverse(crowd.ticket(*who).last_check_in));
        for who in latest_first {
            let Visitor::Waiting(ticket, _) = &mut crowd.visitors[who] else { panic!() };
            ticket.last_check_in = back.before(Duration::from_secs(1));
            ticket.next_check_in = ticket.last_check_in;
            crowd.ask(&mut room, who, back);
            assert!(crowd.ticket(who).entrant.is_some());
        }
        // The room gets no request around the start, so all entrants get time to check in.
        let places: Vec<_> = {
            let lottery = shuffled().lottery(&shuffled().events()[0]).unwrap().clone();
            let shuffle = lottery.reveal(6, None).unwrap().verify(&doors_commitment()).unwrap();
            (0..6).map(|who| shuffle.place_of(crowd.ticket(who).entrant.unwrap().number)).collect()
        };
        let last = places.iter().position(|place| *place == Some(6)).unwrap();
        for who in 0..6 {
            let Visitor::Waiting(ticket, _) = &mut crowd.visitors[who] else { panic!() };
            ticket.last_check_in = at(1_605);
        }
        crowd.ask(&mut room, last, at(1_610));
        assert_eq!(crowd.ticket(last).shown_position, Some(6));
    }
}

/// Returns a room with one slot, the visitor who has used this slot since before the prequeue, and
/// the tickets of two entrants, the one with the better place first.
fn two_entrants_and_a_visitor_inside() -> (Room, VisitorId, [Ticket; 2]) {
    let mut room = room(rules(1), shuffled());
    let inside = VisitorId::new(1);
    assert!(matches!(room.enter(inside, at(900)), Verdict::Admit { .. }));
    let mut crowd = Crowd::new(2, at(1_010));
    crowd.run(&mut room, at(1_014));
    let lottery = shuffled().lottery(&shuffled().events()[0]).unwrap().clone();
    let shuffle = lottery.reveal(2, None).unwrap().verify(&doors_commitment()).unwrap();
    let mut tickets = [0, 1].map(|who| *crowd.ticket(who));
    tickets.sort_by_key(|ticket| shuffle.place_of(ticket.entrant.unwrap().number));
    (room, inside, tickets)
}

fn waits(verdict: Verdict) -> (Ticket, Reason) {
    match verdict {
        Verdict::Wait { ticket, reason } => (ticket, reason),
        other @ (Verdict::Admit { .. } | Verdict::Refuse { .. }) => panic!("{other:?}"),
    }
}

#[test]
fn an_entrant_that_shows_a_lapsed_ticket_before_a_reissued_one_counts_again() {
    let (mut room, inside, [first, second]) = two_entrants_and_a_visitor_inside();
    // The places lapse, and the room gets no request around the start. Then the room sees a copy of
    // the ticket from before the reissue first.
    let (ticket, _) = waits(room.check_in(&first, at(1_610)));
    assert_eq!((ticket.entrant, ticket.shown_position), (None, Some(1)));
    let (ticket, _) = waits(room.stay(&first.reissued(at(1_609)), at(1_610)));
    assert_eq!(ticket.entrant.unwrap().place, Some(1));
    // The first entrant is away after three seconds, but has time to come back.
    room.leave(inside, at(1_615));
    let (ticket, reason) = waits(room.check_in(&second.reissued(at(1_614)), at(1_615)));
    assert_eq!((reason, ticket.shown_position), (Reason::QueuedBehindOthers, Some(2)));
    let verdict = room.check_in(&ticket, at(1_700));
    assert!(matches!(verdict, Verdict::Admit { .. }), "{verdict:?}");
}

#[test]
fn an_entrant_admitted_from_a_place_without_a_number_delays_no_others() {
    let (mut room, inside, lapsed) = two_entrants_and_a_visitor_inside();
    let [first, second] = lapsed.map(|ticket| ticket.reissued(at(1_599)));
    let [first, second] = [first, second].map(|ticket| waits(room.check_in(&ticket, at(1_601))).0);
    assert_eq!([first, second].map(|ticket| ticket.shown_position), [Some(1), Some(2)]);
    // Another room knows neither entrant, and sees a lapsed ticket of the first entrant before any
    // other ticket.
    let mut next = self::room(rules(1), shuffled());
    next.recover(at(1_602));
    assert!(matches!(next.enter(inside, at(1_602)), Verdict::Admit { .. }));
    assert_eq!(waits(next.check_in(&lapsed[0], at(1_602))).0.entrant, None);
    next.leave(inside, at(1_603));
    assert!(matches!(next.check_in(&first, at(1_603)), Verdict::Admit { .. }));
    next.leave(first.id, at(1_604));
    let verdict = next.check_in(&second, at(1_604));
    assert!(matches!(verdict, Verdict::Admit { .. }), "{verdict:?}");
}

#[test]
fn a_lapsed_ticket_never_brings_its_number_back() {
    let (mut room, _, [first, _]) = two_entrants_and_a_visitor_inside();
    for secs in [1_610, 1_611] {
        let (ticket, _) = waits(room.check_in(&first, at(secs)));
        assert_eq!((ticket.entrant, ticket.arrival()), (None, at(1_610)), "at {secs} s");
    }
}
