use std::time::Duration;

use waiting_room_core::{
    RoomRules, Ticket, Timestamp, VisitorId,
    room::{Recovery, event::Reveal},
    time::ManualClock,
};

use waiting_room_sim::{Report, Trace, seeds};

use super::{Run, World};
use crate::simulation::{
    Habits, Scenario,
    desk::{Desk, Door, Reply, Token},
};

mod events;

const SESSION: Duration = Duration::from_secs(60);

/// A morning: a quiet time, a rush of three times what the room admits, and a quiet time again.
fn morning() -> Trace {
    [10; 5].into_iter().chain([120; 20]).chain([5; 15]).collect()
}

fn scenario(seed: u64) -> Scenario {
    Scenario::new(seed).limits(40, 40, SESSION)
}

fn run(scenario: &Scenario) -> Report {
    World::new(scenario, &morning()).unwrap().run()
}

fn assert_kept(report: &Report) {
    assert_eq!(report.violations(), Vec::<&str>::new(), "{report:#?}");
}

#[test]
fn the_room_keeps_every_promise_to_a_rush() {
    for seed in seeds(3) {
        let report = run(&scenario(seed));
        assert_kept(&report);
        assert_eq!(report.max_active, 40, "the room was full: {report:#?}");
        assert!(report.abandoned > 100, "and many had to wait: {report:#?}");
    }
}

#[test]
fn every_single_slot_and_minute_is_kept_too() {
    for seed in seeds(1) {
        for (slots, minute) in [(1, None), (1, Some(1)), (50, Some(1)), (3, Some(20))] {
            assert_kept(&run(&Scenario::new(seed).limits(slots, minute, SESSION)));
        }
    }
}

#[test]
fn a_line_that_is_full_refuses_and_keeps_its_promises() {
    for seed in seeds(2) {
        let report = run(&scenario(seed).line_capacity(30));
        assert_kept(&report);
        assert!(report.refused > 100, "{report:#?}");
    }
}

#[test]
fn slow_and_lost_answers_raise_no_false_alarm() {
    for seed in seeds(2) {
        for (latency_ms, loss) in [(1, 0.0), (50, 0.01), (300, 0.05), (3_000, 0.2)] {
            let latency = Duration::from_millis(latency_ms);
            let report = run(&scenario(seed).latency(latency).loss(loss));
            assert_kept(&report);
            assert!(report.admitted > 100, "{report:#?}");
        }
    }
}

#[test]
fn a_restart_with_a_hold_keeps_every_promise() {
    for seed in seeds(2) {
        for latency_ms in [0, 100] {
            let scenario = scenario(seed)
                .latency(Duration::from_millis(latency_ms))
                .restart(Duration::from_secs(15 * 60), Recovery::Pause);
            assert_kept(&run(&scenario));
        }
    }
}

