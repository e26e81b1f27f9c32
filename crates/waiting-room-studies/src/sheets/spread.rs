//! One figure with several seeds.

/// What was measured, once for each seed. Where nothing could be measured it is not a number.
#[derive(Clone, Debug)]
pub(crate) struct Spread(pub(crate) Vec<f64>);

impl Spread {
    pub(crate) fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// The least, and not a number if one is not: what was not measured may be worse.
    pub(crate) fn least(&self) -> f64 {
        self.0.iter().copied().reduce(f64::min).map_or(f64::NAN, |least| self.known(least))
    }

    /// The most, and not a number if one is not.
    pub(crate) fn most(&self) -> f64 {
        self.0.iter().copied().reduce(f64::max).map_or(f64::NAN, |most| self.known(most))
    }

    fn known(&self, figure: f64) -> f64 {
        if self.mean().is_nan() { f64::NAN } else { figure }
    }

    /// The mean, and how far the seed that is the farthest off is from it.
    pub(crate) fn text(&self, decimals: usize) -> String {
        let mean = self.mean();
        if mean.is_nan() {
            return "–".to_owned();
        }
        let off = (self.most() - mean).max(mean - self.least());
        if self.0.len() == 1 {
            return format!("{mean:.decimals$}");
        }
        format!("{mean:.decimals$} ±{off:.decimals$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_its_mean_and_the_farthest_seed() {
        assert_eq!(Spread(vec![1.0, 2.0, 6.0]).text(1), "3.0 ±3.0");
        assert_eq!(Spread(vec![1.25]).text(1), "1.2");
        assert_eq!(Spread(vec![f64::NAN, 1.0]).text(1), "–");
    }
}
