//! The rule that a tuner follows, without I/O and without a clock of its own.

use std::time::Duration;

use waiting_room_core::{Timestamp, gate::GateSnapshot};

use super::tuning::TuningCause;

/// Decides at the end of each period whether the rate is lowered, raised or kept.
#[derive(Debug)]
pub(super) struct Controller {
    least: u32,
    most: u32,
    /// The rate after the last decision, or `None` before the first one.
    rate: Option<u32>,
    /// The last change, by this node or elsewhere.
    changed: Option<RateChange>,
    /// The end of the current period, or `None` before the first one.
    due: Option<Timestamp>,
    period: Period,
    /// The number of refusals by the gate until the current period began, or `None` before the
    /// first sample.
    refused: Option<u64>,
}

/// A change of the rate.
#[derive(Clone, Copy, Debug)]
struct RateChange {
    at: Timestamp,
    is_increase: bool,
}

/// What was seen of the gate since the last decision.
#[derive(Clone, Copy, Debug)]
struct Period {
    /// The highest share of the limit that was in use, or infinity for a closed gate.
    peak: f64,
    /// Whether each sample found a queue, and whether any sample did.
    always_queued: bool,
    ever_queued: bool,
    has_limit: bool,
    samples: u32,
    /// The number of refusals by the gate, as of the last sample.
    refused: u64,
}

/// What a decision depends on besides the gate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    /// The rate in effect.
    pub(super) rate: u32,
    /// Whether visitors wait although slots are free, because the rate is used up.
    pub(super) is_rate_used_up: bool,
    /// The number of active visitors.
    pub(super) active: u32,
    /// The limit on active visitors.
    pub(super) slots: u32,
    /// The time for which a visitor that sends no further request is active.
    pub(super) session: Duration,
}

impl Observation {
    /// Returns the factor by which the number of active visitors will still grow at this rate, if
    /// each visitor stays for one session. At least 1.
    fn growth(&self) -> f64 {
        let in_a_session = f64::from(self.rate) / 60.0 * self.session.as_secs_f64();
        let expected = in_a_session.min(f64::from(self.slots));
        (expected / f64::from(self.active.max(1))).max(1.0)
    }
}

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RateStep {
    Keep(TuningCause),
    /// Sets the rate to this value.
    Set(u32, TuningCause),
}

impl Controller {
    /// The time between two decisions.
    pub(super) const PERIOD: Duration = Duration::from_secs(10);
    /// The time after an increase during which the rate is kept, and the shortest such time after a
    /// decrease, which lasts for half a session.
    const SETTLE: Duration = Duration::from_secs(30);
    /// The share of a gate's limit below which the service has capacity to spare.
    const SPARE_BELOW: f64 = 0.8;

    pub(super) const fn new(least: u32, most: u32) -> Self {
        let period = Period::NEW;
        Self { least, most, rate: None, changed: None, due: None, period, refused: None }
    }

    /// Records the current state of the gates under one name, and the number of requests that they
    /// have refused so far.
    pub(super) fn sample(&mut self, gates: &[GateSnapshot], refused: u64) {
        let period = &mut self.period;
        let queued = gates.iter().any(|gate| gate.queued > 0);
        period.always_queued &= queued;
        period.ever_queued |= queued;
        period.samples += 1;
        // A gate by key without requests has no snapshots, and is idle.
        period.has_limit |= gates.is_empty() || gates.iter().any(|gate| gate.limit.is_some());
        let share = |gate: &GateSnapshot| match gate.limit {
            Some(0) => f64::INFINITY,
            Some(limit) => f64::from(gate.in_flight) / f64::from(limit),
            None => 0.0,
        };
        period.peak = gates.iter().map(share).fold(period.peak, f64::max);
        period.refused = refused;
        self.refused.get_or_insert(period.refused);
    }

    /// Returns whether the period has ended. The first period begins with the first call.
    pub(super) fn is_due(&mut self, now: Timestamp) -> bool {
        now >= *self.due.get_or_insert(now + Self::PERIOD)
    }

