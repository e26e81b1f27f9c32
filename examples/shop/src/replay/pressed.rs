//! A stretch of a day, pressed into less time and scaled to a room.

use std::time::Duration;

use rand::{Rng, RngExt};

/// How many visitors come in each of many equal parts of a short time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pressed {
    visitors: Vec<u32>,
    part: Duration,
    over: Duration,
}

impl Pressed {
    /// Presses the counts into the time `over`, so that the highest comes to `peak` visitors a
    /// minute.
    ///
    /// Visitors are whole, so what is rounded off one part goes to the next.
    pub(crate) fn new(counts: &[u32], over: Duration, peak: f64) -> Self {
        let parts = u32::try_from(counts.len()).unwrap_or(u32::MAX).max(1);
        let part = over / parts;
        let highest = counts.iter().copied().max().unwrap_or(0).max(1);
        let scale = peak * part.as_secs_f64() / 60.0 / f64::from(highest);
        let (mut come, mut sum) = (0_u32, 0.0);
        let visitors = counts.iter().map(|&count| {
            sum += f64::from(count) * scale;
            let next = rounded(sum) - come;
            come += next;
            next
        });
        Self { visitors: visitors.collect(), part, over }
    }

    /// How many visitors come, all in all.
    pub(crate) fn visitors(&self) -> u32 {
        self.visitors.iter().fold(0, |sum, &part| sum.saturating_add(part))
    }

    /// The most visitors a minute.
    pub(crate) fn peak_per_minute(&self) -> f64 {
        let highest = self.visitors.iter().copied().max().unwrap_or(0);
        f64::from(highest) * 60.0 / self.part.as_secs_f64()
    }

    /// Within which time they come.
    pub(crate) const fn over(&self) -> Duration {
        self.over
    }

    /// When each of them comes, in order: anywhere in its part.
    pub(crate) fn arrivals(&self, chance: &mut impl Rng) -> Vec<Duration> {
        let mut arrivals = Vec::new();
        let mut begin = Duration::ZERO;
        for &visitors in &self.visitors {
            for _ in 0..visitors {
                arrivals.push(begin + self.part.mul_f64(chance.random_range(0.0..1.0)));
            }
            begin += self.part;
        }
        arrivals.sort_unstable();
        arrivals
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a conversion of a float to an integer saturates, and the sum is not negative"
)]
fn rounded(sum: f64) -> u32 {
    sum.round() as u32
}
