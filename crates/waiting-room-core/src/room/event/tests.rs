use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::{
    ConfigError, RoomRules, Timestamp,
    error::ConfigErrorKind::{self, Contradicts, Malformed, Missing, TooLarge, TooSmall},
    room::{QueueingMethod, RoomMode, SessionRenewal, SettingValue},
};

mod changes;
#[cfg(feature = "lottery")]
mod lottery;

fn at(secs: u64) -> Timestamp {
    Timestamp::from_secs(secs)
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn base() -> RoomRules {
    RoomRules::new("shop", 200).new_users_per_minute(50)
}

/// An event from 1000 s to 2000 s, with a prequeue from 500 s and a draw.
fn doors() -> Event {
    Event::new("doors", at(1_000), at(2_000))
        .prequeue_start(at(500))
        .shuffle_at_start(commitment(1))
}

/// An event without a prequeue.
fn plain(name: &str, start: u64, end: u64) -> Event {
    Event::new(name, at(start), at(end))
}

fn schedule(events: impl IntoIterator<Item = Event>) -> Schedule {
    Schedule::new(events).unwrap()
}

fn commitment(byte: u8) -> Commitment {
    Commitment::new([byte; 32])
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(
    result: Result<T, ConfigError>,
    kind: ConfigErrorKind,
    message: &str,
) {
    let error = result.unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (kind, message));
    assert!(message.starts_with(error.field()));
}

#[cfg(all(feature = "lottery", feature = "serde"))]
#[test]
fn a_record_keeps_all_of_a_schedule_and_shows_no_seed() {
    let events = [
        Event::new("doors", at(1_000), at(2_000)).prequeue_start(at(500)).limits(9, 3),
        plain("encore", 2_000, 3_000)
            .session_duration(secs(60))
            .session_renewal(SessionRenewal::Fixed)
            .queueing_method(QueueingMethod::Random),
    ];
    let original = schedule(events).with_seed("shop", "doors", Seed::new([7; 32])).unwrap();
    let record = ScheduleRecord::from(&original);
    assert_eq!(format!("{record:?}"), "ScheduleRecord { .. }");
    assert_eq!(record.clone().into_schedule("shop").unwrap(), original);
    // The seed is for another room, so it has another commitment.
    assert!(record.into_schedule("club").is_err());
}

#[test]
fn an_event_that_ends_before_it_starts_is_refused_with_both_times() {
    assert_refused(
        plain("doors", 2_000, 1_000).validate(),
        Contradicts,
        "end is 1970-01-01T00:16:40Z in event \"doors\", expected after its start, 1970-01-01T00:33:20Z",
    );
    assert_refused(
        plain("doors", 2_000, 2_000).validate(),
        Contradicts,
        "end is 1970-01-01T00:33:20Z in event \"doors\", expected after its start, 1970-01-01T00:33:20Z",
    );
}

#[test]
fn an_event_that_is_too_short_or_too_long_is_refused() {
    let half_a_second = Event::new("doors", at(1_000), Timestamp::from_millis(1_000_500));
    assert_refused(
        half_a_second.validate(),
        TooSmall,
        "end is 0.5 s from the start of event \"doors\", expected at least 1 s",
    );
    assert_refused(
        plain("doors", 0, 31_622_401).validate(),
        TooLarge,
        "end is 31622401 s from the start of event \"doors\", expected at most 31622400 s",
    );
    assert!(plain("doors", 0, 1).validate().is_ok());
    assert!(plain("doors", 0, 31_622_400).validate().is_ok());
}

#[test]
fn a_prequeue_after_the_start_or_too_close_to_it_is_refused() {
    let with_prequeue = |start| doors().prequeue_start(at(start)).validate();
    assert_refused(
        with_prequeue(1_000),
        Contradicts,
        "prequeue_start is 1970-01-01T00:16:40Z in event \"doors\", \
         expected before its start, 1970-01-01T00:16:40Z",
    );
    assert_refused(
        with_prequeue(991),
        TooSmall,
        "prequeue_start is 9 s from the start of event \"doors\", expected at least 10 s",
    );
    assert!(with_prequeue(990).is_ok());
    let week = 7 * 24 * 60 * 60;
    assert_refused(
        plain("doors", week + 1, week + 9).prequeue_start(at(0)).validate(),
        TooLarge,
        "prequeue_start is 604801 s from the start of event \"doors\", expected at most 604800 s",
    );
}

#[test]
fn a_draw_without_a_prequeue_or_under_a_method_that_ignores_it_is_refused() {
    let digits = "01".repeat(32);
    assert_refused(
        doors().prequeue_start(None).validate(),
        Contradicts,
        &format!(
            "shuffle_at_start is {digits}, \
             expected absent, because event \"doors\" has no prequeue_start"
        ),
    );
    assert_refused(
        doors().queueing_method(QueueingMethod::Random).validate(),
        Contradicts,
        "queueing_method is Random in event \"doors\", \
         expected Fifo, because of its shuffle_at_start",
    );
    assert_refused(
        doors().shuffle_at_start(None).queueing_method(QueueingMethod::Reject).validate(),
        Contradicts,
        "queueing_method is Reject in event \"doors\", \
         expected a method with a line, because of its prequeue_start",
    );
    // An inherited method is checked with the rules that it is inherited from.
    let inherits = schedule([doors()]);
    assert!(inherits.check_with(&base()).is_ok());
    let rejecting = base().queueing_method(QueueingMethod::Reject);
    assert!(inherits.check_with(&rejecting).is_err());
    let own = schedule([doors().queueing_method(QueueingMethod::Fifo)]);
    assert!(own.check_with(&rejecting).is_ok());
}

#[test]
fn each_wrong_override_is_refused_by_name_and_value() {
    let event = || plain("doors", 1_000, 2_000);
    let cases = [
        (event().limits(0, None), TooSmall, "total_active_users is 0, expected at least 1"),
        (
            event().limits(10_000_001, None),
            TooLarge,
            "total_active_users is 10000001, expected at most 10000000",
        ),
        (event().limits(1, 0), TooSmall, "new_users_per_minute is 0, expected at least 1"),
        (
            event().overriding(
                RoomRules::setting("new_users_per_minute").unwrap(),
                SettingValue::Count(50),
            ),
            Contradicts,
            "new_users_per_minute is 50, expected absent in event \"doors\", which has no \
             total_active_users: override both limits or neither",
        ),
        (
            event().session_duration(secs(86_401)),
            TooLarge,
            "session_duration is 86401 s, expected at most 86400 s",
        ),
        (
            plain("the doors", 1_000, 2_000),
            Malformed,
            "name is \"the doors\", expected letters, digits, '-' and '_' only",
        ),
    ];
    for (event, kind, message) in cases {
        assert_refused(event.validate(), kind, message);
    }
}

#[test]
fn two_events_that_overlap_are_refused_and_both_are_named() {
    assert_refused(
        Schedule::new([plain("late", 1_999, 3_000), doors()]),
        Contradicts,
        "start is 1970-01-01T00:33:19Z in event \"late\", \
         expected at or after the end of event \"doors\", 1970-01-01T00:33:20Z",
    );
    // A prequeue must not overlap with another event either.
    assert_refused(
        Schedule::new([doors(), plain("early", 100, 600)]),
        Contradicts,
        "prequeue_start is 1970-01-01T00:08:20Z in event \"doors\", \
         expected at or after the end of event \"early\", 1970-01-01T00:10:00Z",
    );
    assert_refused(
        Schedule::new([plain("doors", 1, 2), plain("b", 3, 4), plain("doors", 5, 6)]),
        Contradicts,
        "name is \"doors\" for two events, expected a different name for each event",
    );
    let adjacent = schedule([plain("late", 2_000, 3_000), doors(), plain("early", 100, 500)]);
    let names: Vec<_> = adjacent.events().iter().map(|event| &event.name).collect();
    assert_eq!(names, ["early", "doors", "late"]);
}

#[test]
fn more_events_than_permitted_are_refused() {
    let events = |count| (0..count).map(|n| plain(&format!("e{n}"), n * 10, n * 10 + 5));
    assert_eq!(schedule(events(64)).events().len(), Schedule::MAX_EVENTS);
    let message = "events is a longer list, expected at most 64";
    assert_refused(Schedule::new(events(65)), TooLarge, message);
    assert_refused(Schedule::new(events(u64::MAX / 10)), TooLarge, message);
    let mut full = schedule(events(64));
    assert_refused(full.add(plain("more", 10_000, 20_000), at(0)), TooLarge, message);
}

#[test]
fn an_event_overrides_its_own_values_and_inherits_the_rest() {
    let event = plain("doors", 1_000, 2_000)
        .limits(500, None)
        .session_duration(secs(60))
        .session_renewal(SessionRenewal::Fixed)
        .queueing_method(QueueingMethod::Random);
    let expected = base()
        .total_active_users(500)
        .new_users_per_minute(None)
        .session_duration(secs(60))
        .session_renewal(SessionRenewal::Fixed)
        .queueing_method(QueueingMethod::Random);
    assert_eq!(event.rules(&base()), expected);
    // An inherited rule follows the room, and all other rules are inherited.
    let live = base().total_active_users(7).line_capacity(9).mode(RoomMode::Drain);
    assert_eq!(plain("doors", 1_000, 2_000).rules(&live), live);
    assert_eq!(event.rules(&live), expected.line_capacity(9).mode(RoomMode::Drain));
    assert_eq!(schedule([event]).longest_session_duration(), Some(secs(60)));
}

#[test]
fn phases_begin_and_end_at_the_exact_instant() {
    let schedule = schedule([doors(), plain("late", 3_000, 4_000)]);
    let doors = schedule.event("doors").unwrap();
    let late = schedule.event("late").unwrap();
    let just_before = |secs| at(secs).before(Duration::from_nanos(1));
    let nano = Duration::from_nanos(1);
    for (time, phase) in [
        (at(0), Phase::Before { event: doors, begins_in: secs(500) }),
        (just_before(500), Phase::Before { event: doors, begins_in: nano }),
        (at(500), Phase::Prequeue { event: doors, starts_in: secs(500) }),
        (just_before(1_000), Phase::Prequeue { event: doors, starts_in: nano }),
        (at(1_000), Phase::Active { event: doors, ends_in: secs(1_000) }),
        (just_before(2_000), Phase::Active { event: doors, ends_in: nano }),
        (at(2_000), Phase::Before { event: late, begins_in: secs(1_000) }),
        (at(3_000), Phase::Active { event: late, ends_in: secs(1_000) }),
        (at(4_000), Phase::Over),
        (Timestamp::MAX, Phase::Over),
    ] {
        assert_eq!(schedule.phase_at(time), phase, "{time:?}");
    }
    let changes = std::iter::successors(Some(Timestamp::ZERO), |at| schedule.next_change(*at));
    let changes: Vec<_> = changes.skip(1).collect();
    assert_eq!(changes, [500, 1_000, 2_000, 3_000, 4_000].map(at));
    assert_eq!(Schedule::default().phase_at(at(0)), Phase::Over);
    assert_eq!(Schedule::default().next_change(at(0)), None);
}

#[test]
fn no_visitor_is_admitted_in_the_prequeue_and_an_operators_mode_comes_first() {
    let schedule = schedule([doors().limits(500, 100)]);
    let during = |time, mode| schedule.rules_at(at(time), &base().mode(mode));
    let prequeue = during(500, RoomMode::Auto);
    assert_eq!((prequeue.mode, prequeue.total_active_users), (RoomMode::QueueAll, 500));
    assert_eq!(during(1_000, RoomMode::Auto).mode, RoomMode::Auto);
    assert_eq!(during(2_000, RoomMode::Auto), base());
    for mode in [RoomMode::Drain, RoomMode::QueueAll, RoomMode::Suspended] {
        for time in [0, 500, 1_000, 2_000] {
            assert_eq!(during(time, mode).mode, mode);
        }
    }
}

#[test]
fn a_clock_that_is_set_back_over_a_start_does_not_unstart_the_event() {
    let mut schedule = schedule([doors()]);
    assert_eq!(schedule.advance(at(1_500)), at(1_500));
    assert_eq!(schedule.advance(at(900)), at(1_500));
    let active = |ends_in| Phase::Active { event: &schedule.events()[0], ends_in: secs(ends_in) };
    for time in [0, 499, 500, 999, 1_500] {
        assert_eq!(schedule.phase_at(at(time)), active(500), "at {time}");
        assert_eq!(schedule.rules_at(at(time), &base()).mode, RoomMode::Auto);
        assert_eq!(schedule.next_change(at(time)), Some(at(2_000)));
    }
    assert_eq!(schedule.phase_at(at(1_600)), active(400));
    // An event that is over does not begin again.
    schedule.advance(at(2_000));
    assert_eq!(schedule.phase_at(at(1_500)), Phase::Over);
}

#[test]
fn a_clock_that_jumps_over_a_start_starts_the_event_at_once() {
    let mut schedule = schedule([doors(), plain("late", 3_000, 4_000)]);
    schedule.advance(at(100));
    schedule.advance(at(1_200));
    assert!(
        matches!(schedule.phase_at(at(1_200)), Phase::Active { event, .. } if event.name == "doors")
    );
    // A jump over a whole event skips it.
    schedule.advance(at(3_500));
    assert!(
        matches!(schedule.phase_at(at(3_500)), Phase::Active { event, .. } if event.name == "late")
    );
}

#[test]
fn a_commitment_is_read_only_from_64_digits() {
    let digits = "00ff7e".to_owned() + &"a5".repeat(29);
    let commitment: Commitment = digits.to_uppercase().parse().unwrap();
    assert_eq!(commitment.to_string(), digits);
    assert_eq!(Commitment::new(*commitment.as_bytes()), commitment);
    for wrong in ["", "0f", &digits[1..], &"g".repeat(64), &"é".repeat(32), &"+1".repeat(32)] {
        let error = wrong.parse::<Commitment>().unwrap_err();
        assert_eq!(error.kind(), Malformed);
    }
    assert!("f".repeat(1 << 20).parse::<Commitment>().unwrap_err().to_string().len() < 200);
}

/// Lists of events between 0 and 400 s, most of which overlap.
fn events() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    prop::collection::vec((0..300u64, prop_oneof![Just(0), 10..40u64], 1..60u64), 0..6)
}

