use std::time::Duration;

use waiting_room_core::Timestamp;

use super::{AlarmKind, Limits, Oracle, Report, Seen, ShownPosition, VisitorNo};

/// Visitors in front of a room whose answers the test chooses. Times are milliseconds.
struct Scene(Oracle);

const ADMITTED: Seen = Seen::Admitted;
const INTERVAL: u64 = 20_000;

fn at(ms: u64) -> Timestamp {
    Timestamp::from_secs(1_000_000) + Duration::from_millis(ms)
}

fn limits(slots: u32, minute: Option<u32>) -> Limits {
    Limits {
        total_active_users: slots,
        new_users_per_minute: minute,
        session_duration: Duration::from_secs(60),
        place_retention: Duration::from_secs(300),
        refresh_interval: Duration::from_secs(20),
    }
}

/// The answer to a first touch.
const fn first() -> Seen {
    Seen::Waiting {
        interval: Duration::from_millis(INTERVAL),
        waiting_since: None,
        position: ShownPosition::None,
        returned_ticket: false,
    }
}

/// The answer to a visitor with a ticket.
fn waits(since: u64, position: u32) -> Seen {
    Seen::Waiting {
        interval: Duration::from_millis(INTERVAL),
        waiting_since: Some(at(since)),
        position: ShownPosition::Exact(position),
        returned_ticket: true,
    }
}

/// The answer to a new visitor.
fn waits_without_ticket(since: u64) -> Seen {
    Seen::Waiting {
        interval: Duration::from_millis(INTERVAL),
        waiting_since: Some(at(since)),
        position: ShownPosition::Approximate,
        returned_ticket: false,
    }
}

impl Scene {
    fn new(slots: u32, minute: Option<u32>) -> Self {
        Self(Oracle::new(limits(slots, minute)))
    }

    /// Sends a request that is answered without delay.
    fn ask(&mut self, visitor: u64, ms: u64, seen: Seen) {
        self.sent(visitor, ms);
        self.answered(visitor, ms, seen);
    }

    fn sent(&mut self, visitor: u64, ms: u64) {
        self.0.sent(VisitorNo(visitor), at(ms));
    }

    fn answered(&mut self, visitor: u64, ms: u64, seen: Seen) {
        self.0.answered(VisitorNo(visitor), at(ms), seen);
    }

    fn failed(&mut self, visitor: u64, ms: u64) {
        self.0.failed(VisitorNo(visitor), at(ms));
    }

    fn leave(&mut self, visitor: u64, sent: u64, ms: u64) {
        self.sent(visitor, sent);
        self.0.left(VisitorNo(visitor), at(sent), at(ms));
    }

    fn gave_up(&mut self, visitor: u64, ms: u64) {
        self.0.gave_up(VisitorNo(visitor), at(ms));
    }

    fn report(self) -> Report {
        let end = self.0.now;
        self.0.finish(end)
    }
}

// Active visitors.

#[test]
fn one_visitor_too_many_is_counted() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 59_999, ADMITTED);
    let report = scene.report();
    assert_eq!((report.max_active, report.violations()), (2, vec!["max_active"]));
}

#[test]
fn a_session_that_may_be_over_is_not_counted() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 60_000, ADMITTED);
    assert_eq!(scene.report().max_active, 1);
}

#[test]
fn each_request_prolongs_a_session_from_its_departure() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(1, 50_000);
    scene.answered(1, 55_000, ADMITTED);
    scene.ask(2, 109_999, ADMITTED);
    assert_eq!(scene.report().max_active, 2);

    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(1, 50_000);
    scene.answered(1, 55_000, ADMITTED);
    scene.ask(2, 110_000, ADMITTED);
    assert_eq!(scene.report().max_active, 1);
}

#[test]
fn an_answer_under_way_proves_nothing_before_it_arrives() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(2, 10_000);
    scene.answered(2, 60_000, ADMITTED);
    assert_eq!(scene.report().max_active, 1, "the decision may have come at the last moment");
}

#[test]
fn a_checkout_frees_the_slot_at_its_departure() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(1, 10_000);
    scene.ask(2, 10_500, ADMITTED);
    scene.0.left(VisitorNo(1), at(10_000), at(11_000));
    assert_eq!(scene.report().violations(), Vec::<&str>::new());
}

