//! Detects whether running more requests at once has led to more throughput.
//!
//! The result is the evidence for the guard's throughput veto. Below the knee, throughput rises
//! with the number of requests in flight, and holds stay the same. Beyond the knee, throughput
//! stays the same or falls, and holds rise.

use super::window::WindowReading;

/// The most recent windows in which the gate was full, from which correlations are computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct History {
    /// The windows, with the newest first.
    points: [Point; LENGTH],
    /// The number of points in use, counted from the start of the array.
    len: usize,
}

/// The measured values of one window.
#[derive(Clone, Copy, Debug)]
struct Point {
    in_flight: f64,
    throughput: f64,
    hold: f64,
}

impl History {
    pub(super) const fn new() -> Self {
        Self { points: [Point { in_flight: 0.0, throughput: 0.0, hold: 0.0 }; LENGTH], len: 0 }
    }

    /// Adds a window, which replaces the oldest window if the history is full.
    pub(super) fn add(&mut self, reading: &WindowReading) {
        let WindowReading { in_flight, throughput, hold, .. } = *reading;
        self.points.rotate_right(1);
        self.points[0] = Point { in_flight, throughput, hold };
        self.len = (self.len + 1).min(LENGTH);
    }

    /// Removes all but the newest windows.
    ///
    /// This method is called after the history has caused the limit to be reduced. If all windows
    /// were kept, the old windows would reduce the limit again after each new window, to far below
    /// the capacity of the service.
    pub(super) fn forget(&mut self) {
        self.len = self.len.min(KEPT);
    }

    /// Returns whether more requests in flight have led to longer holds rather than to more
    /// throughput.
    ///
    /// The method returns true if the throughput is negatively correlated with the number of
    /// requests in flight. The method also returns true if the holds are positively correlated with
    /// the number of requests in flight, while the throughput is hardly correlated with that number
    /// or hardly varies at all.
    ///
    /// Both conditions are taken from Failsafe-go's adaptive limiter, which adopted the first
    /// condition from Uber's Cinnamon. This implementation measures the throughput, whereas
    /// Failsafe-go estimates it as the number of requests in flight divided by the hold.
    pub(super) fn says_more_is_not_faster(&self) -> bool {
        if self.len < LEAST {
            return false;
        }
        let in_flight = self.series(|point| point.in_flight);
        let throughput = self.series(|point| point.throughput);
        let hold = self.series(|point| point.hold);
        let work = in_flight.correlation(&throughput);
        let time = in_flight.correlation(&hold);
        work < 0.0 || (time > 0.5 && (work < 0.3 || throughput.variation() < 0.2))
    }

    /// Returns the series of values that the closure selects from the points.
    #[expect(clippy::cast_precision_loss, reason = "there are at most `LENGTH` points")]
    fn series(&self, value: impl Fn(&Point) -> f64) -> Series {
        let points = &self.points[..self.len];
        let mean = points.iter().map(&value).sum::<f64>() / self.len as f64;
        let mut deviations = [0.0; LENGTH];
        for (deviation, point) in deviations.iter_mut().zip(points) {
            *deviation = value(point) - mean;
        }
        Series { mean, deviations, len: self.len as f64 }
    }
}

/// A series with one value per point, stored as deviations from the mean.
struct Series {
    mean: f64,
    /// The deviation of each point. The deviation of an unused point is zero, so unused points add
    /// nothing to a product.
    deviations: [f64; LENGTH],
    /// The number of points in use.
    len: f64,
}

impl Series {
    /// Returns Pearson's correlation with another series: a number from -1 to 1, or 0 if either
    /// series hardly varies.
    fn correlation(&self, other: &Self) -> f64 {
        if self.variation().min(other.variation()) < STILL {
            return 0.0;
        }
        self.product(other) / (self.product(self) * other.product(other)).sqrt()
    }

    /// Returns the standard deviation as a fraction of the mean.
    fn variation(&self) -> f64 {
        let deviation = (self.product(self) / self.len).sqrt();
        if self.mean > 0.0 { deviation / self.mean } else { 0.0 }
    }

    /// Returns the sum of the products of the deviations of two series.
    fn product(&self, other: &Self) -> f64 {
        self.deviations.iter().zip(&other.deviations).map(|(a, b)| a * b).sum()
    }
}

/// The minimum variation of a meaningful series. A smaller variation is due to rounding, so its
/// correlation with any other series is random.
const STILL: f64 = 1e-6;

/// The maximum number of windows in the history.
const LENGTH: usize = 20;

/// The minimum number of windows from which a correlation is computed.
const LEAST: usize = 8;

/// The number of windows that are kept after the limit has been reduced. `LEAST - KEPT` windows
/// with the lower limit then have to pass before a correlation is computed again.
const KEPT: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result of the history after windows with 10, 11, 12, … requests in flight.
    fn says_more_is_not_faster(
        windows: u32,
        throughput: impl Fn(f64) -> f64,
        hold: impl Fn(f64) -> f64,
    ) -> bool {
        let mut history = History::new();
        for in_flight in (10..10 + windows).map(f64::from) {
            history.add(&WindowReading {
                in_flight,
                peak: in_flight,
                throughput: throughput(in_flight),
                hold: hold(in_flight),
                overloaded: false,
                after_a_pause: false,
            });
        }
        history.says_more_is_not_faster()
    }

    #[test]
    fn more_concurrency_with_more_throughput_is_faster() {
        assert!(!says_more_is_not_faster(20, |n| 10.0 * n, |_| 0.1));
        // Running more requests at once is faster even if each request takes slightly longer.
        assert!(!says_more_is_not_faster(20, |n| 10.0 * n, |n| 0.1 + n / 1_000.0));
    }

    #[test]
    fn more_concurrency_with_less_throughput_is_not_faster() {
        assert!(says_more_is_not_faster(20, |n| 1_000.0 / n, |_| 0.1));
    }

    #[test]
    fn more_concurrency_with_equal_throughput_and_longer_holds_is_not_faster() {
        assert!(says_more_is_not_faster(20, |_| 100.0, |n| n / 100.0));
        assert!(says_more_is_not_faster(20, |n| 100.0 + n / 10.0, |n| n / 100.0));
    }

    #[test]
    fn barely_related_throughput_with_growing_holds_is_not_faster() {
        let up_and_down = |n: f64| if n % 2.0 == 0.0 { 50.0 } else { 150.0 };
        assert!(says_more_is_not_faster(20, up_and_down, |n| n / 100.0));
        assert!(!says_more_is_not_faster(20, up_and_down, |_| 0.1));
    }

    #[test]
    fn few_windows_and_equal_windows_give_no_verdict() {
        assert!(!says_more_is_not_faster(7, |n| 1_000.0 / n, |_| 0.1));
        assert!(says_more_is_not_faster(8, |n| 1_000.0 / n, |_| 0.1));
        assert!(!says_more_is_not_faster(20, |_| 100.1, |_| 0.1));
        let rounded_down = |n: f64| 100.0 - n / 1e9;
        assert!(!says_more_is_not_faster(20, rounded_down, |_| 0.1));
    }

    #[test]
    fn windows_before_the_last_twenty_are_forgotten() {
        let turn = |n: f64| if n < 20.0 { 10_000.0 / n } else { n };
        assert!(says_more_is_not_faster(20, turn, |_| 0.1));
        assert!(!says_more_is_not_faster(30, turn, |_| 0.1));
    }
}
