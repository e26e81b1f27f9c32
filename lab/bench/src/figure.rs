//! Figures with a suitable number of digits, and the bars that they have to meet.

use std::fmt;

use crate::{rounds::Samples, valgrind::Counts};

/// The placeholder for a missing figure.
pub(crate) const NONE: &str = "-";

/// Formats a figure: with three digits if it is small, and as a whole number if it is large.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => NONE.to_owned(),
        // The difference of two runs may be slightly negative.
        size if size < 0.005 => "0".to_owned(),
        size if size < 10.0 => format!("{value:.2}"),
        size if size < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Formats a count, if there is one.
pub(crate) fn cell(counts: &Option<Counts>, field: fn(&Counts) -> f64) -> String {
    counts.as_ref().map_or(NONE.to_owned(), |counts| figure(field(counts)))
}

/// Formats samples as `min..max`.
pub(crate) fn range(samples: &Samples) -> String {
    format!("{}..{}", figure(samples.min()), figure(samples.max()))
}

/// Formats samples as `median (min..max)`.
pub(crate) fn spread(samples: &Samples) -> String {
    format!("{} ({})", figure(samples.median()), range(samples))
}

/// A bar: a limit, and the figure that is compared with it.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    what: &'static str,
    limit: Limit,
    found: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
enum Limit {
    AtLeast(f64),
    AtMost(f64),
}

impl Bar {
    /// Creates a bar for a figure that should be low. `None` if it was not measured.
    pub(crate) fn at_most(what: &'static str, limit: f64, found: impl Into<Option<f64>>) -> Self {
        Self { what, limit: Limit::AtMost(limit), found: found.into() }
    }

    /// Creates a bar for a figure that should be high. `None` if it was not measured.
    pub(crate) fn at_least(what: &'static str, limit: f64, found: impl Into<Option<f64>>) -> Self {
        Self { what, limit: Limit::AtLeast(limit), found: found.into() }
    }

    /// Formats several bars for one cell.
    pub(crate) fn all(bars: &[Self]) -> String {
        bars.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }

    /// Formats the condition, without the figure.
    pub(crate) fn condition(&self) -> String {
        let (sign, limit) = match self.limit {
            Limit::AtLeast(limit) => ('≥', limit),
            Limit::AtMost(limit) => ('≤', limit),
        };
        format!("{} {sign} {limit}", self.what)
    }

    /// Whether the bar is met; `None` if it was not measured.
    pub(crate) fn is_met(&self) -> Option<bool> {
        // The slack absorbs rounding errors; measurements are far less precise.
        let slack = |limit: f64| limit.abs().max(1.0) * 1e-6;
        self.found.map(|found| match self.limit {
            Limit::AtLeast(limit) => found >= limit - slack(limit),
            Limit::AtMost(limit) => found <= limit + slack(limit),
        })
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.condition())?;
        let Some(found) = self.found else { return f.write_str("not measured") };
        let is_met = self.is_met() == Some(true);
        write!(f, "{} {}", figure(found), if is_met { "met" } else { "MISSED" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_its_significant_digits() {
        let shown = [0.001, 1.234, 12.34, 1234.5, f64::NAN].map(figure);
        assert_eq!(shown, ["0", "1.23", "12.3", "1234", "-"]);
    }

    #[test]
    fn a_bar_shows_its_figure_and_whether_it_is_met() {
        let bars = [
            Bar::at_most("ns", 1000.0, 640.0),
            Bar::at_most("allocations", 2.0, 3.0),
            Bar::at_least("ratio", 0.8, 0.85),
            Bar::at_least("ratio", 0.8, None),
        ];
        assert_eq!(
            Bar::all(&bars),
            "ns ≤ 1000: 640 met; allocations ≤ 2: 3.00 MISSED; ratio ≥ 0.8: 0.85 met; \
             ratio ≥ 0.8: not measured"
        );
    }
}
