//! Tests of the promises of a room, one by one. The naive model in `waiting-room-test` tests all
//! promises together.

use super::*;
use crate::room::{CookieTest, Recovery, SessionRenewal};

mod bounded_steps;
mod first_touch;
mod idle;
mod networks;
mod shares;

fn at(secs: u64) -> Timestamp {
    Timestamp::from_secs(1_000_000 + secs)
}

fn id(who: u128) -> VisitorId {
    VisitorId::new(who)
}

fn room(rules: RoomRules) -> Room {
    Room::new(rules).unwrap()
}

/// Returns rules for a room with `slots` slots, in which sessions last 80 s and passes therefore 90
/// s.
fn rules(slots: u32) -> RoomRules {
    RoomRules::new("shop", slots).session_duration(Duration::from_secs(80))
}

#[track_caller]
fn pass(verdict: Verdict) -> Pass {
    match verdict {
        Verdict::Admit { pass, .. } => pass,
        other @ (Verdict::Refuse { .. } | Verdict::Wait { .. }) => {
            panic!("the visitor was not admitted: {other:?}")
        }
    }
}

#[track_caller]
fn ticket(verdict: Verdict) -> Ticket {
    match verdict {
        Verdict::Wait { ticket, .. } => ticket,
        other @ (Verdict::Admit { .. } | Verdict::Refuse { .. }) => {
            panic!("the visitor does not wait: {other:?}")
        }
    }
}

/// Lets a visitor enter and immediately check in, which creates a place.
fn queue(room: &mut Room, who: u128, now: Timestamp) -> Ticket {
    let first = ticket(room.enter(id(who), now));
    ticket(room.check_in(&first, now))
}

#[test]
fn the_slots_are_a_cap_and_a_lapsed_session_frees_one() {
    let mut room = room(rules(2));
    pass(room.enter(id(1), at(0)));
    pass(room.enter(id(2), at(1)));
    let verdict = room.enter(id(3), at(1));
    assert_eq!(*verdict.reason(), Reason::QueuedActiveLimit);
    assert_eq!(room.snapshot(at(89)).active, 2);
    assert_eq!(room.snapshot(at(90)).active, 1);
    pass(room.enter(id(4), at(90)));
}

#[test]
fn the_minute_slides() {
    let mut room = room(rules(100).new_users_per_minute(2));
    pass(room.enter(id(1), at(0)));
    pass(room.enter(id(2), at(59)));
    assert_eq!(*room.enter(id(3), at(59)).reason(), Reason::QueuedRate);
    pass(room.enter(id(4), at(60)));
    assert_eq!(*room.enter(id(5), at(118)).reason(), Reason::QueuedRate);
    pass(room.enter(id(6), at(119)));
}

#[test]
fn a_free_slot_is_kept_from_newcomers_while_a_present_visitor_waits() {
    let mut room = room(rules(2));
    pass(room.enter(id(0), at(0)));
    pass(room.enter(id(1), at(0)));
    let waiting = queue(&mut room, 2, at(1));
    room.leave(id(0), at(2));
    assert_eq!(*room.enter(id(3), at(2)).reason(), Reason::QueuedBehindOthers);
    room.leave(id(1), at(2));
    pass(room.enter(id(4), at(2)));
    pass(room.check_in(&waiting, at(3)));
}

#[test]
fn an_away_visitor_keeps_its_place_but_delays_no_others() {
    let mut room = room(rules(1));
    pass(room.enter(id(0), at(0)));
    let sleeper = queue(&mut room, 1, at(1));
    let away_at = at(1) + (sleeper.next_check_in.since(at(1))) * 3 / 2;
    room.leave(id(0), away_at);
    pass(room.enter(id(2), away_at));
    let other = queue(&mut room, 3, away_at);
    let back = ticket(room.check_in(&sleeper, away_at + Duration::from_secs(1)));
    assert_eq!((back.first_seen, back.shown_position), (at(1), Some(1)));
    room.leave(id(2), away_at + Duration::from_secs(2));
    let behind = room.check_in(&other, away_at + Duration::from_secs(2));
    assert_eq!(*behind.reason(), Reason::QueuedBehindOthers);
}

#[test]
fn a_place_is_kept_for_the_retention_and_then_starts_over() {
    let mut room = room(rules(1).session_duration(Duration::from_secs(1_000)));
    pass(room.enter(id(0), at(0)));
    let first = queue(&mut room, 1, at(1));
    let kept = ticket(room.clone().check_in(&first, at(300)));
    assert_eq!(kept.first_seen, at(1));
    let lapsed = ticket(room.check_in(&first, at(301)));
    assert_eq!((lapsed.first_seen, lapsed.placed), (at(301), true));
}

