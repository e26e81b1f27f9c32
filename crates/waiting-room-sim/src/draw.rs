//! The fairness of draws: the order in which entrants arrived, against the places that they got.
//!
//! The entrants of a draw are divided into groups, in their order of arrival, and the places into as
//! many groups. In a fair draw, each group of entrants gets equally many places of each group on
//! average, so no visitor gains by coming early or late.

use std::f64::consts::SQRT_2;

use serde::Serialize;

/// Counts which places the entrants of several draws got.
///
/// ```
/// use waiting_room_sim::DrawTally;
///
/// // Four entrants in two groups. Those who came first are always ahead.
/// let mut tally = DrawTally::new(4, 2);
/// for draw in 0..50 {
///     tally.record(if draw % 2 == 0 { &[1, 2, 3, 4] } else { &[2, 1, 4, 3] });
/// }
/// assert!(tally.bias().p < 1e-9);
/// ```
#[derive(Clone, Debug)]
pub struct DrawTally {
    /// For each group of entrants, how often it got the places of each group.
    counts: Vec<Vec<u32>>,
    entrants: usize,
    draws: u32,
}

/// How far draws are from a fair one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DrawBias {
    /// The number of draws.
    pub draws: u32,
    /// The chi-squared statistic of the places.
    pub chi_squared: f64,
    /// Its degrees of freedom.
    pub degrees: u32,
    /// The probability that a fair draw has a statistic at least as large.
    pub p: f64,
}

impl DrawTally {
    /// Creates an empty tally for draws with this number of entrants.
    ///
    /// # Panics
    ///
    /// If there are fewer than two groups, or if they are not of equal size.
    #[must_use]
    pub fn new(entrants: usize, groups: usize) -> Self {
        assert!(groups >= 2, "there are {groups} groups, expected at least 2");
        assert!(
            entrants >= groups && entrants.is_multiple_of(groups),
            "there are {entrants} entrants, expected a multiple of {groups}, the number of groups"
        );
        Self { counts: vec![vec![0; groups]; groups], entrants, draws: 0 }
    }

    /// Records one draw: the places of the entrants in their order of arrival, counted from 1.
    ///
    /// # Panics
    ///
    /// If the number of places is not that of the entrants, or if there is no such place.
    pub fn record(&mut self, places: &[u32]) {
        assert_eq!(places.len(), self.entrants, "each entrant has a place");
        let size = self.entrants / self.counts.len();
        for (entrant, place) in places.iter().enumerate() {
            self.counts[entrant / size][(*place as usize - 1) / size] += 1;
        }
        self.draws += 1;
    }

    /// The result of all draws so far, by Pearson's chi-squared test.
    ///
    /// Each draw assigns each place exactly once, which makes the statistic larger by a factor of
    /// n / (n - 1) for n entrants. The result is corrected by this factor.
    #[must_use]
    pub fn bias(&self) -> DrawBias {
        let groups = self.counts.len() as f64;
        let entrants = self.entrants as f64;
        let expected = f64::from(self.draws) * entrants / (groups * groups);
        let squares =
            self.counts.iter().flatten().map(|count| (f64::from(*count) - expected).powi(2));
        let sum: f64 = squares.sum();
        let chi_squared =
            if self.draws == 0 { 0.0 } else { sum / expected * (entrants - 1.0) / entrants };
        let degrees = u32::try_from((self.counts.len() - 1).pow(2)).unwrap_or(u32::MAX);
        let p = exceeded_by_chance(chi_squared, f64::from(degrees));
        DrawBias { draws: self.draws, chi_squared, degrees, p }
    }
}

impl DrawBias {
    /// The smallest probability of a draw that counts as fair. A fair draw falls below it in one of
    /// a million runs, so a check may use fresh seeds each time.
    pub const LEAST_P: f64 = 1e-6;

    /// Whether the draws are as fair as chance makes them.
    #[must_use]
    pub fn is_fair(&self) -> bool {
        self.p >= Self::LEAST_P
    }
}

/// The probability that a chi-squared distribution exceeds `statistic`, by the approximation of
/// Wilson and Hilferty.
fn exceeded_by_chance(statistic: f64, degrees: f64) -> f64 {
    let part = 2.0 / (9.0 * degrees);
    let deviations = ((statistic / degrees).cbrt() - (1.0 - part)) / part.sqrt();
    libm::erfc(deviations / SQRT_2) / 2.0
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, seq::SliceRandom};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::seeds::seeds;

    /// The result of 100 draws of 32 entrants in 8 groups.
    fn bias(seed: u64, mut draw: impl FnMut(&mut Vec<u32>, &mut Pcg64Mcg)) -> DrawBias {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut tally = DrawTally::new(32, 8);
        for _ in 0..100 {
            let mut places: Vec<u32> = (1..=32).collect();
            draw(&mut places, &mut rng);
            tally.record(&places);
        }
        tally.bias()
    }

    #[test]
    fn known_quantiles_of_the_distribution_have_their_probabilities() {
        // From a table of the chi-squared distribution.
        for (statistic, degrees, p) in
            [(85.35, 49.0, 1e-3), (66.34, 49.0, 0.05), (48.33, 49.0, 0.5), (124.84, 100.0, 0.0469)]
        {
            let found = exceeded_by_chance(statistic, degrees);
            assert!((found / p - 1.0).abs() < 0.03, "{found} instead of {p}");
        }
    }

    #[test]
    fn fair_draws_are_fair_and_their_probabilities_are_uniform() {
        for seed in seeds(1) {
            let runs: Vec<_> = (0..400)
                .map(|run| bias(seed.wrapping_add(run), |places, rng| places.shuffle(rng)))
                .collect();
            assert!(runs.iter().all(DrawBias::is_fair), "{runs:?}");
            let low = runs.iter().filter(|bias| bias.p < 0.25).count();
            // Ten standard deviations.
            assert!((20..190).contains(&low), "{low} of 400 are below 0.25, expected about 100");
        }
    }

    #[test]
    fn the_order_of_arrival_is_no_draw() {
        let bias = bias(1, |_, _| {});
        assert!(bias.p < 1e-100 && !bias.is_fair(), "{bias:?}");
    }

    #[test]
    fn a_small_advantage_of_early_arrivals_is_found() {
        for seed in seeds(3) {
            // In half of the draws, those who came first get their places in the order of arrival.
            let favors = |places: &mut Vec<u32>, rng: &mut Pcg64Mcg| {
                places.shuffle(rng);
                if rng.random_bool(0.5) {
                    places[..16].sort_unstable();
                }
            };
            let bias = bias(seed, favors);
            assert!(!bias.is_fair(), "{bias:?}");
        }
    }
}
