//! Figures with a suitable number of digits, and the bars that they have to meet.

use std::fmt;

use crate::rounds::Samples;

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

/// Formats samples as `min..max`.
pub(crate) fn range(samples: &Samples) -> String {
    format!("{}..{}", figure(samples.min()), figure(samples.max()))
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