#[test]
fn a_ticket_survives_the_loss_of_the_room() {
    let mut room = room(rules(1));
    pass(room.enter(id(0), at(0)));
    let first = queue(&mut room, 1, at(1));
    let second = queue(&mut room, 2, at(2));

    let mut restarted = self::room(rules(1));
    pass(restarted.enter(id(3), at(10)));
    let second = ticket(restarted.check_in(&second, at(11)));
    let first = ticket(restarted.check_in(&first, at(12)));
    restarted.leave(id(3), at(13));
    assert_eq!(*restarted.check_in(&second, at(13)).reason(), Reason::QueuedBehindOthers);
    assert_eq!(pass(restarted.check_in(&first, at(13))).id, id(1));
}

#[test]
fn a_pass_survives_the_loss_of_the_room_and_is_counted_again() {
    let mut before = room(rules(1));
    let old = pass(before.enter(id(1), at(0)));
    let mut restarted = room(rules(1));
    assert!(matches!(restarted.renew(&old, at(10)), Renewal::Renew(pass) if pass.id == id(1)));
    assert_eq!(*restarted.enter(id(2), at(10)).reason(), Reason::QueuedActiveLimit);
}

#[test]
fn a_pass_that_was_extended_elsewhere_outlives_the_local_session() {
    let fixed = rules(1).session_renewal(SessionRenewal::Fixed);
    let mut room = room(fixed);
    let known = pass(room.enter(id(1), at(0)));
    let prolonged = Pass::new(id(1), known.bucket, at(0), at(50), at(130));
    assert_eq!(room.snapshot(at(80)).active, 0);
    assert!(matches!(room.renew(&prolonged, at(81)), Renewal::Renew(_)));
    room.leave(id(1), at(82));
    assert_eq!(room.renew(&prolonged, at(83)), Renewal::End);
}

#[test]
fn a_room_on_hold_admits_no_newcomer_until_old_passes_are_void() {
    let mut room = room(rules(5).recovery(Recovery::Pause));
    room.recover(at(0));
    assert_eq!(*room.enter(id(1), at(89)).reason(), Reason::QueuedRecovery);
    pass(room.enter(id(1), at(90)));
}

#[test]
fn a_room_on_hold_waits_for_the_previous_minute_as_well() {
    let short = rules(5).session_duration(Duration::from_secs(8)).recovery(Recovery::Pause);
    let mut room = room(short.new_users_per_minute(1));
    room.recover(at(0));
    assert_eq!(*room.enter(id(1), at(59)).reason(), Reason::QueuedRecovery);
    pass(room.enter(id(1), at(60)));
}

#[test]
fn a_hold_lasts_as_long_as_the_longest_pass_ever_issued() {
    // This room has had rules with longer sessions.
    let hold =
        |secs| rules(10).session_duration(Duration::from_secs(secs)).recovery(Recovery::Pause);
    let mut known = room(hold(3_600));
    known.configure(hold(60), at(0)).unwrap();
    known.recover(at(10));
    assert_eq!(*known.enter(id(1), at(10 + 4_049)).reason(), Reason::QueuedRecovery);
    pass(known.enter(id(1), at(10 + 4_050)));

    // The rules of this room, which was restarted with shorter sessions, specify the old duration.
    let mut told = room(hold(60).longest_session_duration(Duration::from_secs(3_600)));
    told.recover(at(0));
    assert_eq!(*told.enter(id(1), at(4_049)).reason(), Reason::QueuedRecovery);
    pass(told.enter(id(1), at(4_050)));
}

/// Returns ten passes for sessions of an hour, issued before a restart with sessions of a minute.
fn of_before() -> Vec<Pass> {
    (0..10).map(|who| Pass::new(id(who), 0, at(0), at(0), at(4_050))).collect()
}

fn after_a_restart() -> Room {
    let minute = rules(10).session_duration(Duration::from_secs(60)).recovery(Recovery::Pause);
    let mut room = room(minute);
    room.recover(at(1));
    room
}