#[test]
fn a_request_that_was_no_checkout_kept_the_slot_all_the_time() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(1, 10_000);
    scene.ask(2, 10_500, ADMITTED);
    scene.answered(1, 11_000, ADMITTED);
    assert_eq!(scene.report().max_active, 2);
}

#[test]
fn what_is_never_answered_may_have_been_a_checkout() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(1, 50_000);
    scene.ask(2, 50_500, ADMITTED);
    assert_eq!(scene.report().max_active, 1);
}

// New visitors in a minute.

#[test]
fn one_admission_too_many_in_sixty_seconds_is_counted() {
    let mut scene = Scene::new(9, Some(1));
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 59_999, ADMITTED);
    let report = scene.report();
    assert_eq!(report.violations(), ["max_new_in_any_60s"]);
}

#[test]
fn admissions_a_minute_apart_share_no_window() {
    let mut scene = Scene::new(9, Some(1));
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 60_000, ADMITTED);
    scene.sent(3, 119_000);
    scene.answered(3, 120_001, ADMITTED);
    assert_eq!(scene.report().max_new_in_any_60s, 1);
}

#[test]
fn a_session_that_goes_on_is_no_admission() {
    let mut scene = Scene::new(9, Some(1));
    scene.ask(1, 0, ADMITTED);
    scene.ask(1, 30_000, ADMITTED);
    scene.ask(1, 97_000, ADMITTED);
    assert_eq!(scene.report().max_new_in_any_60s, 1, "the pass may have lived until 97.5 s");
}

#[test]
fn a_visitor_who_left_and_returns_is_admitted_anew() {
    let mut scene = Scene::new(9, Some(1));
    scene.ask(1, 0, ADMITTED);
    scene.leave(1, 10_000, 10_000);
    scene.ask(1, 20_000, ADMITTED);
    assert_eq!(scene.report().max_new_in_any_60s, 2);
}

#[test]
fn waiting_at_an_empty_room_is_counted() {
    let mut scene = Scene::new(1, Some(1));
    scene.ask(1, 0, first());
    assert_eq!(scene.report().violations(), ["queued_while_free"]);
}

#[test]
fn waiting_at_a_full_room_is_not_counted_until_the_slot_is_certainly_free() {
    for (asks_at, expected) in [(67_499, 0), (67_500, 1)] {
        let mut scene = Scene::new(1, None);
        scene.ask(1, 0, ADMITTED);
        scene.ask(2, asks_at, first());
        assert_eq!(scene.report().queued_while_free, expected, "at {asks_at}");
    }
}

#[test]
fn a_renewal_beside_the_request_may_be_a_little_later_than_the_answer() {
    for (asks_at, expected) in [(68_504, 0), (68_505, 1)] {
        let mut scene = Scene::new(1, None);
        scene.sent(1, 0);
        scene.answered(1, 5, ADMITTED);
        scene.ask(2, asks_at, first());
        assert_eq!(scene.report().queued_while_free, expected, "at {asks_at}");
    }
}

#[test]
fn waiting_for_the_minute_is_not_counted_until_it_has_passed() {
    for (asks_at, expected) in [(59_999, 0), (60_000, 1)] {
        let mut scene = Scene::new(9, Some(1));
        scene.ask(1, 0, ADMITTED);
        scene.ask(2, asks_at, first());
        assert_eq!(scene.report().queued_while_free, expected, "at {asks_at}");
    }
}

#[test]
fn a_slot_that_was_given_back_is_free() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.leave(1, 10_000, 10_000);
    scene.ask(2, 10_001, first());
    assert_eq!(scene.report().queued_while_free, 1);
}

#[test]
fn a_room_that_was_full_for_a_moment_of_the_flight_may_say_wait() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(2, 67_499);
    scene.answered(2, 90_000, first());
    assert_eq!(scene.report().queued_while_free, 0);

    let mut scene = Scene::new(1, None);
    scene.sent(2, 10);
    scene.ask(1, 20, ADMITTED);
    scene.leave(1, 30, 40);
    scene.answered(2, 50, first());
    assert_eq!(scene.report().queued_while_free, 0, "the dip lies inside the flight");
}

#[test]
fn another_request_under_way_may_have_the_slot() {
    let mut scene = Scene::new(1, None);
    scene.sent(1, 0);
    scene.ask(2, 10, first());
    scene.answered(1, 20, ADMITTED);
    assert_eq!(scene.report().queued_while_free, 0);
}