#[test]
fn a_restart_without_a_hold_breaks_the_limits_and_nothing_else() {
    for seed in seeds(3) {
        let restart = Duration::from_secs(15 * 60);
        let report = run(&scenario(seed).restart(restart, Recovery::AdmitAtOnce));
        assert_eq!(report.violations(), ["max_active", "max_new_in_any_60s"], "{report:#?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let seed = seeds(1)[0];
    assert_eq!(run(&scenario(seed)), run(&scenario(seed)));
    assert_ne!(run(&scenario(seed)), run(&scenario(seed.wrapping_add(1))));
}

/// The faults that a room may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Sessions end when half of their time is over.
    BreaksSessionsOff,
    /// The latest arrival is admitted first.
    LastInFirstOut,
    /// One slot stays empty.
    LeavesASlotEmpty,
    /// Visitors who return in time have lost their places.
    LosesPlaces,
    /// The room has one slot too many.
    OneSlotTooMany,
    /// The room admits one visitor too many in a minute.
    OneTooManyAMinute,
    /// The position that is shown goes up and down.
    ShowsAnyPosition,
}

/// A desk with a fault.
struct Faulty {
    fault: Fault,
    desk: Desk,
    asked: u32,
}

impl Faulty {
    fn new(fault: Fault, scenario: &Scenario) -> Self {
        let rules = scenario.rules();
        let rules: RoomRules = match fault {
            Fault::BreaksSessionsOff => rules.session_duration(SESSION / 2),
            Fault::LeavesASlotEmpty => rules.total_active_users(39),
            Fault::OneSlotTooMany => rules.total_active_users(41).new_users_per_minute(None),
            Fault::OneTooManyAMinute => rules.new_users_per_minute(11),
            Fault::LastInFirstOut | Fault::LosesPlaces | Fault::ShowsAnyPosition => rules,
        };
        Self { fault, desk: Desk::new(rules, Recovery::AdmitAtOnce).unwrap(), asked: 0 }
    }

    /// Returns the ticket as the faulty room reads it.
    fn misread(&self, mut ticket: Ticket) -> Ticket {
        match self.fault {
            Fault::LastInFirstOut => ticket.first_seen = mirrored(ticket.first_seen),
            Fault::LosesPlaces if self.asked.is_multiple_of(50) => {
                ticket.last_check_in = Timestamp::ZERO;
            }
            Fault::ShowsAnyPosition => ticket.shown_position = None,
            Fault::BreaksSessionsOff
            | Fault::LeavesASlotEmpty
            | Fault::LosesPlaces
            | Fault::OneSlotTooMany
            | Fault::OneTooManyAMinute => {}
        }
        ticket
    }

    /// Returns the ticket as the faulty room issues it.
    fn retell(&self, mut ticket: Ticket) -> Ticket {
        match self.fault {
            Fault::LastInFirstOut => ticket.first_seen = mirrored(ticket.first_seen),
            Fault::ShowsAnyPosition => {
                ticket.shown_position = ticket.shown_position.map(|shown| shown + self.asked % 2);
            }
            Fault::BreaksSessionsOff
            | Fault::LeavesASlotEmpty
            | Fault::LosesPlaces
            | Fault::OneSlotTooMany
            | Fault::OneTooManyAMinute => {}
        }
        ticket
    }
}

/// Mirrors a time at the start of the run.
fn mirrored(at: Timestamp) -> Timestamp {
    Timestamp::from_nanos(2 * Run::<Desk>::START.as_nanos() - at.as_nanos())
}

impl Door for Faulty {
    fn ask(&mut self, token: Option<Token>, id: VisitorId, now: Timestamp) -> Reply {
        self.asked += 1;
        let token = token.map(|token| match token {
            Token::Ticket(ticket) => Token::Ticket(self.misread(ticket)),
            Token::Pass(pass) => Token::Pass(pass),
        });
        let reply = self.desk.ask(token, id, now);
        match (reply, token) {
            (Reply::Waiting { ticket, retry_after }, Some(Token::Ticket(_))) => {
                Reply::Waiting { ticket: self.retell(ticket), retry_after }
            }
            (reply, _) => reply,
        }
    }

    fn leave(&mut self, id: VisitorId, now: Timestamp) {
        self.desk.leave(id, now);
    }

    fn restart(&mut self, now: Timestamp) -> Timestamp {
        self.desk.restart(now)
    }

    fn reveal(&self) -> Option<Reveal> {
        self.desk.reveal()
    }
}

#[test]
fn the_oracle_finds_each_fault_and_names_it() {
    for seed in seeds(1) {
        for (fault, expected) in [
            (Fault::BreaksSessionsOff, "lost_places"),
            (Fault::LastInFirstOut, "order_inversions"),
            (Fault::LeavesASlotEmpty, "queued_while_free"),
            (Fault::LosesPlaces, "lost_places"),
            (Fault::OneSlotTooMany, "max_active"),
            (Fault::OneTooManyAMinute, "max_new_in_any_60s"),
            (Fault::ShowsAnyPosition, "position_rises"),
        ] {
            for latency in [Duration::ZERO, Duration::from_millis(5)] {
                let scenario = scenario(seed).latency(latency);
                // A pass that lapses unseen leaves no slot that is certainly free, so all visitors
                // check out here.
                let habits = Habits { checks_out: 1.0, ..Habits::default() };
                let mut scenario = scenario.habits(habits);
                if fault == Fault::OneTooManyAMinute {
                    scenario = scenario.limits(40, 10, SESSION);
                }
                let report = Run::new(Faulty::new(fault, &scenario), &scenario, &morning()).run();
                let found = report.violations();
                assert!(found.contains(&expected), "{fault:?} at {latency:?}: {report:#?}");
            }
        }
    }
}

#[test]
fn time_only_moves_forward() {
    let mut world = World::new(&scenario(seeds(1)[0]), &morning()).unwrap();
    let clock = ManualClock::default();
    while let Some(now) = world.0.step() {
        assert!(now >= waiting_room_core::time::Clock::now(&clock));
        clock.advance_to(now);
    }
}
