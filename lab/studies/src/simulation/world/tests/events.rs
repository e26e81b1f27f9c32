//! An event in the middle of a morning, and the faults that a room may have at its start.

use waiting_room_core::room::event::{Event, Lottery, Schedule, Seed};

use super::*;
use crate::simulation::ScheduledEvent;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const PREQUEUE: Duration = Duration::from_secs(8 * 60);
const START: Duration = Duration::from_secs(12 * 60);

/// An event from the 8th to the 25th minute, whose limits are half as high again.
fn doors() -> ScheduledEvent {
    ScheduledEvent {
        prequeue_after: PREQUEUE,
        start_after: START,
        end_after: Duration::from_secs(25 * 60),
        is_drawn: true,
        total_active_users: 60,
        new_users_per_minute: Some(60),
    }
}

#[test]
fn an_event_keeps_every_promise_with_a_draw_and_without_one() {
    for seed in seeds(3) {
        for is_drawn in [true, false] {
            let report = run(&scenario(seed).event(ScheduledEvent { is_drawn, ..doors() }));
            assert_kept(&report);
            assert_eq!(report.max_active, 60, "the limits of the event applied: {report:#?}");
            let event = report.event.unwrap();
            assert_eq!((event.event_early, event.draw_mismatches), (0, 0));
            assert_eq!(event.entrants > 100, is_drawn, "{report:#?}");
        }
    }
}

#[test]
fn an_event_that_lowers_the_limits_ends_no_session_and_breaks_no_promise() {
    for seed in seeds(2) {
        let event =
            ScheduledEvent { total_active_users: 10, new_users_per_minute: Some(5), ..doors() };
        let report = run(&scenario(seed).event(event));
        assert_kept(&report);
        assert_eq!(report.max_active, 40, "{report:#?}");
    }
}

#[test]
fn slots_that_an_event_takes_back_are_no_inversion() {
    // At the beginning of the prequeue and at the end of the event, many visitors wait, and for
    // some of them a slot was left.
    for seed in seeds(8) {
        let event = ScheduledEvent { end_after: Duration::from_secs(20 * 60), ..doors() };
        let habits =
            Habits { checks_out: 1.0, think_time: Duration::from_secs(1), ..Habits::default() };
        let busy: Trace = [400; 25].into_iter().collect();
        let scenario = scenario(seed).event(event).habits(habits);
        assert_kept(&World::new(&scenario, &busy).unwrap().run());
    }
}

#[test]
fn slow_answers_and_lost_ones_raise_no_false_alarm_about_an_event() {
    for seed in seeds(2) {
        for (latency_ms, loss) in [(1, 0.0), (50, 0.01), (300, 0.05), (3_000, 0.2)] {
            let latency = Duration::from_millis(latency_ms);
            let report = run(&scenario(seed).event(doors()).latency(latency).loss(loss));
            assert_kept(&report);
            assert!(report.event.unwrap().entrants > 50, "{report:#?}");
        }
    }
}

/// The faults that an event may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// Two visitors get the same number.
    GivesNumbersTwice,
    /// The published seed is not the one that decided the order.
    PublishesAnotherSeed,
    /// The event starts a minute before the announced time.
    StartsEarly,
    /// The event starts a minute after the announced time.
    StartsLate,
}

/// A desk whose event is wrong.
struct WrongEvent {
    wrong: Wrong,
    desk: Desk,
    seed: u64,
}

impl WrongEvent {
    fn new(wrong: Wrong, scenario: &Scenario) -> Self {
        let opened = Run::<Desk>::START;
        let minute = Duration::from_secs(60);
        let mut event = doors();
        match wrong {
            Wrong::StartsEarly => event.start_after -= minute,
            Wrong::StartsLate => event.start_after += minute,
            Wrong::GivesNumbersTwice | Wrong::PublishesAnotherSeed => {}
        }
        let mut schedule = scenario.event(event).schedule(opened).unwrap();
        if wrong == Wrong::PublishesAnotherSeed {
            let doors = Event::new("doors", opened + event.start_after, opened + event.end_after)
                .prequeue_start(opened + event.prequeue_after)
                .limits(60, 60);
            let seed = Seed::new([7; 32]);
            let plain = Schedule::new([doors]).unwrap();
            schedule = plain.with_seed("simulation", "doors", seed).unwrap();
        }
        let desk = Desk::new(scenario.rules(), Recovery::AdmitAtOnce).unwrap();
        Self { wrong, desk: desk.with_schedule(schedule).unwrap(), seed: scenario.seed }
    }
}

impl Door for WrongEvent {
    fn ask(&mut self, token: Option<Token>, id: VisitorId, now: Timestamp) -> Reply {
        let mut reply = self.desk.ask(token, id, now);
        if let Reply::Waiting { ticket, .. } = &mut reply
            && let Some(entrant) = &mut ticket.entrant
            && self.wrong == Wrong::GivesNumbersTwice
        {
            entrant.number = (entrant.number / 2).max(1);
            entrant.place = None;
        }
        reply
    }

    fn leave(&mut self, id: VisitorId, now: Timestamp) {
        self.desk.leave(id, now);
    }

    fn restart(&mut self, now: Timestamp) -> Timestamp {
        self.desk.restart(now)
    }

    fn reveal(&self) -> Option<Reveal> {
        let reveal = self.desk.reveal()?;
        if self.wrong != Wrong::PublishesAnotherSeed {
            return Some(reveal);
        }
        let seed = Pcg64Mcg::seed_from_u64(self.seed).random();
        let lottery = Lottery::new("simulation", "doors", Seed::new(seed)).unwrap();
        lottery.reveal(reveal.entrants(), None).ok()
    }
}

#[test]
fn the_oracle_finds_each_fault_of_an_event_and_names_it() {
    for seed in seeds(1) {
        for (wrong, expected) in [
            (Wrong::GivesNumbersTwice, "draw_mismatches"),
            (Wrong::PublishesAnotherSeed, "draw_mismatches"),
            (Wrong::PublishesAnotherSeed, "order_inversions"),
            (Wrong::StartsEarly, "event_early"),
            (Wrong::StartsLate, "queued_while_free"),
        ] {
            for latency in [Duration::ZERO, Duration::from_millis(5)] {
                let habits = Habits { checks_out: 1.0, ..Habits::default() };
                let scenario = scenario(seed).event(doors()).latency(latency).habits(habits);
                let door = WrongEvent::new(wrong, &scenario);
                let report = Run::new(door, &scenario, &morning()).run();
                let found = report.violations();
                assert!(found.contains(&expected), "{wrong:?} at {latency:?}: {report:#?}");
            }
        }
    }
}
