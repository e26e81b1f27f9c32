//! Averages that use a fixed amount of memory: a smoothed mean, and the median of many holds.

use std::time::Duration;

/// An exponential moving average over about the last `span` values.
///
/// The average begins as a plain mean, and becomes exponential once the weight of a new value has
/// fallen to its minimum. Otherwise, the first value would dominate the average for a long time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Average {
    mean: f64,
    /// The weight of the next value, which falls from 1 to `least_weight`.
    weight: f64,
    /// The final weight of each new value, 2 / (span + 1).
    least_weight: f64,
}

/// The median of holds, computed from a histogram.
///
/// The histogram covers holds from about a microsecond to about 73 minutes, with 16 buckets per
/// octave. A hold outside this range counts as the nearest hold within it.
///
/// The median is used rather than the mean, because a few streams among many short requests must
/// not make the service look slow. A histogram is used rather than the five markers of the P²
/// algorithm, because a single stream among twenty samples moves those markers far away from the
/// median.
#[derive(Clone, Copy, Debug)]
pub(super) struct Median {
    /// The number of holds in all buckets.
    count: u64,
    /// The number of holds in each bucket, with the shortest holds first.
    buckets: [u32; OCTAVES * SHARES],
}

impl Average {
    /// Creates an empty average over about the last `span` values.
    pub(super) fn over(span: u32) -> Self {
        Self { mean: 0.0, weight: 1.0, least_weight: 2.0 / (f64::from(span) + 1.0) }
    }

    /// Adds a value, and returns the new average.
    pub(super) fn add(&mut self, value: f64) -> f64 {
        self.mean += self.weight * (value - self.mean);
        // The weights 1, 1/2, 1/3, … yield a plain mean.
        self.weight = (self.weight / (1.0 + self.weight)).max(self.least_weight);
        self.mean
    }

    /// Multiplies the average by `share`.
    pub(super) fn scale(&mut self, share: f64) {
        self.mean *= share;
    }
}

impl Median {
    /// Creates an empty histogram.
    pub(super) const fn new() -> Self {
        Self { count: 0, buckets: [0; OCTAVES * SHARES] }
    }

    /// Adds a hold.
    pub(super) fn add(&mut self, hold: Duration) {
        let nanos = u64::try_from(hold.as_nanos()).unwrap_or(u64::MAX).clamp(SHORTEST, LONGEST);
        // The highest bit determines the octave, and the four bits below it determine the bucket
        // within the octave.
        let octave = nanos.ilog2();
        let share = (nanos >> (octave - SHARES.ilog2())) as usize % SHARES;
        let bucket = (octave - SHORTEST.ilog2()) as usize * SHARES + share;
        self.buckets[bucket] = self.buckets[bucket].saturating_add(1);
        self.count += 1;
    }

    /// Returns the median in seconds, interpolated as if the holds in a bucket were spread evenly
    /// over it. The median of an empty histogram is the shortest hold that the histogram
    /// distinguishes.
    #[expect(clippy::cast_precision_loss, reason = "the rounding error is smaller than a bucket")]
    pub(super) fn seconds(&self) -> f64 {
        let half = self.count as f64 / 2.0;
        let mut below = 0.0;
        for (index, &count) in self.buckets.iter().enumerate() {
            let count = f64::from(count);
            if below + count >= half && count > 0.0 {
                let octave = SHORTEST << (index / SHARES);
                let position = (index % SHARES) as f64 + (half - below) / count;
                return octave as f64 * (1.0 + position / SHARES as f64) / 1e9;
            }
            below += count;
        }
        SHORTEST as f64 / 1e9
    }
}

/// The number of octaves in the histogram. Each octave ranges from one power of two to the next.
const OCTAVES: usize = 32;

/// The number of buckets per octave, which must be a power of two.
const SHARES: usize = 16;

/// The shortest hold that the histogram distinguishes, in nanoseconds (about a microsecond).
const SHORTEST: u64 = 1 << 10;

/// The longest hold that the histogram distinguishes, in nanoseconds (about 73 minutes).
const LONGEST: u64 = (SHORTEST << OCTAVES) - 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn median(holds: impl IntoIterator<Item = Duration>) -> f64 {
        let mut median = Median::new();
        holds.into_iter().for_each(|hold| median.add(hold));
        median.seconds()
    }

    proptest! {
        #[test]
        fn the_median_is_within_a_bucket_of_the_sorted_one(
            mut nanos in prop::collection::vec(2_000..4_000_000_000_000u64, 1..200),
        ) {
            let median = median(nanos.iter().copied().map(Duration::from_nanos));
            nanos.sort_unstable();
            let middle = nanos[(nanos.len() - 1) / 2] as f64 / 1e9;
            prop_assert!((0.93..=1.07).contains(&(median / middle)), "{median} not {middle}");
        }
    }

    #[test]
    fn extreme_holds_count_as_the_nearest_bucket() {
        assert!((1e-6..2e-6).contains(&median([])));
        assert!((1e-6..2e-6).contains(&median([Duration::ZERO])));
        assert!((4_000.0..4_400.0).contains(&median([Duration::MAX])));
    }

    #[test]
    fn streams_among_short_requests_do_not_move_the_median() {
        let short = [Duration::from_millis(20); 18];
        let streams = [Duration::from_secs(600); 2];
        assert!((0.018..0.022).contains(&median(short.into_iter().chain(streams))));
    }

    #[test]
    fn the_first_values_have_equal_weights() {
        let mut average = Average::over(9);
        let means = [3.0, 5.0, 10.0].map(|value| average.add(value));
        assert!(means.iter().zip([3.0, 4.0, 6.0]).all(|(mean, plain)| (mean - plain).abs() < 1e-9));
    }

    #[test]
    fn later_values_weigh_two_over_the_span_plus_one() {
        let mut average = Average::over(9);
        (0..100).for_each(|_| _ = average.add(0.0));
        assert!((average.add(10.0) - 2.0).abs() < 1e-9);
    }
}
