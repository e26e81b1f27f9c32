//! Windows: samples aggregated in a fixed amount of memory, and the reading that each window
//! yields.

use std::time::Duration;

use super::{PermitOutcome, Sample, averages::Median};
use crate::Timestamp;

/// The measured values of a completed window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WindowReading {
    /// The number of running requests, averaged over the samples.
    pub(super) in_flight: f64,
    /// The maximum number of requests that ran at once.
    pub(super) peak: f64,
    /// The number of requests that ended per second.
    pub(super) throughput: f64,
    /// The median hold, in seconds. A few long streams do not affect the median.
    pub(super) hold: f64,
    /// Whether more than one sample in a hundred reported overload.
    pub(super) overloaded: bool,
    /// Whether a pause of more than a minute preceded this window. During a pause, there are too
    /// few samples to complete a window, and earlier windows no longer count as evidence
    /// afterwards.
    pub(super) after_a_pause: bool,
}

/// A window that aggregates samples.
///
/// A window is completed by a sample rather than by a timer, because there is nothing to learn if
/// no request ends.
///
/// ```text
/// open ─► at least `span` and ten samples ─► complete: a reading, and the next window opens
///   └───► not complete after a minute ─────► abandoned: its samples are dropped
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// The minimum length of any window, as set in the rules.
    shortest: Duration,
    /// The minimum length of this window, usually at least twice the hold of the previous window.
    /// With this length, most requests in the window ran under the limit that the window is used to
    /// judge.
    span: Duration,
    /// The start of the window, or `None` before the first sample.
    opened_at: Option<Timestamp>,
    /// Whether earlier samples were dropped because the window was not completed in time.
    after_a_pause: bool,
    tally: Tally,
}

/// The running sums over the samples of a window.
#[derive(Clone, Copy, Debug)]
struct Tally {
    samples: u32,
    /// The number of samples that reported overload.
    overloaded: u32,
    peak: u32,
    /// The sum of the `in_flight` values of all samples, from which the mean is computed.
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

    /// Adds a sample. If the sample completes the window, returns the reading of the window and
    /// opens the next window.
    pub(super) fn add(&mut self, sample: &Sample) -> Option<WindowReading> {
        let now = sample.now;
        // Samples may arrive slightly out of order. If the window was opened by a sample with a
        // later timestamp, the start of the window moves back to the time of this sample.
        // Otherwise, the window could stay open for too long after a sample with a timestamp far in
        // the future.
        let opened_at = self.opened_at.map_or(now, |opened_at| opened_at.min(now));
        let elapsed = now.since(opened_at);
        // An empty window that has been open for longer than its span would include idle time in
        // the throughput. Such a window is restarted with this sample, but the restart does not
        // count as a pause unless the window was open for longer than `LONGEST`.
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

    #[expect(clippy::cast_precision_loss, reason = "a sum of up to 53 bits is exact")]
    fn read(&self, elapsed: Duration, after_a_pause: bool) -> WindowReading {
        let samples = f64::from(self.samples);
        WindowReading {
            in_flight: self.in_flight as f64 / samples,
            peak: f64::from(self.peak),
            throughput: samples / elapsed.as_secs_f64(),
            hold: self.holds.seconds(),
            overloaded: u64::from(self.overloaded) * 100 > u64::from(self.samples),
            after_a_pause,
        }
    }
}

/// The minimum number of samples in a completed window, as in Netflix's concurrency-limits.
const LEAST_SAMPLES: u32 = 10;

/// The time after which an incomplete window is abandoned. If fewer than ten requests end in that
/// time, the limit does not adapt.
const LONGEST: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Returns the readings of all windows completed during these seconds, with `rate` samples per
    /// second that each have this hold.
    fn read(
        window: &mut Window,
        seconds: std::ops::Range<u64>,
        rate: u64,
        hold: Duration,
    ) -> Vec<WindowReading> {
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
    fn a_window_reports_concurrency_holds_and_completions() {
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
    fn after_a_minute_without_samples_a_window_starts_anew() {
        let mut window = Window::new(SECOND);
        read(&mut window, 0..2, 100, SECOND / 10);
        let readings = read(&mut window, 100..103, 100, SECOND / 10);
        let pauses: Vec<_> = readings.iter().map(|reading| reading.after_a_pause).collect();
        assert_eq!(pauses, [true, false]);
        assert!(readings.iter().all(|reading| (95.0..105.0).contains(&reading.throughput)));
    }

    #[test]
    fn half_a_minute_without_samples_is_not_part_of_a_window() {
        let mut window = Window::new(SECOND);
        // The sample at 2 s completes the second window, so the third window is open and empty.
        let before = read(&mut window, 0..2, 100, SECOND / 10).len();
        window.add(&Sample::new(Timestamp::from_secs(2), 1, SECOND / 10, PermitOutcome::Done));
        assert_eq!(before, 1);
        for reading in read(&mut window, 30..33, 100, SECOND / 10) {
            assert!((95.0..105.0).contains(&reading.throughput), "{reading:?}");
            assert!(!reading.after_a_pause);
        }
    }
}