/// Returns the kind of a phase, and its event.
fn state(phase: Phase<'_>) -> (&'static str, Option<&str>) {
    match phase {
        Phase::Active { event, .. } => ("active", Some(&event.name)),
        Phase::Before { event, .. } => ("before", Some(&event.name)),
        Phase::Over => ("over", None),
        Phase::Prequeue { event, .. } => ("prequeue", Some(&event.name)),
    }
}

fn event_of(index: usize, (begin, prequeue, length): (u64, u64, u64)) -> Event {
    let start = begin + prequeue;
    Event::new(format!("e{index}"), at(start), at(start + length))
        .prequeue_start((prequeue > 0).then_some(at(begin)))
        .limits(1_000 + u32::try_from(index).unwrap(), None)
}

proptest! {
    #[test]
    fn a_schedule_agrees_with_a_list_of_seconds(times in events(), steps in prop::collection::vec(0..400u64, 1..20)) {
        // The naive schedule says for each second which event is in its prequeue or active.
        let mut seconds = [None; 400];
        let mut is_free = true;
        for (index, &(begin, prequeue, length)) in times.iter().enumerate() {
            for second in begin..begin + prequeue + length {
                let state = (index, second >= begin + prequeue);
                is_free &= seconds[usize::try_from(second).unwrap()].replace(state).is_none();
            }
        }
        let events = times.iter().enumerate().map(|(index, &times)| event_of(index, times));
        let result = Schedule::new(events);
        prop_assert_eq!(result.is_ok(), is_free);
        let Ok(mut schedule) = result else { return Ok(()) };
        let mut latest = 0;
        for now in steps {
            latest = latest.max(now);
            prop_assert_eq!(schedule.advance(at(now)), at(latest));
            // A look into the future does not move the schedule.
            for second in (0..400u64).step_by(7) {
                let expected = seconds[usize::try_from(latest.max(second)).unwrap()];
                let (kind, name) = state(schedule.phase_at(at(second)));
                let rules = schedule.rules_at(at(second), &base());
                prop_assert_eq!(rules == base(), expected.is_none());
                match expected {
                    None => prop_assert!(kind == "before" || kind == "over"),
                    Some((index, is_active)) => {
                        prop_assert_eq!(kind, if is_active { "active" } else { "prequeue" });
                        let expected = format!("e{index}");
                        prop_assert_eq!(name, Some(expected.as_str()));
                        prop_assert_eq!(rules.mode == RoomMode::QueueAll, !is_active);
                        let limit = 1_000 + u32::try_from(index).unwrap();
                        prop_assert_eq!(rules.total_active_users, limit);
                    }
                }
                prop_assert!(rules.validate().is_ok());
            }
        }
    }

    #[test]
    fn the_phase_changes_exactly_at_the_changes(times in events(), from in 0..400u64) {
        let events = times.iter().enumerate().map(|(index, &times)| event_of(index, times));
        let Ok(schedule) = Schedule::new(events) else { return Ok(()) };
        let state = |time| state(schedule.phase_at(time));
        match schedule.next_change(at(from)) {
            None => prop_assert_eq!(schedule.phase_at(at(from)), Phase::Over),
            Some(change) => {
                prop_assert!(change > at(from));
                prop_assert_eq!(state(change.before(Duration::from_nanos(1))), state(at(from)));
                prop_assert_ne!(state(change), state(at(from)));
            }
        }
    }
}
