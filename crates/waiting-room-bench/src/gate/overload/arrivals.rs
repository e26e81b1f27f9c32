//! When clients come.

use std::time::Duration;

use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use rand_distr::Exp1;

/// A Poisson process: the times of arrival in order, without an end.
pub(super) struct Arrivals {
    chance: Xoshiro256PlusPlus,
    per_second: f64,
    now: Duration,
}

impl Arrivals {
    pub(super) fn new(per_second: f64, seed: u64) -> Self {
        let chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self { chance, per_second, now: Duration::ZERO }
    }
}

impl Iterator for Arrivals {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let gap: f64 = self.chance.sample(Exp1);
        self.now += Duration::from_secs_f64(gap / self.per_second);
        Some(self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_come_at_the_rate_that_was_asked_for_and_at_the_same_times_again() {
        let come = |seed| Arrivals::new(100.0, seed).take_while(|at| at.as_secs() < 100);
        let many = come(1).count();
        assert!((9_700..10_300).contains(&many), "{many}");
        assert!(come(1).eq(come(1)) && !come(1).eq(come(2)));
    }
}