#[test]
fn showing_an_old_pass_extends_the_hold_for_all_of_its_kind() {
    let mut room = after_a_restart();
    let passes = of_before();
    assert!(matches!(room.renew(&passes[0], at(30)), Renewal::Renew(_)));
    let newcomers = 100..110;
    for who in newcomers.clone() {
        assert_eq!(*room.enter(id(who), at(70)).reason(), Reason::QueuedRecovery);
    }
    for pass in &passes {
        assert!(matches!(room.renew(pass, at(71)), Renewal::Renew(_)));
    }
    assert_eq!(room.snapshot(at(71)).active, 10);
    assert_eq!(*room.enter(id(100), at(4_050)).reason(), Reason::QueuedRecovery);
    newcomers.for_each(|who| _ = pass(room.enter(id(who), at(4_051))));
}

#[test]
fn an_old_pass_shown_after_the_hold_continues_only_with_a_free_slot() {
    let mut room = after_a_restart();
    let passes = of_before();
    (100..106).for_each(|who| _ = pass(room.enter(id(who), at(70))));
    let taken = passes.iter().filter(|pass| room.renew(pass, at(71)) != Renewal::End);
    assert_eq!(taken.count(), 4);
    assert_eq!(room.snapshot(at(71)).active, 10);
}

#[test]
fn a_session_is_extended_by_renewals_and_ended_by_leaving() {
    let mut room = room(rules(1));
    let first = pass(room.enter(id(1), at(0)));
    assert_eq!(first.expires_at, at(90));
    let Renewal::Renew(second) = room.renew(&first, at(50)) else { panic!("not renewed") };
    assert_eq!((second.expires_at, second.accepted_at), (at(140), at(0)));
    room.leave(id(1), at(60));
    assert_eq!(room.renew(&second, at(61)), Renewal::End);
    assert_eq!(room.snapshot(at(61)).active, 0);
}

#[test]
fn a_fixed_session_is_not_extended() {
    let mut room = room(rules(1).session_renewal(SessionRenewal::Fixed));
    let first = pass(room.enter(id(1), at(0)));
    assert_eq!(first.expires_at, at(80));
    let Renewal::Renew(second) = room.renew(&first, at(50)) else { panic!("not renewed") };
    assert_eq!(second.expires_at, at(80));
    assert_eq!(room.renew(&second, at(80)), Renewal::End);
}

#[test]
fn an_old_ticket_does_not_revive_an_ended_session() {
    let mut room = room(rules(1));
    pass(room.enter(id(0), at(0)));
    let old = queue(&mut room, 1, at(1));
    room.leave(id(0), at(2));
    pass(room.check_in(&old, at(3)));
    room.leave(id(1), at(4));
    pass(room.enter(id(2), at(5)));
    let again = ticket(room.check_in(&old, at(6)));
    assert_eq!((again.first_seen, again.placed), (at(6), false));
}

#[test]
fn one_ticket_shown_fifty_times_takes_one_slot() {
    let mut room = room(rules(10).new_users_per_minute(10));
    let first = Ticket::new(id(1), at(0), at(0), at(1));
    for _ in 0..50 {
        pass(room.check_in(&first, at(1)));
    }
    let snapshot = room.snapshot(at(1));
    assert_eq!((snapshot.active, snapshot.new_in_last_minute), (1, 1));
}

#[test]
fn a_full_line_refuses_but_keeps_the_order_of_arrival() {
    let mut room = room(rules(1).line_capacity(1));
    pass(room.enter(id(0), at(0)));
    let first = ticket(room.enter(id(1), at(1)));
    queue(&mut room, 2, at(2));
    let Verdict::Refuse { ticket: Some(kept), reason, .. } = room.check_in(&first, at(3)) else {
        panic!("the line has one place");
    };
    assert_eq!(reason, Reason::RefusedLineFull);
    assert_eq!((kept.first_seen, kept.placed), (at(1), false));
    assert_eq!(room.snapshot(at(3)).waiting, 1);
}

#[test]
fn the_cookie_test_gives_slots_only_to_returning_visitors() {
    let mut room = room(rules(4).cookie_test(CookieTest::AboveUtilization(50)));
    pass(room.enter(id(1), at(0)));
    pass(room.enter(id(2), at(0)));
    let verdict = room.enter(id(3), at(0));
    assert_eq!(*verdict.reason(), Reason::QueuedCookieTest);
    let first = ticket(verdict);
    assert_eq!(first.next_check_in, at(1));
    pass(room.check_in(&first, at(1)));
}

