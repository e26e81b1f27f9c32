//! The request rates of sources.

use rand::RngExt;
use rand_distr::{Distribution, Exp1, OpenClosed01, StandardNormal};
use rand_pcg::Pcg64Mcg;

/// The distribution of the request rates of sources, in requests per minute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rates {
    /// Within a fifth of this rate.
    Around(f64),
    /// Lognormal: the logarithm of a rate has a standard deviation of [`SPREAD`].
    LogNormal { median: f64 },
    /// Pareto with the exponent [`TAIL`], and at most [`BUSIEST`].
    Pareto { least: f64 },
}

impl Rates {
    pub(super) fn sample(self, rng: &mut Pcg64Mcg) -> f64 {
        match self {
            Self::Around(center) => center * rng.random_range(0.8..1.2),
            Self::LogNormal { median } => log_normal(median, SPREAD, rng).min(BUSIEST),
            Self::Pareto { least } => pareto(least, TAIL, rng).min(BUSIEST),
        }
    }

    /// The mean rate. For the lognormal distribution the upper bound is ignored, since it is out of
    /// reach.
    pub(super) fn mean(self) -> f64 {
        match self {
            Self::Around(center) => center,
            Self::LogNormal { median } => median * (SPREAD * SPREAD / 2.0).exp(),
            Self::Pareto { least } => {
                (TAIL * least - least.powf(TAIL) * BUSIEST.powf(1.0 - TAIL)) / (TAIL - 1.0)
            }
        }
    }
}

/// Draws from a Pareto distribution: at least `least`, and above x with a probability of (least /
/// x)^`tail`.
pub(super) fn pareto(least: f64, tail: f64, rng: &mut Pcg64Mcg) -> f64 {
    let chance: f64 = OpenClosed01.sample(rng);
    least * chance.powf(-1.0 / tail)
}

/// Draws from an exponential distribution.
pub(super) fn exponential(mean: f64, rng: &mut Pcg64Mcg) -> f64 {
    let sample: f64 = Exp1.sample(rng);
    mean * sample
}

/// Draws from a lognormal distribution.
pub(super) fn log_normal(median: f64, spread: f64, rng: &mut Pcg64Mcg) -> f64 {
    let deviation: f64 = StandardNormal.sample(rng);
    median * (spread * deviation).exp()
}

/// The exponent of the heavy tails of human behaviour.
pub(super) const TAIL: f64 = 1.1;
/// The highest rate of a source in requests per minute: a thousand per second.
const BUSIEST: f64 = 60_000.0;
const SPREAD: f64 = 1.5;

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::accuracy::tests::seeds;

    fn mean(rates: Rates, seed: u64) -> f64 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let count = 400_000;
        (0..count).map(|_| rates.sample(&mut rng)).sum::<f64>() / f64::from(count)
    }

    #[test]
    fn the_means_are_as_calculated() {
        for seed in seeds(3) {
            // The heavier the tail, the more slowly the mean converges.
            for (rates, tolerance) in [
                (Rates::Around(50.0), 0.005),
                (Rates::LogNormal { median: 5.0 }, 0.05),
                (Rates::Pareto { least: 1.0 }, 0.3),
            ] {
                let ratio = mean(rates, seed) / rates.mean();
                assert!((ratio - 1.0).abs() < tolerance, "{rates:?}: {ratio}");
            }
        }
    }

    #[test]
    fn one_in_a_hundred_of_a_pareto_crowd_is_beyond_the_hundredth() {
        for seed in seeds(3) {
            let mut rng = Pcg64Mcg::seed_from_u64(seed);
            let count = 200_000;
            let bound = 100.0_f64.powf(1.0 / TAIL);
            let beyond = (0..count).filter(|_| pareto(1.0, TAIL, &mut rng) > bound).count();
            assert!((1_700..2_300).contains(&beyond), "{beyond}");
        }
    }
}
