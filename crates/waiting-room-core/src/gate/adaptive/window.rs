//! Samples, summed up.

use std::time::Duration;

use super::{PermitOutcome, Sample, averages::Median};
use crate::Timestamp;

/// What a window of samples says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reading {
    /// How many ran, as a mean over the samples.
    pub(super) in_flight: f64,
    /// The most that ran at once.
    pub(super) peak: f64,
    /// How many were over in a second.
    pub(super) throughput: f64,
    /// The typical hold in seconds: the median, which a few streams do not move.
    pub(super) hold: f64,
    /// Whether more than one in a hundred found the service overloaded.
    pub(super) overloaded: bool,
    /// Whether so long passed before it that what was known then is no evidence any more.
    pub(super) after_a_pause: bool,
}

/// Samples of some time, in fixed memory.
///
/// A window ends with a sample, not with a timer: where nothing is over, nothing is learned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// How long it lasts at least, as the rules have it.
    shortest: Duration,
    /// How long this one lasts at least: also for two holds of the window before, so that most
    /// of its samples ran under the limit that it judges.
    span: Duration,
    opened_at: Option<Timestamp>,
    after_a_pause: bool,
    tally: Tally,
}

/// The sums over a window.
#[derive(Clone, Copy, Debug)]
struct Tally {
    samples: u32,
    overloaded: u32,
    peak: u32,
    in_flight: u64,
    holds: Median,
}

impl Window {
    pub(super) fn new(shortest: Duration) -> Self {
        Self {
            shortest,
            span: shortest,
            opened_at: None,
            after_a_pause: false,
            tally: Tally::new(),
        }
    }

    /// Takes in another sample. If that completes the window: what it says, and the next begins.
    pub(super) fn add(&mut self, sample: &Sample) -> Option<Reading> {
        let now = sample.now;
        // Samples may come a little out of order, and a clock may have jumped ahead once.
        let opened_at = self.opened_at.map_or(now, |opened_at| opened_at.min(now));
        let elapsed = now.since(opened_at);
        let is_stale = elapsed > LONGEST || (self.tally.samples == 0 && elapsed > self.span);
        if is_stale {
            self.after_a_pause |= elapsed > LONGEST;
            self.tally = Tally::new();
        }
        self.opened_at = Some(if is_stale { now } else { opened_at });
        self.tally.add(sample);
        if is_stale || elapsed < self.span || self.tally.samples < LEAST_SAMPLES {
            return None;
        }
        let reading = self.tally.read(elapsed, self.after_a_pause);
        let two_holds = Duration::from_secs_f64(2.0 * reading.hold);
        *self = Self {
            span: two_holds.clamp(self.shortest, LONGEST / 2),
            opened_at: Some(now),
            ..Self::new(self.shortest)
        };
        Some(reading)
    }
}

impl Tally {
    const fn new() -> Self {
        Self { samples: 0, overloaded: 0, peak: 0, in_flight: 0, holds: Median::new() }
    }

    fn add(&mut self, sample: &Sample) {
        self.samples = self.samples.saturating_add(1);
        self.peak = self.peak.max(sample.in_flight);
        self.in_flight = self.in_flight.saturating_add(u64::from(sample.in_flight));
        self.holds.add(sample.hold);
        if sample.outcome == PermitOutcome::Overloaded {
            self.overloaded = self.overloaded.saturating_add(1);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a sum of 53 bits is as good as it gets")]
    fn read(&self, elapsed: Duration, after_a_pause: bool) -> Reading {
        let samples = f64::from(self.samples);
        Reading {
            in_flight: self.in_flight as f64 / samples,
            peak: f64::from(self.peak),
            throughput: samples / elapsed.as_secs_f64(),
            hold: self.holds.seconds(),
            overloaded: u64::from(self.overloaded) * 100 > u64::from(self.samples),
            after_a_pause,
        }
    }
}

/// A window with fewer is not closed: ten is what Netflix asks for.
const LEAST_SAMPLES: u32 = 10;

/// A window that is not full by then is given up. A gate that sees ten requests less often than
/// this is not adapted.
const LONGEST: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// The readings from samples of this hold, so many a second, over so many seconds.
    fn read(
        window: &mut Window,
        seconds: std::ops::Range<u64>,
        rate: u64,
        hold: Duration,
    ) -> Vec<Reading> {
        let times = seconds.start * rate..seconds.end * rate;
        let sample = |index| {
            let now = Timestamp::from_millis(index * 1_000 / rate);
            let outcome =
                if index % 100 < 2 { PermitOutcome::Overloaded } else { PermitOutcome::Done };
            Sample::new(now, 1 + (index % 3) as u32, hold, outcome)
        };
        times.filter_map(|index| window.add(&sample(index))).collect()
    }

    #[test]
    fn a_window_says_how_many_ran_how_long_and_how_many_were_done() {
        let readings = read(&mut Window::new(SECOND), 0..11, 300, SECOND / 10);
        assert_eq!(readings.len(), 10);
        for reading in readings {
            assert!((reading.in_flight - 2.0).abs() < 0.02, "{reading:?}");
            assert!((reading.peak - 3.0).abs() < 1e-9);
            assert!((reading.throughput - 300.0).abs() < 2.0);
            assert!((reading.hold / 0.1 - 1.0).abs() < 0.07);
            assert!(reading.overloaded && !reading.after_a_pause);
        }
    }

    #[test]
    fn fewer_failures_than_one_in_a_hundred_are_not_overload() {
        let mut window = Window::new(SECOND);
        let readings: Vec<_> = (0..=1_000)
            .filter_map(|index| {
                let is_overloaded = index % 250 == 50;
                let outcome =
                    if is_overloaded { PermitOutcome::Overloaded } else { PermitOutcome::Done };
                window.add(&Sample::new(Timestamp::from_millis(10 * index), 1, SECOND, outcome))
            })
            .collect();
        assert!(readings.len() > 3);
        assert!(readings.iter().all(|reading| !reading.overloaded), "{readings:?}");
    }

    #[test]
    fn a_window_lasts_for_ten_samples_and_for_two_holds_of_the_one_before() {
        let readings = |rate, hold| read(&mut Window::new(SECOND), 0..40, rate, hold).len();
        assert_eq!(readings(100, SECOND / 10), 39);
        assert_eq!(readings(2, SECOND / 10), 8);
        assert!((5..=7).contains(&readings(100, 3 * SECOND)));
    }

    #[test]
    fn after_a_minute_without_a_word_the_next_window_begins_anew() {
        let mut window = Window::new(SECOND);
        read(&mut window, 0..2, 100, SECOND / 10);
        let readings = read(&mut window, 100..103, 100, SECOND / 10);
        let pauses: Vec<_> = readings.iter().map(|reading| reading.after_a_pause).collect();
        assert_eq!(pauses, [true, false]);
        assert!(readings.iter().all(|reading| (95.0..105.0).contains(&reading.throughput)));
    }

    #[test]
    fn half_a_minute_without_a_word_is_not_part_of_a_window() {
        let mut window = Window::new(SECOND);
        // The second window ends with the last of these samples, and a third is open but empty.
        let before = read(&mut window, 0..2, 100, SECOND / 10).len();
        window.add(&Sample::new(Timestamp::from_secs(2), 1, SECOND / 10, PermitOutcome::Done));
        assert_eq!(before, 1);
        for reading in read(&mut window, 30..33, 100, SECOND / 10) {
            assert!((95.0..105.0).contains(&reading.throughput), "{reading:?}");
            assert!(!reading.after_a_pause);
        }
    }
}
