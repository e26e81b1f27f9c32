//! Tests of the judge.

use super::*;

/// Two slots, three new visitors per minute, and news that take a second.
fn truth() -> Truth {
    let limits = Limits { total_active_users: 2, new_users_per_minute: 3, session: 60 };
    Truth::new(limits, 600_000, 1_000)
}

/// The number of visitors who have to wait too early when one arrives at `now`.
fn early(truth: &mut Truth, now: u32) -> u64 {
    let before = truth.seen.early.queued;
    truth.queue(now, false, now);
    truth.seen.early.queued - before
}

#[test]
fn waiting_while_a_slot_is_free_is_waiting_too_early() {
    let mut truth = truth();
    truth.admit(0, false, 0);
    assert_eq!(early(&mut truth, 10), 1);
    assert_eq!(truth.seen.early.first, Some(0.5));
    truth.admit(20, false, 20);
    assert_eq!(early(&mut truth, 30), 0);
    assert_eq!((truth.seen.queued, truth.seen.max_active), (2, 2));
}

#[test]
fn a_slot_for_a_visitor_ahead_is_not_free() {
    let mut truth = truth();
    truth.queue(5_000, true, 5_000);
    assert_eq!(early(&mut truth, 6_000), 1);
    truth.queue(5_500, true, 6_000);
    assert_eq!(early(&mut truth, 7_000), 0);
    truth.give_up(5_000, 8_000);
    assert_eq!(early(&mut truth, 9_000), 1);
    truth.stand();
    assert_eq!(early(&mut truth, 9_100), 0);
    truth.decided();
    assert_eq!(early(&mut truth, 9_200), 1);
}

#[test]
fn a_slot_that_has_just_become_free_is_not_known_far_away() {
    let mut truth = truth();
    (0..2).for_each(|_| truth.admit(0, false, 0));
    truth.lapse(10_000);
    assert_eq!(early(&mut truth, 10_999), 0);
    assert_eq!(early(&mut truth, 11_000), 1);
}

/// A slot that became free recently must not hide another one that was free all the time.
#[test]
fn a_slot_that_was_reused_takes_nothing_from_one_that_was_always_free() {
    let mut truth = truth();
    truth.admit(0, false, 0);
    truth.lapse(70_000);
    truth.admit(70_100, false, 70_100);
    // One of the two slots was free throughout, and the other one was reused.
    assert_eq!(early(&mut truth, 70_200), 1);
    truth.admit(70_300, false, 70_300);
    truth.lapse(70_400);
    assert_eq!(early(&mut truth, 70_500), 0);
    assert_eq!(early(&mut truth, 71_400), 1);
}

#[test]
fn the_end_of_an_exhausted_minute_is_not_known_far_away() {
    let mut truth = truth();
    for at in [0, 500, 900] {
        truth.admit(at, false, at);
        truth.lapse(at + 100);
    }
    assert_eq!((early(&mut truth, 60_999), early(&mut truth, 61_000)), (0, 1));
}

#[test]
fn stranded_slots_are_not_free_until_some_time_after_their_recovery() {
    let mut truth = truth();
    truth.strand(Stranded { active: 2, new: 0 }, 100);
    assert_eq!((early(&mut truth, 200), truth.seen.stranded_at_end), (0, 2));
    truth.strand(Stranded { active: 0, new: 0 }, 5_000);
    assert_eq!(truth.seen.stranded_at_end, 0);
    assert_eq!((early(&mut truth, 5_500), early(&mut truth, 6_000)), (0, 1));
    assert_eq!((truth.seen.max_stranded, truth.seen.last_stranded), (2, Some(100)));
}

#[test]
fn the_minute_slides() {
    let mut truth = truth();
    for at in [30_000, 59_000, 61_000] {
        truth.admit(at, false, at);
        truth.lapse(at + 500);
    }
    assert_eq!((truth.free(70_000), truth.recent(70_000)), (0, 3));
    assert_eq!((truth.free(90_000), truth.recent(90_000)), (1, 2));
    assert_eq!(truth.seen.max_new_in_60_s, 3);
}

#[test]
fn the_excess_and_the_idle_slots_are_summed_up() {
    let mut truth = truth();
    (0..3).for_each(|_| truth.admit(0, false, 0));
    truth.lapse(2_000);
    assert_eq!(truth.seen.overshoot_ms, 2_000);
    // A slot is free from the fourth second on, but the minute is used up until the sixtieth.
    truth.queue(3_000, true, 3_000);
    truth.lapse(4_000);
    truth.advance(61_000);
    assert_eq!(truth.seen.early_slot_ms, 1_000);
}

#[test]
fn entering_before_a_visitor_of_an_earlier_second_is_an_inversion() {
    let mut truth = truth();
    truth.queue(1_000, true, 1_000);
    truth.queue(9_000, true, 9_000);
    truth.admit(9_000, true, 20_000);
    assert_eq!((truth.seen.inversions, truth.seen.worst_inversion_s), (1, 8));
    truth.admit(1_000, true, 21_000);
    assert_eq!((truth.seen.inversions, truth.line().waiting()), (1, 0));
}
