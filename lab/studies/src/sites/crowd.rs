//! The visitors of a scenario: their arrivals, times and sites.

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;

use super::{
    clock::{SECOND, from_seconds},
    scenario::{Scenario, Visitors},
};

/// The visitors of a scenario, in the order of arrival.
///
/// The visitors depend only on the seed, and not on any decision: every policy meets the same
/// visitors, at the same times and places.
#[derive(Debug)]
pub(super) struct Crowd {
    rng: Pcg64Mcg,
    points: Vec<(f64, f64)>,
    /// The point at which the current segment of the traffic begins.
    line: usize,
    visitors: Visitors,
    weights: Vec<f64>,
    by_site: Skew,
    second: u32,
    /// The position within the second, from 0 to 1.
    place: f64,
    ends: u32,
}

/// A visitor who arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Newcomer {
    pub(super) at: u32,
    pub(super) site: u16,
    pub(super) browsing: u32,
    pub(super) is_bot: bool,
}

impl Crowd {
    pub(super) fn new(scenario: &Scenario, seed: u64) -> Self {
        let weights = scenario.sites.weights.clone();
        Self {
            rng: Pcg64Mcg::seed_from_u64(seed),
            points: scenario.traffic.clone(),
            line: 0,
            visitors: scenario.visitors,
            by_site: Skew::by(weights.iter().copied()),
            weights,
            second: 0,
            place: 0.0,
            ends: scenario.length_ms() / SECOND,
        }
    }

    /// Closes a site. Its future visitors go to the other sites.
    pub(super) fn close(&mut self, site: usize) {
        self.weights[site] = 0.0;
        self.by_site = Skew::by(self.weights.iter().copied());
    }

    /// The site to which a visitor goes whose own site is closed. `place` is from 0 to 1.
    pub(super) fn site_at(&self, place: f64) -> u16 {
        u16::try_from(self.by_site.choose(place)).expect("as many sites as a scenario may have")
    }

    /// The arrivals per minute in the current second.
    fn per_minute(&mut self) -> f64 {
        let at = f64::from(self.second) + 0.5;
        while self.points.get(self.line + 1).is_some_and(|(end, _)| *end <= at) {
            self.line += 1;
        }
        let (from, first) = self.points[self.line];
        match self.points.get(self.line + 1) {
            Some((to, last)) if at >= from => first + (last - first) * (at - from) / (to - from),
            _ => 0.0,
        }
    }

    fn site(&mut self) -> u16 {
        // The figures in the documentation were measured with two numbers for each visitor.
        let [place, _]: [f64; 2] = self.rng.random();
        self.site_at(place)
    }
}

impl Iterator for Crowd {
    type Item = Newcomer;

    fn next(&mut self) -> Option<Newcomer> {
        while self.second < self.ends {
            let rate = self.per_minute() / 60.0;
            let gap: f64 = Exp1.sample(&mut self.rng);
            // Without traffic the rate is zero, so the position becomes infinite.
            self.place += gap / rate;
            if self.place < 1.0 {
                let at = SECOND * self.second + from_seconds(self.place).min(SECOND - 1);
                let site = self.site();
                let stay: f64 = Exp1.sample(&mut self.rng);
                let browsing = from_seconds(stay * self.visitors.browsing);
                let is_bot = self.rng.random_bool(self.visitors.bots);
                return Some(Newcomer { at, site, browsing, is_bot });
            }
            // The process has no memory, so it may start anew in each second.
            self.second += 1;
            self.place = 0.0;
        }
        None
    }
}

/// Weights for a random choice.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Skew {
    /// The cumulative sums of the weights. The last one is 1.
    sums: Vec<f64>,
}

impl Skew {
    /// A choice in proportion to these weights, at least one of which is above 0.
    pub(super) fn by(weights: impl IntoIterator<Item = f64>) -> Self {
        let mut sum = 0.0;
        let mut sums: Vec<f64> = Vec::new();
        for weight in weights {
            sum += weight;
            sums.push(sum);
        }
        debug_assert!(sum > 0.0, "one weight is above 0");
        sums.iter_mut().for_each(|part| *part /= sum);
        Self { sums }
    }

    /// A choice among `count`, where the n-th has the weight `1 / n^exponent`. With the exponent 0
    /// all are alike.
    pub(super) fn zipf(count: usize, exponent: f64) -> Self {
        Self::by((1..=count.max(1)).map(|rank| (rank as f64).powf(-exponent)))
    }

    /// The index at this position from 0 to 1.
    pub(super) fn choose(&self, place: f64) -> usize {
        self.sums.partition_point(|sum| *sum <= place).min(self.sums.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_chosen_in_proportion_to_its_weight() {
        let skew = Skew::by([1.0, 0.0, 3.0]);
        let chosen = [0.0, 0.24, 0.25, 0.9, 1.0].map(|place| skew.choose(place));
        assert_eq!(chosen, [0, 0, 2, 2, 2]);
    }

    #[test]
    fn zipf_gives_the_second_a_part_by_the_exponent() {
        let ratio = |exponent| {
            let Skew { sums } = Skew::zipf(5, exponent);
            sums[0] / (sums[1] - sums[0])
        };
        assert!((ratio(0.0) - 1.0).abs() < 1e-9);
        assert!((ratio(1.0) - 2.0).abs() < 1e-9);
        assert!((ratio(2.0) - 4.0).abs() < 1e-9);
    }
}
