//! How busy each minute was.

use std::ops::Range;

/// Requests in each minute of some day, scaled as needed.
///
/// ```
/// use waiting_room_sim::Trace;
///
/// let trace = Trace::from_iter([100, 300]);
/// assert_eq!(trace.scaled_to(40.0).counts(), [10.0, 30.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    counts: Vec<f64>,
}

impl Trace {
    /// Requests in each minute.
    #[must_use]
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// Requests in all.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// Requests in the busiest minute.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.counts.iter().copied().fold(0.0, f64::max)
    }

    /// The same day with so many requests in all.
    #[must_use]
    pub fn scaled_to(&self, total: f64) -> Self {
        let factor = if self.total() > 0.0 { total / self.total() } else { 0.0 };
        Self { counts: self.counts.iter().map(|count| count * factor).collect() }
    }

    /// These minutes alone; what lies outside of the trace is left out.
    #[must_use]
    pub fn minutes(&self, minutes: Range<usize>) -> Self {
        let end = minutes.end.min(self.counts.len());
        let start = minutes.start.min(end);
        Self { counts: self.counts[start..end].to_vec() }
    }
}

impl FromIterator<u32> for Trace {
    fn from_iter<T: IntoIterator<Item = u32>>(counts: T) -> Self {
        Self { counts: counts.into_iter().map(f64::from).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_keeps_the_shape() {
        let trace = |counts: &[u32]| counts.iter().copied().collect::<Trace>();
        assert_eq!(trace(&[1, 3]).scaled_to(8.0), trace(&[2, 6]));
        assert_eq!(trace(&[0, 0]).scaled_to(8.0), trace(&[0, 0]));
        assert_eq!(trace(&[1, 2, 3]).minutes(1..9), trace(&[2, 3]));
        assert_eq!((trace(&[1, 4, 3]).total(), trace(&[1, 4, 3]).peak()), (8.0, 4.0));
    }
}
