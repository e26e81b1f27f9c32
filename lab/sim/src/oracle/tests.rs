mod failures;
mod free_slots;
mod limits;
mod order;
mod positions;

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
fn an_early_check_in_makes_no_place() {
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
fn departed_visitors_take_no_memory() {
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
