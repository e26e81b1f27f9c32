//! Changes to a schedule while it is in use.

use super::*;

/// A schedule with an event that is not over, at a time before, in or after its prequeue.
fn in_use() -> Schedule {
    schedule([plain("early", 100, 200), doors(), plain("late", 3_000, 4_000)])
}

#[track_caller]
fn refused(event: Event, now: u64, kind: ConfigErrorKind, message: &str) {
    let mut schedule = in_use();
    let before = schedule.clone();
    assert_refused(schedule.change(event, at(now)), kind, message);
    assert_eq!(schedule, before, "a refused change has no effect");
}

#[track_caller]
fn accepted(event: Event, now: u64) -> Schedule {
    let mut schedule = in_use();
    schedule.change(event.clone(), at(now)).unwrap();
    assert_eq!(schedule.event(&event.name), Some(&event));
    assert_eq!(schedule.advance(at(0)), at(now), "the schedule has been told the time");
    schedule
}

#[test]
fn an_event_that_has_not_begun_may_change_entirely_but_not_begin_in_the_past() {
    let moved = Event::new("doors", at(2_200), at(2_500)).limits(9, None);
    accepted(moved, 499);
    accepted(doors().prequeue_start(at(300)).shuffle_at_start(commitment(2)), 300);
    refused(
        doors().prequeue_start(at(300)),
        301,
        Contradicts,
        "prequeue_start is 1970-01-01T00:05:00Z in event \"doors\", \
         expected at or after the current time, 1970-01-01T00:05:01Z",
    );
}

#[test]
fn a_wrong_value_in_a_field_of_an_event_is_refused() {
    let mut event = doors();
    event.end = event.start;
    let message = "end is 1970-01-01T00:16:40Z in event \"doors\", \
                   expected after its start, 1970-01-01T00:16:40Z";
    refused(event.clone(), 0, Contradicts, message);
    assert_refused(Schedule::new([event]), Contradicts, message);
}

#[test]
fn the_start_of_an_event_may_move_during_its_prequeue() {
    accepted(doors().start(at(1_900)), 700);
    let early = accepted(doors().start(at(700)), 700);
    assert!(matches!(early.phase_at(at(700)), Phase::Active { .. }));
    refused(
        doors().start(at(699)),
        700,
        Contradicts,
        "start is 1970-01-01T00:11:39Z in event \"doors\", \
         expected at or after the current time, 1970-01-01T00:11:40Z",
    );
}

#[test]
fn a_prequeue_and_a_draw_are_fixed_once_the_prequeue_has_begun() {
    let message = |given: &str| {
        format!(
            "shuffle_at_start is {given}, expected {}, because event \"doors\" has begun",
            "01".repeat(32)
        )
    };
    for now in [500, 1_500] {
        let other = doors().shuffle_at_start(commitment(2));
        refused(other, now, Contradicts, &message(&"02".repeat(32)));
        refused(doors().shuffle_at_start(None), now, Contradicts, &message("absent"));
        refused(
            doors().prequeue_start(at(600)),
            now,
            Contradicts,
            "prequeue_start is 1970-01-01T00:10:00Z, expected 1970-01-01T00:08:20Z, \
             because event \"doors\" has begun",
        );
    }
}

#[test]
fn an_active_event_may_be_shortened_or_extended() {
    let longer = accepted(doors().end(at(2_900)), 1_500);
    assert!(matches!(longer.phase_at(at(2_500)), Phase::Active { .. }));
    let over = accepted(doors().end(at(1_500)), 1_500);
    assert!(
        matches!(over.phase_at(at(1_500)), Phase::Before { event, .. } if event.name == "late")
    );
    refused(
        doors().end(at(1_499)),
        1_500,
        Contradicts,
        "end is 1970-01-01T00:24:59Z in event \"doors\", \
         expected at or after the current time, 1970-01-01T00:25:00Z",
    );
    refused(
        doors().end(at(3_001)),
        1_500,
        Contradicts,
        "start is 1970-01-01T00:50:00Z in event \"late\", \
         expected at or after the end of event \"doors\", 1970-01-01T00:50:01Z",
    );
}

#[test]
fn the_start_of_an_active_event_is_fixed() {
    for start in [900, 1_001, 1_600] {
        let message = format!(
            "start is {}, expected 1970-01-01T00:16:40Z, because event \"doors\" has begun",
            at(start),
        );
        refused(doors().start(at(start)), 1_500, Contradicts, &message);
    }
}

#[test]
fn overrides_of_an_active_event_may_change() {
    let schedule = accepted(doors().limits(7, 3).session_duration(secs(60)), 1_500);
    let rules = schedule.rules_at(at(1_500), &base());
    assert_eq!((rules.total_active_users, rules.new_users_per_minute), (7, Some(3)));
}

