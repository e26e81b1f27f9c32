//! Tests of the rule, with made-up gates.

use waiting_room_core::gate::{Gate, GateRules};

use super::*;

fn at(secs: u64) -> Timestamp {
    Timestamp::from_secs(1_000_000 + secs)
}

/// A gate with this limit, this many running requests, and this many in the queue.
fn gate(limit: u32, in_flight: u32, queued: u32) -> GateSnapshot {
    let mut gate = Gate::new(GateRules::new(limit), 1).unwrap().snapshot(at(0));
    gate.in_flight = in_flight;
    gate.queued = queued;
    gate
}

/// A controller of rates from 100 to 1 000, and the number of refusals so far.
struct Bench {
    controller: Controller,
    rate: u32,
    refused: u64,
    secs: u64,
    session: Duration,
}

impl Bench {
    fn new(rate: u32) -> Self {
        let controller = Controller::new(100, 1_000);
        let session = Duration::from_secs(60);
        // Refusals before the first sample are no sign of an overload.
        let mut bench = Self { controller, rate, refused: 7, secs: 0, session };
        assert!(!bench.controller.is_due(at(0)));
        bench
    }

    fn seen(&self, is_rate_used_up: bool) -> Observation {
        let rate = self.rate;
        let active = self.rate;
        let slots = 10_000;
        let session = self.session;
        Observation { rate, is_rate_used_up, active, slots, session }
    }

    /// A period in which each sample finds this gate, and this many requests are refused.
    fn period(&mut self, gates: &[GateSnapshot], refused: u64, is_used_up: bool) -> RateStep {
        self.controller.sample(gates, self.refused);
        self.refused += refused;
        for _ in 1..10 {
            self.controller.sample(gates, self.refused);
        }
        self.secs += 10;
        assert!(self.controller.is_due(at(self.secs)));
        let seen = self.seen(is_used_up);
        let step = self.controller.decide(seen, at(self.secs));
        if let RateStep::Set(rate, _) = step {
            self.controller.is_set(rate, at(self.secs));
            self.rate = rate;
        }
        step
    }
}

#[test]
fn the_rate_rises_slowly_while_visitors_wait_and_the_gate_has_spare_permits() {
    let mut bench = Bench::new(500);
    let idle = [gate(10, 7, 0)];
    assert_eq!(bench.period(&idle, 0, true), RateStep::Set(550, TuningCause::Spare));
    for _ in 0..2 {
        assert_eq!(bench.period(&idle, 0, true), RateStep::Keep(TuningCause::Settling));
    }
    assert_eq!(bench.period(&idle, 0, true), RateStep::Set(600, TuningCause::Spare));
}

#[test]
fn the_rate_does_not_rise_if_that_helps_no_visitor_or_the_gate_is_busy() {
    let mut bench = Bench::new(500);
    assert_eq!(bench.period(&[gate(10, 1, 0)], 0, false), RateStep::Keep(TuningCause::NotNeeded));
    assert_eq!(bench.period(&[gate(10, 8, 0)], 0, true), RateStep::Keep(TuningCause::Busy));
    let mut unlimited = gate(10, 1, 0);
    unlimited.limit = None;
    assert_eq!(bench.period(&[unlimited], 0, true), RateStep::Keep(TuningCause::NoLimit));
    assert_eq!(bench.period(&[gate(0, 0, 0)], 0, true), RateStep::Keep(TuningCause::Busy));
    // Of several gates under one name, the busiest decides. An idle gate by key does not exist.
    let two = [gate(10, 1, 0), gate(10, 9, 0)];
    assert_eq!(bench.period(&two, 0, true), RateStep::Keep(TuningCause::Busy));
    assert_eq!(bench.period(&[], 0, true), RateStep::Set(550, TuningCause::Spare));
}

#[test]
fn an_overload_lowers_the_rate_at_once_but_not_again_before_it_has_settled() {
    let mut bench = Bench::new(500);
    assert_eq!(bench.period(&[gate(10, 1, 0)], 0, true), RateStep::Set(550, TuningCause::Spare));
    assert_eq!(
        bench.period(&[gate(10, 9, 0)], 1, true),
        RateStep::Set(385, TuningCause::Overloaded)
    );
    let full = [gate(10, 10, 3)];
    for _ in 0..2 {
        assert_eq!(bench.period(&full, 0, false), RateStep::Keep(TuningCause::Settling));
    }
    assert_eq!(bench.period(&full, 0, false), RateStep::Set(269, TuningCause::Overloaded));
}

#[test]
fn a_queue_that_empties_within_the_period_is_no_overload() {
    let mut bench = Bench::new(500);
    bench.controller.sample(&[gate(10, 5, 0)], 7);
    assert_eq!(bench.period(&[gate(10, 5, 1)], 0, true), RateStep::Keep(TuningCause::Busy));
}

