//! Tests of adaptive limits in a closed loop with simulated services, and with samples that no real
//! service would produce.

mod capacity;
mod demand;
mod ratchet;
mod samples;
mod simulation;

use std::{fmt, time::Duration};

use self::simulation::Second;
use super::{
    AdaptiveLimit, AdaptiveRules, Aimd, Gradient2, PermitOutcome, Sample, Vegas, guard::Rule,
    window::Window,
};
use crate::Timestamp;

/// Returns one limit of each adaptive algorithm.
fn all(rules: AdaptiveRules) -> [Box<dyn AdaptiveLimit>; 3] {
    [
        Box::new(Aimd::new(rules).unwrap()),
        Box::new(Gradient2::new(rules).unwrap()),
        Box::new(Vegas::new(rules).unwrap()),
    ]
}

/// A rule as published, with the default bounds and without the guard.
#[derive(Debug)]
struct Naked<R> {
    rule: R,
    rules: AdaptiveRules,
    limit: f64,
    window: Window,
}

impl<R: Default> Naked<R> {
    fn new() -> Self {
        let rules = AdaptiveRules::new();
        let rule = R::default();
        Self { rule, rules, limit: rules.first(), window: Window::new(rules.window) }
    }
}

impl<R: Rule + fmt::Debug + Send + 'static> AdaptiveLimit for Naked<R> {
    #[expect(clippy::cast_possible_truncation, reason = "the rules bound the limit")]
    fn limit(&self) -> u32 {
        self.limit as u32
    }

    fn observe(&mut self, sample: &Sample) -> u32 {
        if let Some(reading) = self.window.add(sample) {
            let next = self.rule.next(self.limit, &reading);
            if 2.0 * reading.peak >= self.limit {
                self.limit = self.rules.within(next);
            }
        }
        self.limit()
    }
}

/// Feeds a limit `count` equal samples over one second, each with as many requests in flight as the
/// limit allows.
fn a_second(
    limit: &mut dyn AdaptiveLimit,
    second: u64,
    count: u32,
    hold: Duration,
    outcome: PermitOutcome,
) {
    for index in 0..count {
        let now = Timestamp::from_secs(second) + Duration::from_secs(1) * index / count;
        limit.observe(&Sample::new(now, limit.limit(), hold, outcome));
    }
}

fn mean_limit(course: &[Second]) -> f64 {
    course.iter().map(|second| f64::from(second.limit)).sum::<f64>() / course.len() as f64
}

fn highest(course: &[Second]) -> u32 {
    course.iter().map(|second| second.limit).max().unwrap()
}

fn lowest(course: &[Second]) -> u32 {
    course.iter().map(|second| second.limit).min().unwrap()
}

/// Returns the number of requests per second that ended without a timeout.
fn goodput(course: &[Second]) -> f64 {
    course.iter().map(|second| f64::from(second.done)).sum::<f64>() / course.len() as f64
}
