//! Figures, with as many digits as they deserve.

use crate::measure::{Counts, Samples};

/// What stands where there is no figure.
pub(crate) const NONE: &str = "-";

/// Three digits for small figures, whole ones for large.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => NONE.to_owned(),
        // A small difference of two runs may come out on the wrong side of nothing.
        size if size < 0.005 => "0".to_owned(),
        size if size < 10.0 => format!("{value:.2}"),
        size if size < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// What was counted, if it was.
pub(crate) fn cell(counts: &Option<Counts>, field: fn(&Counts) -> f64) -> String {
    counts.as_ref().map_or(NONE.to_owned(), |counts| figure(field(counts)))
}

/// `min..max`.
pub(crate) fn range(samples: &Samples) -> String {
    format!("{}..{}", figure(samples.min()), figure(samples.max()))
}

/// `median (min..max)`.
pub(crate) fn spread(samples: &Samples) -> String {
    format!("{} ({})", figure(samples.median()), range(samples))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_the_digits_it_deserves() {
        let shown = [0.001, 1.234, 12.34, 1234.5, f64::NAN].map(figure);
        assert_eq!(shown, ["0", "1.23", "12.3", "1234", "-"]);
    }
}