    /// Ends the period without a decision.
    pub(super) fn skip(&mut self, now: Timestamp) {
        self.rate = None;
        self.end_period(now);
    }

    /// Ends the period with a decision.
    pub(super) fn decide(&mut self, seen: Observation, now: Timestamp) -> RateStep {
        let step = self.step(seen, now);
        if let RateStep::Set(rate, _) = step {
            self.changed = Some(RateChange { at: now, is_increase: rate > seen.rate });
            self.rate = Some(rate);
        } else {
            self.rate = Some(seen.rate);
        }
        self.end_period(now);
        step
    }

    fn step(&mut self, seen: Observation, now: Timestamp) -> RateStep {
        if self.rate.is_some_and(|rate| rate != seen.rate) {
            let is_increase = self.rate.is_some_and(|rate| seen.rate > rate);
            self.changed = Some(RateChange { at: now, is_increase });
            return RateStep::Keep(TuningCause::ChangedElsewhere);
        }
        let Period { peak, always_queued, ever_queued, has_limit, samples, refused } = self.period;
        if !has_limit || samples == 0 {
            return RateStep::Keep(TuningCause::NoLimit);
        }
        let is_refusing = self.refused.is_some_and(|before| refused > before);
        let is_overloaded = is_refusing || always_queued;
        let is_recent = |change: &RateChange| {
            let settle = if change.is_increase { Self::SETTLE } else { seen.session / 2 };
            now.since(change.at) < settle.max(Self::SETTLE)
        };
        match self.changed {
            Some(change) if is_recent(&change) && !(is_overloaded && change.is_increase) => {
                RateStep::Keep(TuningCause::Settling)
            }
            _ if is_overloaded => {
                let lower = u64::from(seen.rate) * 7 / 10;
                let lower = u32::try_from(lower).unwrap_or(u32::MAX);
                self.set(seen.rate, lower, TuningCause::Overloaded)
            }
            _ if !seen.is_rate_used_up => RateStep::Keep(TuningCause::NotNeeded),
            _ if peak * seen.growth() < Self::SPARE_BELOW && !ever_queued => {
                let higher = seen.rate.saturating_add(self.most.div_ceil(20));
                self.set(seen.rate, higher, TuningCause::Spare)
            }
            _ => RateStep::Keep(TuningCause::Busy),
        }
    }

    /// Returns the step from one rate to another, as far as the bounds allow it.
    fn set(&self, from: u32, to: u32, cause: TuningCause) -> RateStep {
        match to.clamp(self.least, self.most) {
            same if same == from => RateStep::Keep(TuningCause::AtBound),
            to => RateStep::Set(to, cause),
        }
    }

    fn end_period(&mut self, now: Timestamp) {
        self.refused = Some(self.period.refused);
        self.period = Period { refused: self.period.refused, ..Period::NEW };
        self.due = Some(now + Self::PERIOD);
    }
}

impl Period {
    const NEW: Self = Self {
        peak: 0.0,
        always_queued: true,
        ever_queued: false,
        has_limit: false,
        samples: 0,
        refused: 0,
    };
}

#[cfg(test)]
mod tests {
    use waiting_room_core::gate::{Gate, GateRules};

