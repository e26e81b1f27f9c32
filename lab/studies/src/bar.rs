//! Bars: bounds that the figures of a study have to meet, with each seed or on average.

use std::fmt;

use crate::sheet::{Sheet, Spread};

/// A bar, and the figure that comes closest to violating it.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    what: String,
    bound: Bound,
    worst: f64,
}

/// The bound on a figure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bar {
    /// A bar for each line that `wanted` selects, which every seed has to meet.
    pub(crate) fn of(
        sheet: &Sheet,
        column: &str,
        wanted: impl Fn(&str) -> bool,
        bound: Bound,
    ) -> Vec<Self> {
        Self::held_against(sheet, column, wanted, bound, |figure| match bound {
            Bound::AtLeast(_) => figure.least(),
            Bound::AtMost(_) => figure.most(),
        })
    }

    /// A bar for each line that `wanted` selects, which the mean of the seeds has to meet: for
    /// properties that usually hold, but are not promised.
    pub(crate) fn of_mean(
        sheet: &Sheet,
        column: &str,
        wanted: impl Fn(&str) -> bool,
        bound: Bound,
    ) -> Vec<Self> {
        let bars = Self::held_against(sheet, column, wanted, bound, Spread::mean);
        bars.into_iter()
            .map(|bar| Self { what: format!("{}, on average", bar.what), ..bar })
            .collect()
    }

    fn held_against(
        sheet: &Sheet,
        column: &str,
        wanted: impl Fn(&str) -> bool,
        bound: Bound,
        figure: impl Fn(&Spread) -> f64,
    ) -> Vec<Self> {
        let lines = sheet.figures(column, &wanted);
        let bars: Vec<_> = lines
            .map(|(name, spread)| Self {
                what: format!("{}: {name}: {column}", sheet.name),
                bound,
                worst: figure(spread),
            })
            .collect();
        // Without a line there is no bar, and nothing would ever be missed.
        assert!(!bars.is_empty(), "{}: {column}: no line has a bar", sheet.name);
        bars
    }

    /// Returns whether the bar is met. A figure that could not be measured meets no bar.
    pub(crate) fn is_met(&self) -> bool {
        match self.bound {
            Bound::AtLeast(bound) => self.worst >= bound,
            Bound::AtMost(bound) => self.worst <= bound,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let met = if self.is_met() { "met" } else { "MISSED" };
        let (word, bound) = match self.bound {
            Bound::AtLeast(bound) => ("at least", bound),
            Bound::AtMost(bound) => ("at most", bound),
        };
        write!(f, "{met}: {}: {:.2} (required: {word} {bound})", self.what, self.worst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::Column;

    /// A sheet with one figure of one policy, by seed.
    fn sheet(figures: &[f64]) -> Sheet {
        let by_seed = figures.iter().map(|&figure| vec![figure]).collect();
        let columns = &[Column { name: "success %", decimals: 1 }];
        Sheet::new(("bursts", "Bursts"), columns, [("it".to_owned(), by_seed)].into_iter())
    }

    fn is_met(figures: &[f64], bound: Bound) -> bool {
        let bars = Bar::of(&sheet(figures), "success %", |_| true, bound);
        assert_eq!(bars.len(), 1);
        bars[0].is_met()
    }

    #[test]
    fn a_bar_is_missed_if_one_seed_misses_it() {
        assert!(is_met(&[99.0, 100.0], Bound::AtLeast(99.0)));
        assert!(!is_met(&[100.0, 98.999, 100.0], Bound::AtLeast(99.0)));
        assert!(is_met(&[2.5, 1.0], Bound::AtMost(2.5)));
        assert!(!is_met(&[1.0, 2.501], Bound::AtMost(2.5)));
    }

    #[test]
    fn a_bar_of_the_mean_is_missed_if_the_mean_misses_it() {
        let is_met = |figures: &[f64], bound| {
            Bar::of_mean(&sheet(figures), "success %", |_| true, bound)[0].is_met()
        };
        assert!(is_met(&[79.0, 81.0], Bound::AtMost(80.0)));
        assert!(!is_met(&[79.1, 81.0], Bound::AtMost(80.0)));
        assert!(!is_met(&[79.0, f64::NAN], Bound::AtMost(80.0)));
    }

    #[test]
    fn a_bar_without_a_measurement_is_missed() {
        assert!(!is_met(&[f64::NAN], Bound::AtLeast(0.0)));
        assert!(!is_met(&[100.0, f64::NAN], Bound::AtLeast(0.0)));
        assert!(!is_met(&[f64::NAN, 1.0], Bound::AtMost(2.5)));
    }
}
