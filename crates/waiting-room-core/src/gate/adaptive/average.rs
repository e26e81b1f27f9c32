//! An exponentially weighted mean.

/// A mean in which the latest of `span` values weigh most.
///
/// Until there were so many it is the plain mean, so that the first value is not what it starts
/// from for ever.
#[derive(Clone, Copy, Debug)]
pub(super) struct Average {
    mean: f64,
    weight: f64,
    /// The share of the next value.
    least_weight: f64,
}

impl Average {
    /// A mean of nothing yet.
    pub(super) fn over(span: u32) -> Self {
        Self { mean: 0.0, weight: 1.0, least_weight: 2.0 / (f64::from(span) + 1.0) }
    }

    /// Takes in another value; the mean with it.
    pub(super) fn add(&mut self, value: f64) -> f64 {
        self.mean += self.weight * (value - self.mean);
        // 1, 1/2, 1/3, … are the shares of a plain mean.
        self.weight = (self.weight / (1.0 + self.weight)).max(self.least_weight);
        self.mean
    }

    /// Shrinks the mean to this share of itself.
    pub(super) fn scale(&mut self, share: f64) {
        self.mean *= share;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_values_weigh_alike() {
        let mut average = Average::over(9);
        let means = [3.0, 5.0, 10.0].map(|value| average.add(value));
        assert!(means.iter().zip([3.0, 4.0, 6.0]).all(|(mean, plain)| (mean - plain).abs() < 1e-9));
    }

    #[test]
    fn later_each_value_weighs_two_in_one_more_than_the_span() {
        let mut average = Average::over(9);
        (0..100).for_each(|_| _ = average.add(0.0));
        assert!((average.add(10.0) - 2.0).abs() < 1e-9);
    }
}
