use std::sync::Arc;

use tokio::time::Instant;
use tower_waiting_room::time::ManualClock;
use waiting_room_sim::{Seen, ShownPosition};

use super::*;
use crate::{
    answer::Basis,
    flight::Flight,
    trips::{Purpose, Unextended},
};

const WAIT: Seen = Seen::Waiting {
    interval: Duration::from_secs(2),
    waiting_since: None,
    position: ShownPosition::None,
    returned_ticket: false,
};

fn witness() -> Arc<Witness> {
    Arc::new(Witness::new(Limits {
        total_active_users: 1,
        new_users_per_minute: None,
        session_duration: Duration::from_secs(60),
        place_retention: Duration::from_secs(300),
        refresh_interval: Duration::from_secs(20),
    }))
}

fn departs(witness: &Arc<Witness>, number: u64) -> Flight {
    Flight::departs(witness, VisitorNo(number), Purpose::GetIn)
}

#[test]
fn waiting_at_an_empty_room_is_excused_only_while_the_store_is_away() {
    for (is_away, early) in [(true, 0), (false, 1)] {
        let witness = witness();
        if is_away {
            witness.store_may_be_away();
        }
        departs(&witness, 1).answered(WAIT);
        assert_eq!(witness.report().queued_while_free, early);
    }
}

#[test]
fn an_answer_that_is_not_a_decision_proves_nothing_about_the_store() {
    for (basis, early) in [(Basis::Outage, 0), (Basis::Overload, 0), (Basis::Decision, 1)] {
        let witness = witness();
        let mut flight = departs(&witness, 1);
        flight.is_based_on(basis);
        flight.answered(WAIT);
        assert_eq!(witness.report().queued_while_free, early, "{basis:?}");
    }
}

#[test]
fn a_request_that_leaves_in_an_outage_is_in_doubt_until_its_answer() {
    let witness = witness();
    witness.store_may_be_away();
    let late = departs(&witness, 1);
    witness.store_is_back(None);
    late.answered(WAIT);
    assert_eq!(witness.report().queued_while_free, 0);
    // The first visitor may have taken the slot, so the second one is not told to wait too early.
    departs(&witness, 2).answered(WAIT);
    assert_eq!(witness.report().queued_while_free, 0);
}

#[test]
fn a_disturbance_is_over_after_a_while_without_reports() {
    let at = Timestamp::from_secs;
    let mut trouble = Trouble { healed_at: Some(at(100)), ..Trouble::default() };
    for (secs, last) in [(101, 101), (106, 106), (112, 106), (113, 106)] {
        trouble.was_undecided(at(secs));
        assert_eq!(trouble.last_undecided_at, Some(at(last)), "after {secs} s");
    }
}

#[test]
fn admissions_are_told_apart_by_disturbance_and_waits_are_not() {
    let witness = witness();
    let let_in = |number| departs(&witness, number).answered(Seen::Admitted);
    let_in(1);
    departs(&witness, 2).answered(WAIT);
    witness.trouble_begins();
    (3..=4).for_each(let_in);
    Flight::departs(&witness, VisitorNo(4), Purpose::GoOn).answered(Seen::Admitted);
    witness.trouble_is_over();
    (5..=7).for_each(let_in);
    let Admissions { before, meanwhile, after } = witness.admissions();
    assert_eq!((before, meanwhile, after), (1, 2, 3));
}

#[test]
fn a_room_that_starts_over_may_hold_as_long_as_it_states() {
    let witness = witness();
    witness.store_is_back(Some(Duration::from_secs(60)));
    departs(&witness, 1).answered(WAIT);
    assert_eq!(witness.report().queued_while_free, 0);
}

#[test]
fn a_pass_lasts_for_a_session_unless_the_node_reports_a_late_store() {
    for (told, interrupted) in [("0 0 0 0", 1), ("1 1 1 0", 1), ("1 0 0 0", 0), ("1 1 0 1", 0)] {
        let witness = witness();
        let clock = ManualClock::new(Timestamp::from_secs(1_000));
        witness.lock().clock = Arc::new(clock.clone());
        departs(&witness, 1).answered(Seen::Admitted);
        clock.advance(Duration::from_secs(40));
        let go_on = || Flight::departs(&witness, VisitorNo(1), Purpose::GoOn);
        let mut flight = go_on();
        let calls = told.parse().unwrap();
        let mut unextended = Unextended::none(Duration::from_secs(67));
        let now = Instant::now();
        flight.made(false, calls, unextended.promises_session(calls, now, now));
        flight.answered(Seen::Admitted);
        clock.advance(Duration::from_secs(40));
        go_on().answered(WAIT);
        assert_eq!(witness.passes_interrupted(), interrupted, "{told}");
    }
}
