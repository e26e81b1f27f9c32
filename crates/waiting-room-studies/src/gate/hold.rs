//! How long requests run.

use std::time::Duration;

use rand::RngExt;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;

/// How long a request runs, whatever else does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hold {
    /// Exponentially distributed, with this mean.
    Exponential(Duration),
    /// Nine of ten for 2 ms and one for 82 ms, so 10 ms on average.
    HeavyTail,
}

impl Hold {
    pub(super) fn sample(self, rng: &mut Pcg64Mcg) -> Duration {
        match self {
            Self::Exponential(mean) => {
                let multiple: f64 = Exp1.sample(rng);
                mean.mul_f64(multiple)
            }
            Self::HeavyTail if rng.random_bool(0.1) => Duration::from_millis(82),
            Self::HeavyTail => Duration::from_millis(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use waiting_room_sim::seeds;

    use super::*;

    #[test]
    fn both_kinds_of_requests_run_for_ten_milliseconds_on_average() {
        for seed in seeds(3) {
            let mut rng = Pcg64Mcg::seed_from_u64(seed);
            for hold in [Hold::Exponential(Duration::from_millis(10)), Hold::HeavyTail] {
                let total: Duration = (0..200_000).map(|_| hold.sample(&mut rng)).sum();
                // Six standard deviations of the heavier one.
                assert!((total.as_secs_f64() / 2_000.0 - 1.0).abs() < 0.033, "{total:?}");
            }
        }
    }
}