#[test]
fn a_slot_belongs_to_the_one_who_is_ahead_and_present() {
    for (asks_at, expected) in [(31_000, 0), (51_000, 0), (51_001, 1)] {
        let mut scene = Scene::new(1, None);
        scene.ask(1, 0, ADMITTED);
        scene.ask(2, 1_000, first());
        scene.ask(2, 21_000, waits(1_000, 1));
        scene.leave(1, 30_000, 30_000);
        scene.ask(3, asks_at, first());
        assert_eq!(scene.report().queued_while_free, expected, "at {asks_at}");
    }
}

#[test]
fn a_first_touch_stands_in_no_line() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 1_000, first());
    scene.leave(1, 2_000, 2_000);
    scene.ask(3, 3_000, first());
    assert_eq!(scene.report().queued_while_free, 1);
}

#[test]
fn those_who_certainly_came_later_do_not_stand_ahead() {
    let mut scene = Scene::new(2, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(9, 0, ADMITTED);
    scene.ask(2, 1_000, first());
    scene.ask(3, 2_000, first());
    scene.ask(3, 22_000, waits(2_000, 2));
    scene.leave(1, 22_500, 22_500);
    scene.ask(2, 23_000, waits(1_000, 1));
    let report = scene.report();
    assert_eq!(report.queued_while_free, 1);
    assert_eq!(report.alarms[0].kind, AlarmKind::QueuedWhileFree);
    assert_eq!(report.alarms[0].visitor, VisitorNo(2));
}

#[test]
fn who_was_let_in_during_the_flight_may_have_stood_ahead_when_it_was_decided() {
    let mut scene = Scene::new(2, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(9, 0, ADMITTED);
    scene.ask(2, 1_000, first());
    scene.ask(2, 21_000, waits(1_000, 1));
    scene.leave(1, 22_000, 22_000);
    scene.sent(3, 22_500);
    scene.ask(2, 23_000, ADMITTED);
    scene.leave(9, 23_500, 23_500);
    scene.answered(3, 24_000, first());
    assert_eq!(scene.report().queued_while_free, 0);
}

#[test]
fn who_asks_early_is_answered_from_the_ticket() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 1_000, first());
    scene.leave(1, 2_000, 2_000);
    scene.ask(2, 20_999, waits(1_000, 1));
    assert_eq!(scene.report().queued_while_free, 0);
}

#[test]
fn a_room_that_recovers_may_keep_everybody_out_for_a_while() {
    let mut scene = Scene::new(1, None);
    scene.0.restarted(at(0), at(60_000));
    scene.ask(1, 59_999, first());
    assert_eq!(scene.0.clone().finish(at(60_000)).queued_while_free, 0);
    scene.ask(2, 60_000, first());
    assert_eq!(scene.report().queued_while_free, 1);
}

// Order.

/// Visitors 2 and 3 wait in this order for the slot of visitor 1, who leaves at 45 s.
fn two_in_line() -> Scene {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 1_000, first());
    scene.ask(3, 2_000, first());
    scene.ask(2, 21_000, waits(1_000, 1));
    scene.ask(3, 22_000, waits(2_000, 2));
    scene.ask(1, 30_000, ADMITTED);
    scene.ask(2, 41_000, waits(1_000, 1));
    scene.leave(1, 41_500, 41_500);
    scene
}

#[test]
fn a_later_visitor_let_in_first_is_an_inversion() {
    let mut scene = two_in_line();
    scene.ask(3, 42_000, ADMITTED);
    scene.ask(2, 61_000, waits(1_000, 1));
    assert_eq!(scene.report().violations(), ["order_inversions"]);
}

#[test]
fn a_visitor_who_was_away_may_be_overtaken() {
    let mut scene = two_in_line();
    scene.ask(3, 71_000, ADMITTED);
    scene.ask(2, 72_000, waits(1_000, 1));
    assert_eq!(scene.report().violations(), Vec::<&str>::new());
}

#[test]
fn the_earlier_visitor_let_in_first_is_no_inversion() {
    let mut scene = two_in_line();
    scene.ask(2, 61_000, ADMITTED);
    scene.ask(3, 62_000, waits(2_000, 1));
    assert_eq!(scene.report().violations(), Vec::<&str>::new());
}

