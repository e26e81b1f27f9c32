//! The rule that a tuner follows, without I/O and without a clock of its own.

use std::time::Duration;

use waiting_room_core::{Timestamp, gate::GateSnapshot};

use super::tuning::TuningCause;

/// Decides at the end of each period whether the rate is lowered, raised or kept.
#[derive(Debug)]
pub(super) struct Controller {
    least: u32,
    most: u32,
    /// The rate after the last decision, or `None` if there was none.
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

/// The state of the gate as sampled since the last decision.
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

/// The facts that a decision depends on, apart from the gate.
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
    /// The time for which a visitor that sends no further request remains active.
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
    /// The time for which the rate is kept after an increase. After a decrease, the rate is kept
    /// for half a session, but at least for this time.
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

    /// Ends the period with a decision. [`is_set`](Self::is_set) records that it has been carried
    /// out.
    pub(super) fn decide(&mut self, seen: Observation, now: Timestamp) -> RateStep {
        let step = self.step(seen, now);
        self.rate = Some(seen.rate);
        self.end_period(now);
        step
    }

    /// Records that the rate has been set to `rate`, as the controller last decided.
    pub(super) fn is_set(&mut self, rate: u32, now: Timestamp) {
        let is_increase = self.rate.is_some_and(|before| rate > before);
        self.changed = Some(RateChange { at: now, is_increase });
        self.rate = Some(rate);
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

    /// Returns the step from one rate to another, limited to the bounds.
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
mod tests;