    use super::*;

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(1_000_000 + secs)
    }

    /// A gate with this limit, this many running requests, and this many in the queue.
    fn gate(limit: u32, in_flight: u32, queued: u32) -> GateSnapshot {
        let mut gate = Gate::new(GateRules::new(limit), 1).unwrap().snapshot(at(0));
        (gate.in_flight, gate.queued) = (in_flight, queued);
        gate
    }

    /// A controller between 100 and 1 000, and the number of refusals so far.
    struct Bench {
        controller: Controller,
        rate: u32,
        refused: u64,
        secs: u64,
    }

    impl Bench {
        fn new(rate: u32) -> Self {
            let mut bench =
                Self { controller: Controller::new(100, 1_000), rate, refused: 0, secs: 0 };
            // Refusals before the first sample are no sign of an overload.
            bench.refused = 7;
            assert!(!bench.controller.is_due(at(0)));
            bench
        }

        fn seen(&self, is_rate_used_up: bool) -> Observation {
            let (rate, active, slots) = (self.rate, self.rate, 10_000);
            let session = Duration::from_secs(60);
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
        assert_eq!(
            bench.period(&[gate(10, 1, 0)], 0, false),
            RateStep::Keep(TuningCause::NotNeeded)
        );
        assert_eq!(bench.period(&[gate(10, 8, 0)], 0, true), RateStep::Keep(TuningCause::Busy));
        let mut unlimited = gate(10, 1, 0);
        unlimited.limit = None;
        assert_eq!(bench.period(&[unlimited], 0, true), RateStep::Keep(TuningCause::NoLimit));
        assert_eq!(bench.period(&[gate(0, 0, 0)], 0, true), RateStep::Keep(TuningCause::Busy));
        // Of several gates under one name, the busiest decides. Without requests, there is none.
        let two = [gate(10, 1, 0), gate(10, 9, 0)];
        assert_eq!(bench.period(&two, 0, true), RateStep::Keep(TuningCause::Busy));
        assert_eq!(bench.period(&[], 0, true), RateStep::Set(550, TuningCause::Spare));
    }

    #[test]
    fn an_overload_lowers_the_rate_at_once_but_not_again_before_it_has_settled() {
        let mut bench = Bench::new(500);
        assert_eq!(
            bench.period(&[gate(10, 1, 0)], 0, true),
            RateStep::Set(550, TuningCause::Spare)
        );
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
        assert_eq!(
            bench.period(&[gate(10, 1, 0)], 0, true),
            RateStep::Set(1_000, TuningCause::Spare)
        );
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
    fn the_rate_does_not_rise_while_the_visitors_of_the_last_increase_are_still_to_come() {
        let mut bench = Bench::new(500);
        let idle = [gate(10, 5, 0)];
        bench.controller.sample(&idle, 7);
        // Half of the visitors of a session at this rate are active, and use half of the permits.
        let seen = Observation { active: 250, ..bench.seen(true) };
        assert_eq!(bench.controller.decide(seen, at(10)), RateStep::Keep(TuningCause::Busy));
        // There are not as many slots as visitors would come.
        bench.controller.sample(&idle, 7);
        let seen = Observation { slots: 300, ..seen };
        assert_eq!(bench.controller.decide(seen, at(20)), RateStep::Set(550, TuningCause::Spare));
    }

    #[test]
    fn a_change_by_an_operator_is_the_new_starting_point() {
        let mut bench = Bench::new(500);
        bench.period(&[gate(10, 9, 0)], 0, true);
        bench.rate = 800;
        let idle = [gate(10, 1, 0)];
        assert_eq!(bench.period(&idle, 0, true), RateStep::Keep(TuningCause::ChangedElsewhere));
        for _ in 0..2 {
            assert_eq!(bench.period(&idle, 0, true), RateStep::Keep(TuningCause::Settling));
        }
        assert_eq!(bench.period(&idle, 0, true), RateStep::Set(850, TuningCause::Spare));
    }

    /// A service with 20 permits, in which each active visitor needs 0.1 permits. Sessions last
    /// five minutes, so 200 visitors, and 40 new ones per minute, are its capacity.
    #[test]
    fn the_rate_finds_the_capacity_of_the_service_and_keeps_near_it() {
        let mut controller = Controller::new(5, 200);
        let (mut rate, mut refused, mut arrived) = (5_u32, 0_u64, Vec::new());
        let (mut refused_seconds, mut served) = (0, 0.0);
        for second in 0..7_200_u64 {
            // In sixtieths of a visitor.
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
                    rate = new;
                }
            }
            assert!((5..=200).contains(&rate));
        }
        assert!(served > 0.7, "{served:.2} of the capacity is used");
        assert!(refused_seconds < 360, "{refused_seconds} of 3 600 seconds with refusals");
    }
}