#[test]
fn an_admission_under_way_with_the_question_is_no_inversion() {
    let mut scene = two_in_line();
    scene.sent(2, 61_000);
    scene.ask(3, 61_500, ADMITTED);
    scene.answered(2, 62_000, waits(1_000, 1));
    assert_eq!(scene.report().order_inversions, 0);
}

#[test]
fn visitors_who_arrived_at_once_have_no_order() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(2, 1_000);
    scene.sent(3, 1_500);
    scene.answered(2, 2_000, first());
    scene.answered(3, 2_000, first());
    scene.ask(2, 22_000, waits(1_000, 1));
    scene.ask(3, 22_500, waits(1_000, 2));
    scene.leave(1, 23_000, 23_000);
    scene.ask(3, 42_500, ADMITTED);
    scene.ask(2, 43_000, waits(1_000, 1));
    assert_eq!(scene.report().order_inversions, 0);
}

#[test]
fn a_visitor_with_a_place_must_not_be_refused() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 1_000, first());
    scene.ask(3, 1_000, first());
    scene.ask(2, 21_000, waits(1_000, 1));
    scene.ask(2, 41_000, Seen::Refused);
    scene.ask(3, 41_000, Seen::Refused);
    assert_eq!(scene.report().lost_places, 1, "visitor 3 had only a first ticket");
}

#[test]
fn an_early_question_makes_no_place() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 1_000, first());
    scene.ask(2, 5_000, waits(1_000, 1));
    scene.ask(2, 21_000, Seen::Refused);
    assert_eq!(scene.report().lost_places, 0);
}

#[test]
fn waits_are_measured_from_the_first_request_to_the_first_answer_inside() {
    let mut scene = Scene::new(9, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 0, first());
    scene.sent(2, 20_000);
    scene.answered(2, 20_500, ADMITTED);
    scene.ask(2, 30_000, ADMITTED);
    let report = scene.report();
    assert!((report.wait_max_s - 20.5).abs() < 1e-9);
    assert!(report.wait_p50_s < 0.01 && (report.wait_p95_s - 20.5).abs() < 0.05);
}

#[test]
fn each_visitor_has_one_outcome() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.gave_up(1, 1_000);
    scene.ask(2, 2_000, first());
    scene.gave_up(2, 3_000);
    scene.ask(3, 2_000, Seen::Refused);
    scene.gave_up(3, 3_000);
    scene.ask(4, 4_000, first());
    let report = scene.report();
    let outcomes = (report.visitors, report.admitted, report.abandoned, report.refused);
    assert_eq!(outcomes, (4, 1, 1, 1));
    assert_eq!((report.requests, report.answers), (4, 4));
}

#[test]
fn visitors_who_are_gone_take_no_memory() {
    let mut scene = Scene::new(1, None);
    for visitor in 0..5_000 {
        scene.ask(visitor, visitor * 1_000, first());
        scene.gave_up(visitor, visitor * 1_000);
    }
    scene.ask(9_999, 5_000_000, ADMITTED);
    scene.gave_up(9_999, 5_000_000);
    assert_eq!(scene.0.visitors.len(), 1);
    scene.ask(10_000, 6_000_000, first());
    assert_eq!(scene.0.visitors.len(), 1, "the session has lapsed");
}

mod failures;
mod positions;

#[test]
fn an_event_of_a_push_stream_is_judged_like_an_answer() {
    // With a stream, a visitor learns only later that somebody who came after it is inside.
    for (since, inversions) in [(29_500, 1), (28_200, 0)] {
        let mut scene = Scene::new(1, None);
        scene.ask(1, 0, ADMITTED);
        for (visitor, arrived) in [(2, 1_000), (3, 2_000)] {
            scene.ask(visitor, arrived, waits_without_ticket(arrived));
            scene.ask(visitor, arrived + 20_500, waits(arrived, 1));
        }
        scene.leave(1, 28_000, 28_000);
        scene.ask(3, 28_500, ADMITTED);
        scene.0.pushed(VisitorNo(2), at(since), at(30_000), waits(1_000, 2));
        let report = scene.0.finish(at(31_000));
        assert_eq!((report.order_inversions, report.position_rises), (inversions, 1), "{since}");
    }
}
