//! What the gate has to reach, with each seed.

use std::fmt;

use super::{sheet::Sheet, study::Study};

/// A bar, and the figure that is the closest to it.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    what: String,
    bound: Bound,
    worst: f64,
}

#[derive(Clone, Copy, Debug)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bar {
    /// All bars of a study.
    pub(super) fn all(study: &Study) -> Vec<Self> {
        let default = |name: &str| name.starts_with("ControlledDelay (default)");
        let fair = |name: &str| name.starts_with("FairByTenant(Each), 1 name");
        let gates = |name: &str| name.starts_with("virtual slot");
        [
            Self::of(&study.overload, "2x: goodput %", default, Bound::AtLeast(97.0)),
            Self::of(&study.overload_noticed, "2x: goodput %", default, Bound::AtLeast(97.0)),
            Self::of(&study.bursts, "success %", default, Bound::AtLeast(99.0)),
            Self::of(&study.fairness, "mice: success %", fair, Bound::AtLeast(99.0)),
            Self::of(&study.crowd, "attempts per client", gates, Bound::AtMost(2.5)),
        ]
        .concat()
    }

    fn of(sheet: &Sheet, column: &str, wanted: impl Fn(&str) -> bool, bound: Bound) -> Vec<Self> {
        let figures = sheet.figures(column, &wanted);
        let bars = figures.map(|(name, figure)| {
            let worst = match bound {
                Bound::AtLeast(_) => figure.least(),
                Bound::AtMost(_) => figure.most(),
            };
            Self { what: format!("{}: {name}: {column}", sheet.name), bound, worst }
        });
        bars.collect()
    }

    /// A figure that could not be measured meets no bar.
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
        write!(f, "{met}: {}: {:.2}, {word} {bound}", self.what, self.worst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::sheet::Column;

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
    fn a_bar_of_what_could_not_be_measured_is_missed() {
        assert!(!is_met(&[f64::NAN], Bound::AtLeast(0.0)));
        assert!(!is_met(&[100.0, f64::NAN], Bound::AtLeast(0.0)));
        assert!(!is_met(&[f64::NAN, 1.0], Bound::AtMost(2.5)));
    }
}
