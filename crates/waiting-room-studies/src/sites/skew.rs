//! Who of several gets how much of what comes.

/// Weights to choose by.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Skew {
    /// The sums of the weights so far; the last is 1.
    sums: Vec<f64>,
}

impl Skew {
    /// In proportion to these weights, of which one at least is more than 0.
    pub(super) fn by(weights: impl IntoIterator<Item = f64>) -> Self {
        let mut sum = 0.0;
        let mut sums: Vec<f64> = Vec::new();
        for weight in weights {
            sum += weight;
            sums.push(sum);
        }
        debug_assert!(sum > 0.0, "somebody has to be chosen");
        sums.iter_mut().for_each(|part| *part /= sum);
        Self { sums }
    }

    /// The `n`-th of `count` in proportion to `1 / n^exponent`; 0 is evenly.
    pub(super) fn zipf(count: usize, exponent: f64) -> Self {
        Self::by((1..=count.max(1)).map(|rank| (rank as f64).powf(-exponent)))
    }

    /// The one at this place from 0 to 1.
    pub(super) fn choose(&self, place: f64) -> usize {
        self.sums.partition_point(|sum| *sum <= place).min(self.sums.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_chosen_in_proportion_to_the_weight() {
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
