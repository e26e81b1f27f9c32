//! The times at which the visitors of a crowd arrive.

use std::time::Duration;

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1};

/// The times at which the visitors of a group arrive, counted from the start of the crowd.
///
/// Random times are drawn from the seed of the crowd, as whole milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals(ArrivalTimes);

#[derive(Clone, Debug, PartialEq)]
enum ArrivalTimes {
    /// The visitors arrive at these times.
    At(Vec<Duration>),
    /// They arrive after this time, at a rate that falls.
    Burst { after: Duration, mean: Duration },
    /// They arrive within this time, at a constant rate.
    Within(Duration),
}

impl Arrivals {
    /// All visitors arrive at once, at the start.
    #[must_use]
    pub const fn at_once() -> Self {
        Self(ArrivalTimes::Within(Duration::ZERO))
    }

    /// One visitor arrives at each of these times. The group must have as many visitors as there
    /// are times.
    #[must_use]
    pub fn at(times: impl IntoIterator<Item = Duration>) -> Self {
        Self(ArrivalTimes::At(times.into_iter().collect()))
    }

    /// The visitors arrive at random times within `duration`, as a Poisson process that has one
    /// arrival for each visitor.
    #[must_use]
    pub const fn within(duration: Duration) -> Self {
        Self(ArrivalTimes::Within(duration))
    }

    /// The doors open at `after`: no visitor arrives before that time, most arrive right after it,
    /// and their delays are exponentially distributed with this mean.
    #[must_use]
    pub const fn doors_open(after: Duration, mean: Duration) -> Self {
        Self(ArrivalTimes::Burst { after, mean })
    }

    /// Returns the times of `count` visitors, in order.
    ///
    /// # Panics
    ///
    /// Panics if the times were listed and there are not `count` of them.
    #[track_caller]
    pub(crate) fn draw(&self, count: u32, random: &mut impl Rng) -> Vec<Duration> {
        let mut draw = || match &self.0 {
            ArrivalTimes::Within(duration) => duration.mul_f64(random.random()),
            ArrivalTimes::Burst { after, mean } => {
                let late: f64 = Exp1.sample(random);
                *after + mean.mul_f64(late)
            }
            ArrivalTimes::At(_) => Duration::ZERO,
        };
        let mut times: Vec<_> = match &self.0 {
            ArrivalTimes::At(times) => {
                let given = times.len();
                assert!(
                    u32::try_from(given) == Ok(count),
                    "arrivals has {given} times, expected one for each of {count} visitors"
                );
                times.clone()
            }
            ArrivalTimes::Burst { .. } | ArrivalTimes::Within(_) => {
                (0..count).map(|_| draw()).map(whole_millis).collect()
            }
        };
        times.sort_unstable();
        times
    }
}

fn whole_millis(time: Duration) -> Duration {
    Duration::new(time.as_secs(), time.subsec_millis() * 1_000_000)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn draw(arrivals: &Arrivals, count: u32, seed: u64) -> Vec<Duration> {
        arrivals.draw(count, &mut Pcg64Mcg::seed_from_u64(seed))
    }

    #[test]
    fn arrivals_are_in_order_within_their_time_and_the_same_for_the_same_seed() {
        let times = draw(&Arrivals::within(MINUTE), 10_000, 7);
        assert!(times.is_sorted() && times[9_999] < MINUTE);
        // Ten standard deviations.
        let early = times.iter().filter(|&&at| at < MINUTE / 4).count();
        assert!(early.abs_diff(2_500) < 433, "{early}");
        assert_eq!(times, draw(&Arrivals::within(MINUTE), 10_000, 7));
        assert_ne!(times, draw(&Arrivals::within(MINUTE), 10_000, 8));
        assert_eq!(draw(&Arrivals::at_once(), 2, 1), [Duration::ZERO; 2]);
    }

    #[test]
    fn a_burst_begins_when_the_doors_open_and_ebbs_away() {
        let times = draw(&Arrivals::doors_open(MINUTE, MINUTE / 6), 10_000, 7);
        assert!(times[0] >= MINUTE && times.is_sorted());
        let late = times.iter().filter(|&&at| at > MINUTE + MINUTE / 6).count();
        // The share of 1/e, give or take ten standard deviations.
        assert!(late.abs_diff(3_679) < 482, "{late}");
    }

    #[test]
    fn listed_times_are_taken_as_they_are() {
        let listed = Arrivals::at([MINUTE, Duration::ZERO]);
        assert_eq!(draw(&listed, 2, 1), [Duration::ZERO, MINUTE]);
    }

    #[test]
    #[should_panic(expected = "arrivals has 2 times, expected one for each of 3 visitors")]
    fn a_list_of_another_length_is_refused() {
        draw(&Arrivals::at([MINUTE; 2]), 3, 1);
    }
}