#[test]
fn each_switch_has_its_documented_effect() {
    let open = rules(10);
    let mut room = room(open.clone());
    let inside = pass(room.enter(id(1), at(0)));
    room.configure(open.clone().mode(RoomMode::QueueAll), at(1)).unwrap();
    let verdict = room.enter(id(2), at(1));
    assert_eq!(*verdict.reason(), Reason::QueueAll);
    let waiting = ticket(verdict);
    assert_eq!(ticket(room.check_in(&waiting, at(3))).wait, None);
    assert!(matches!(room.renew(&inside, at(20)), Renewal::Renew(_)));

    room.configure(open.mode(RoomMode::Drain), at(21)).unwrap();
    assert_eq!(*room.enter(id(3), at(21)).reason(), Reason::RefusedDraining);
    pass(room.check_in(&waiting, at(22)));
}

#[test]
fn reject_keeps_no_line_and_passthrough_no_limit() {
    let mut strict = room(rules(1).queueing_method(QueueingMethod::Reject));
    pass(strict.enter(id(1), at(0)));
    let verdict = strict.enter(id(2), at(0));
    assert!(matches!(verdict, Verdict::Refuse { ticket: None, retry_after: None, .. }));

    let mut open = room(rules(1).queueing_method(QueueingMethod::Passthrough));
    for who in 0..10 {
        pass(open.enter(id(who), at(0)));
    }
    assert_eq!(open.snapshot(at(0)).active, 10);
}

#[test]
fn lots_are_drawn_anew_each_minute_and_arrival_order_returns_with_fifo() {
    let random = rules(1).queueing_method(QueueingMethod::Random);
    let mut room = room(random.clone());
    pass(room.enter(id(0), at(0)));
    let tickets: Vec<_> = (1..=20).map(|who| queue(&mut room, who, at(1))).collect();
    assert!(tickets.iter().all(|ticket| ticket.shown_position.is_none()));
    let order = |room: &mut Room| {
        let mut order: Vec<_> = tickets.iter().map(|ticket| ticket.id).collect();
        let draw = room.draw(at(1));
        order.sort_by_key(|&id| room.line.ahead_of(id, draw, at(1)));
        order
    };
    let by_lot = order(&mut room);
    room.configure(rules(1), at(2)).unwrap();
    assert_ne!(by_lot, order(&mut room));
    assert!(order(&mut room).is_sorted());
    // A visitor who checks in now no longer has a lot, even if the line becomes random again.
    ticket(room.check_in(&tickets[0], at(3)));
    room.configure(random, at(4)).unwrap();
    let draw = room.draw(at(4));
    assert!(tickets.iter().all(|ticket| room.line.ahead_of(ticket.id, draw, at(1)) == 0));
}

#[test]
fn new_limits_apply_at_once_and_end_no_session() {
    let mut room = room(rules(3));
    for who in 0..3 {
        pass(room.enter(id(who), at(0)));
    }
    room.configure(rules(1), at(1)).unwrap();
    assert_eq!(room.snapshot(at(1)).active, 3);
    assert_eq!(*room.enter(id(9), at(1)).reason(), Reason::QueuedActiveLimit);
    room.configure(rules(4), at(2)).unwrap();
    pass(room.enter(id(9), at(2)));

    let error = room.configure(RoomRules::new("other", 1), at(3)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "name is \"other\", expected \"shop\", the name of the room in use"
    );
    assert!(room.configure(rules(0), at(3)).is_err());
    assert_eq!(room.rules().total_active_users, 4);
}

#[test]
fn intervals_are_jittered_whole_seconds_up_to_the_refresh_interval() {
    let mut room = room(rules(1).new_users_per_minute(1));
    pass(room.enter(id(0), at(0)));
    let mut seen = std::collections::BTreeSet::new();
    for who in 1..=500 {
        let ticket = queue(&mut room, who, at(1));
        let interval = ticket.retry_after(at(1));
        assert_eq!(interval.subsec_nanos(), 0);
        seen.insert(interval.as_secs());
    }
    assert!(*seen.first().unwrap() >= 2 && *seen.last().unwrap() <= 26);
    assert!(seen.len() > 5, "the intervals are not spread: {seen:?}");
}

#[test]
fn a_ticket_from_the_future_does_not_jump_the_line_or_overflow() {
    let mut room = room(rules(1));
    pass(room.enter(id(0), at(0)));
    let far = Ticket::new(id(1), Timestamp::MAX, Timestamp::MAX, Timestamp::MAX);
    assert_eq!(ticket(room.check_in(&far, at(1))).first_seen, at(1));
    let ancient = Ticket::new(id(2), Timestamp::ZERO, Timestamp::ZERO, Timestamp::ZERO);
    assert_eq!(ticket(room.check_in(&ancient, at(1))).first_seen, at(1));
    let pass = Pass::new(id(3), u32::MAX, Timestamp::MAX, Timestamp::MAX, Timestamp::MAX);
    assert!(matches!(room.renew(&pass, at(1)), Renewal::Renew(_)));
    room.sweep(at(1) + RoomRules::MINUTE);
}