#[test]
fn the_rate_stays_within_its_bounds() {
    let mut bench = Bench::new(980);
    assert_eq!(bench.period(&[gate(10, 1, 0)], 0, true), RateStep::Set(1_000, TuningCause::Spare));
    bench.secs += 30;
    assert_eq!(bench.period(&[gate(10, 1, 0)], 0, true), RateStep::Keep(TuningCause::AtBound));
    let mut bench = Bench::new(120);
    assert_eq!(
        bench.period(&[gate(10, 1, 0)], 5, true),
        RateStep::Set(100, TuningCause::Overloaded)
    );
    bench.secs += 30;
    assert_eq!(bench.period(&[gate(10, 1, 0)], 5, true), RateStep::Keep(TuningCause::AtBound));
    // An operator's rate outside the bounds is kept until the next change.
    let mut bench = Bench::new(5_000);
    assert_eq!(bench.period(&[gate(10, 9, 0)], 0, true), RateStep::Keep(TuningCause::Busy));
    assert_eq!(
        bench.period(&[gate(10, 9, 0)], 9, true),
        RateStep::Set(1_000, TuningCause::Overloaded)
    );
    let mut bench = Bench::new(u32::MAX);
    assert_eq!(
        bench.period(&[gate(10, 9, 0)], 9, true),
        RateStep::Set(1_000, TuningCause::Overloaded),
    );
}

#[test]
fn the_rate_does_not_rise_before_the_visitors_of_the_last_increase_arrive() {
    let mut bench = Bench::new(500);
    let idle = [gate(10, 5, 0)];
    bench.controller.sample(&idle, 7);
    // Half of the visitors of a session at this rate are active, and use half of the permits.
    let seen = Observation { active: 250, ..bench.seen(true) };
    assert_eq!(bench.controller.decide(seen, at(10)), RateStep::Keep(TuningCause::Busy));
    // There are fewer slots than visitors would arrive during a session at this rate.
    bench.controller.sample(&idle, 7);
    let seen = Observation { slots: 300, ..seen };
    assert_eq!(bench.controller.decide(seen, at(20)), RateStep::Set(550, TuningCause::Spare));
}

#[test]
fn a_change_by_an_operator_is_the_new_starting_point() {
    let mut bench = Bench::new(500);
    bench.session = Duration::from_secs(120);
    bench.period(&[gate(10, 9, 0)], 0, true);
    bench.rate = 800;
    let idle = [gate(10, 1, 0)];
    assert_eq!(bench.period(&idle, 0, true), RateStep::Keep(TuningCause::ChangedElsewhere));
    for _ in 0..2 {
        assert_eq!(bench.period(&idle, 0, true), RateStep::Keep(TuningCause::Settling));
    }
    assert_eq!(bench.period(&idle, 0, true), RateStep::Set(850, TuningCause::Spare));
    // After a decrease, the rate is kept for half a session.
    bench.rate = 700;
    assert_eq!(bench.period(&idle, 0, true), RateStep::Keep(TuningCause::ChangedElsewhere));
    for _ in 0..5 {
        assert_eq!(bench.period(&idle, 0, true), RateStep::Keep(TuningCause::Settling));
    }
    assert_eq!(bench.period(&idle, 0, true), RateStep::Set(750, TuningCause::Spare));
}

/// A service with 20 permits, in which each active visitor needs 0.1 permits. Sessions last
/// five minutes, so 200 visitors, and 40 new ones per minute, are its capacity.
#[test]
fn the_rate_finds_the_capacity_of_the_service_and_keeps_near_it() {
    let mut controller = Controller::new(5, 200);
    let mut rate = 5_u32;
    let mut refused = 0_u64;
    let mut arrived = Vec::new();
    let mut refused_seconds = 0;
    let mut served = 0.0;
    for second in 0..7_200_u64 {
        // The arrivals of this second, in sixtieths of a visitor.
        arrived.push(rate);
        let active = arrived.iter().rev().take(300).sum::<u32>() / 60;
        let needed = active.div_ceil(10);
        let is_over = needed > 20;
        refused += u64::from(is_over);
        if second >= 3_600 {
            refused_seconds += u32::from(is_over);
            served += f64::from(needed.min(20)) / 20.0 / 3_600.0;
        }
        controller.sample(&[gate(20, needed.min(20), u32::from(is_over))], refused);
        if controller.is_due(at(second)) {
            let seen = Observation {
                rate,
                is_rate_used_up: true,
                active,
                slots: 1_000,
                session: Duration::from_secs(300),
            };
            if let RateStep::Set(new, _) = controller.decide(seen, at(second)) {
                controller.is_set(new, at(second));
                rate = new;
            }
        }
        assert!((5..=200).contains(&rate));
    }
    assert!(served > 0.7, "{served:.2} of the capacity is used");
    assert!(refused_seconds < 360, "{refused_seconds} of 3 600 seconds with refusals");
}

#[test]
fn a_decision_that_was_not_applied_is_no_change() {
    let mut bench = Bench::new(500);
    for secs in [10, 20] {
        bench.controller.sample(&[gate(10, 1, 0)], 7);
        let step = bench.controller.decide(bench.seen(true), at(secs));
        assert_eq!(step, RateStep::Set(550, TuningCause::Spare));
    }
}
