//! All algorithms under all kinds of traffic.

use std::{iter, ops::Range};

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;
use waiting_room_core::Quota;

use super::{candidate::Candidate, exact::Truth, row::Row, traffic::Traffic, trial::Tally};

/// The results for one seed.
#[derive(Clone, Debug)]
pub(crate) struct Study {
    rows: Vec<Row>,
}

impl Study {
    /// Runs the study. The result depends on the seed and the traffic, not on the number of
    /// threads.
    pub(crate) fn run(seed: u64, traffic: &[Traffic]) -> Self {
        let mut rows = Vec::new();
        for (number, kind) in traffic.iter().enumerate() {
            let tallies = run(chance(seed, number), kind);
            rows.extend(Candidate::ALL.iter().zip(tallies).map(|(&candidate, tally)| {
                Row::new(seed, kind.name, &kind.quota, kind.sources, candidate, &tally)
            }));
        }
        rows.extend(Candidate::ALL.map(|candidate| {
            let quota = Quota::per_minute(100);
            Row::of_attack(seed, &quota, candidate, &candidate.attack(&quota))
        }));
        Self { rows }
    }

    /// One row for each kind of traffic and each algorithm; the adversary is last.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Returns whether the sliding log made the same decisions as the exact log, in both loops.
    pub(crate) fn log_is_exact(&self) -> bool {
        let name = Candidate::SlidingLog.name();
        self.rows.iter().filter(|row| row.algorithm == name).all(Row::is_exact)
    }
}

/// Runs all algorithms under one kind of traffic.
fn run(chance: u64, traffic: &Traffic) -> [Tally; 4] {
    let batches: Vec<_> = (0..traffic.sources.div_ceil(BATCH))
        .map(|batch| batch * BATCH..traffic.sources.min((batch + 1) * BATCH))
        .collect();
    let mut sum = [Tally::default(); 4];
    let tallies: Vec<_> =
        batches.par_iter().map(|batch| run_batch(chance, traffic, batch)).collect();
    for tallies in tallies {
        sum.iter_mut().zip(&tallies).for_each(|(sum, tally)| sum.add(tally));
    }
    sum
}

fn run_batch(chance: u64, traffic: &Traffic, sources: &Range<u64>) -> [Tally; 4] {
    let quota = &traffic.quota;
    let mut sum = [Tally::default(); 4];
    for source in sources.clone() {
        let mut rng = Pcg64Mcg::seed_from_u64(chance.wrapping_add(source));
        let arrivals = traffic.arrivals(&mut rng);
        let truth = Truth::of(&arrivals, quota.limit(), quota.window());
        for (sum, candidate) in sum.iter_mut().zip(Candidate::ALL) {
            sum.add(&candidate.try_out(quota, &arrivals, &truth));
        }
    }
    sum
}

/// Returns the seed of the first source of a kind of traffic. It is far from the seeds of all other
/// kinds.
fn chance(seed: u64, traffic: usize) -> u64 {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    iter::repeat_with(|| rng.next_u64()).nth(traffic).expect("the generator never ends")
}

/// The number of sources that a thread runs at a time. Sums of fractions depend on it.
const BATCH: u64 = 500;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accuracy::tests::small_traffic;

    #[test]
    fn only_a_wrong_decision_of_the_log_fails_the_study() {
        let study = Study::run(1, &small_traffic(1_000));
        assert!(study.log_is_exact());
        for wrong in 0..study.rows.len() {
            let mut study = study.clone();
            study.rows[wrong].closed_wrongly_allowed += 1;
            let is_log = study.rows[wrong].algorithm == "sliding log";
            assert_eq!(study.log_is_exact(), !is_log);
        }
    }
}