#[test]
fn the_front_checks_in_often_even_if_the_wait_is_unknown() {
    let mut room = room(rules(100));
    for who in 0..100 {
        pass(room.enter(id(who), at(0)));
    }
    let mut waiting = queue(&mut room, 200, at(1));
    for step in 1..40 {
        for who in 0..100 {
            let old = Pass::new(id(who), 0, at(0), at(0), at(90));
            room.renew(&old, at(step * 10));
        }
        waiting = ticket(room.check_in(&waiting, at(step * 10)));
    }
    assert_eq!(waiting.wait, None);
    assert!(waiting.retry_after(at(390)) <= Duration::from_secs(3));
}

#[test]
fn a_place_survives_a_restart_into_a_full_line() {
    let rules = rules(1).line_capacity(1);
    let mut before = room(rules.clone());
    pass(before.enter(id(1), at(0)));
    let placed = queue(&mut before, 2, at(1));

    let mut restarted = room(rules);
    pass(restarted.enter(id(3), at(2)));
    queue(&mut restarted, 4, at(2));
    let kept = ticket(restarted.check_in(&placed, at(3)));
    assert_eq!((kept.first_seen, kept.shown_position), (at(1), Some(1)));
}

#[test]
fn an_end_voids_the_proofs_of_its_own_instant() {
    let mut room = room(rules(1));
    let only = pass(room.enter(id(1), at(0)));
    room.leave(id(1), at(0));
    assert_eq!(room.renew(&only, at(1)), Renewal::End);
}

#[test]
fn an_end_is_remembered_as_long_as_the_pass_would_have_lived() {
    let long = rules(1).session_duration(Duration::from_secs(3_600));
    let mut room = room(long.clone());
    let old = pass(room.enter(id(1), at(0)));
    room.configure(long.session_duration(Duration::from_secs(10)), at(1)).unwrap();
    room.leave(id(1), at(2));
    assert_eq!(room.renew(&old, at(1_000)), Renewal::End);
}

#[test]
fn entering_twice_is_entering_once() {
    let mut room = room(rules(1).new_users_per_minute(5));
    pass(room.enter(id(1), at(0)));
    pass(room.enter(id(1), at(1)));
    let snapshot = room.snapshot(at(1));
    assert_eq!((snapshot.active, snapshot.new_in_last_minute), (1, 1));
}

#[test]
fn an_old_copy_of_a_ticket_neither_costs_the_place_nor_improves_it() {
    let mut room = room(rules(1).session_duration(Duration::from_secs(3_600)));
    pass(room.enter(id(0), at(0)));
    let old = queue(&mut room, 1, at(1));
    let mut newest = old;
    for step in 1..30 {
        newest = ticket(room.check_in(&newest, at(step * 20)));
    }
    assert_eq!(ticket(room.check_in(&old, at(600))).first_seen, at(1));

    // The place lapses and is created again at the back, so the old ticket does not lead to the
    // front.
    let anew = ticket(room.check_in(&newest, at(2_000)));
    assert_eq!(anew.first_seen, at(2_000));
    assert_eq!(ticket(room.check_in(&old, at(2_001))).first_seen, at(2_000));
}

#[test]
fn a_draining_or_rejecting_room_serves_only_its_line() {
    let open = rules(1);
    let mut room = room(open.clone());
    pass(room.enter(id(0), at(0)));
    let first = ticket(room.enter(id(1), at(1)));
    let placed = queue(&mut room, 2, at(1));
    room.configure(open.clone().mode(RoomMode::Drain), at(2)).unwrap();
    assert_eq!(*room.check_in(&first, at(3)).reason(), Reason::RefusedDraining);
    let placed = ticket(room.check_in(&placed, at(3)));

    room.configure(open.queueing_method(QueueingMethod::Reject), at(4)).unwrap();
    assert_eq!(*room.check_in(&first, at(4)).reason(), Reason::RefusedReject);
    room.leave(id(0), at(5));
    assert_eq!(*room.enter(id(3), at(5)).reason(), Reason::RefusedReject);
    pass(room.check_in(&placed, at(6)));
}