#[test]
fn an_event_that_is_over_does_not_change() {
    refused(
        doors().end(at(2_900)),
        2_000,
        Contradicts,
        "end is 1970-01-01T00:48:20Z in event \"doors\", \
         expected unchanged, because the event has been over since, 1970-01-01T00:33:20Z",
    );
    let mut schedule = in_use();
    let all = [plain("early", 100, 200), doors(), plain("late", 3_000, 3_500)];
    schedule.replace(all, at(2_500)).unwrap();
    assert_eq!(schedule.event("late").unwrap().end, at(3_500));
}

#[test]
fn a_change_is_judged_by_the_latest_time_and_not_by_a_clock_that_is_set_back() {
    let mut schedule = in_use();
    schedule.advance(at(1_500));
    assert!(schedule.change(doors().start(at(1_200)), at(900)).is_err());
    assert!(schedule.change(doors().end(at(1_400)), at(900)).is_err());
    schedule.change(doors().end(at(1_600)), at(900)).unwrap();
    assert_eq!(schedule.advance(at(0)), at(1_500));
}

#[test]
fn an_event_is_added_in_the_future_and_removed_at_any_time() {
    let mut schedule = in_use();
    schedule.add(plain("more", 2_100, 2_200), at(2_100)).unwrap();
    assert!(
        matches!(schedule.phase_at(at(2_100)), Phase::Active { event, .. } if event.name == "more")
    );
    assert_refused(
        schedule.add(plain("past", 2_300, 2_400), at(2_301)),
        Contradicts,
        "start is 1970-01-01T00:38:20Z in event \"past\", \
         expected at or after the current time, 1970-01-01T00:38:21Z",
    );
    assert_eq!(schedule.remove("late", at(3_500)).unwrap().name, "late");
    assert_eq!(schedule.phase_at(at(3_500)), Phase::Over);
    let unknown = "name is \"late\", expected the name of an event of this room";
    assert_refused(schedule.remove("late", at(3_500)), Missing, unknown);
    assert_refused(schedule.change(plain("late", 9_000, 9_500), at(3_500)), Missing, unknown);
    assert!(in_use().add(doors(), at(0)).is_err(), "the name is taken");
}

#[test]
fn a_prequeue_that_is_cancelled_leaves_the_rooms_own_rules() {
    let mut schedule = in_use();
    schedule.remove("doors", at(700)).unwrap();
    assert_eq!(schedule.rules_at(at(700), &base()), base());
    assert_eq!(schedule.next_change(at(700)), Some(at(3_000)));
}

#[test]
fn a_restart_in_the_middle_of_an_event_continues_it() {
    let running = in_use();
    assert!(matches!(running.phase_at(at(1_500)), Phase::Active { .. }));
    // The same list is read again from the file after the start.
    let mut running = running;
    running.replace([doors(), plain("late", 3_000, 4_000)], at(1_500)).unwrap();
    assert!(matches!(running.phase_at(at(1_500)), Phase::Active { .. }));
}

#[test]
fn a_starting_node_changes_only_events_that_have_not_begun() {
    let mut schedule = in_use();
    let moved = doors().prequeue_start(at(600));
    let before = schedule.clone();
    assert_refused(
        schedule.follow_release(&super::schedule([moved]), at(700)),
        Contradicts,
        "prequeue_start is 1970-01-01T00:10:00Z, expected 1970-01-01T00:08:20Z, \
         because event \"doors\" has begun",
    );
    assert_refused(
        schedule.follow_release(&super::schedule([plain("other", 1_900, 2_100)]), at(700)),
        Contradicts,
        "start is 1970-01-01T00:31:40Z in event \"other\", \
         expected at or after the end of event \"doors\", 1970-01-01T00:33:20Z",
    );
    assert_eq!(schedule, before, "a refused release has no effect");
    // An event that has begun stays. All other events are those of the release, even if they have
    // begun.
    schedule.follow_release(&super::schedule([plain("past", 10, 90)]), at(700)).unwrap();
    let names: Vec<_> = schedule.events().iter().map(|event| &event.name).collect();
    assert_eq!(names, ["past", "doors"]);
    assert_eq!(schedule.event("doors"), Some(&doors()));
    // An event that is over can be scheduled again.
    let again = doors().start(at(9_000)).end(at(9_500)).prequeue_start(at(8_000));
    schedule.follow_release(&super::schedule([again.clone()]), at(2_600)).unwrap();
    assert_eq!(schedule.events(), [again]);
}
