//! The visitors who wait, by the second or the shorter interval in which they arrived.

/// The number of waiting visitors for each interval of arrival. Intervals have the same length, and are
/// numbered from the start of the run.
///
/// It is a tree of partial sums (P. M. Fenwick, "A new data structure for cumulative frequency
/// tables", 1994), which finds a place in a line of any length in a few steps.
#[derive(Debug)]
pub(super) struct Line {
    sums: Vec<u32>,
    waiting: u32,
}

impl Line {
    /// A line for arrivals in this number of intervals.
    pub(super) fn new(intervals: u32) -> Self {
        Self { sums: vec![0; intervals as usize + 2], waiting: 0 }
    }

    pub(super) fn join(&mut self, interval: u32) {
        self.waiting += 1;
        self.change(interval, |sum| sum + 1);
    }

    pub(super) fn leave(&mut self, interval: u32) {
        self.waiting -= 1;
        self.change(interval, |sum| sum - 1);
    }

    /// The number of all waiting visitors.
    pub(super) const fn waiting(&self) -> u32 {
        self.waiting
    }

    /// The number of waiting visitors who arrived in an earlier interval.
    pub(super) fn ahead(&self, interval: u32) -> u32 {
        let mut at = interval as usize;
        let mut sum = 0;
        while at > 0 {
            sum += self.sums[at];
            at &= at - 1;
        }
        sum
    }

    /// The interval of arrival of the visitor who has this number of others ahead. `None` beyond the
    /// end of the line.
    pub(super) fn interval_of(&self, mut ahead: u32) -> Option<u32> {
        if ahead >= self.waiting {
            return None;
        }
        let mut at = 0;
        let mut step = self.sums.len().next_power_of_two() / 2;
        while step > 0 {
            if let Some(sum) = self.sums.get(at + step)
                && *sum <= ahead
            {
                at += step;
                ahead -= sum;
            }
            step /= 2;
        }
        u32::try_from(at).ok()
    }

    fn change(&mut self, interval: u32, change: impl Fn(u32) -> u32) {
        let mut at = interval as usize + 1;
        while let Some(sum) = self.sums.get_mut(at) {
            *sum = change(*sum);
            at += at & at.wrapping_neg();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_line_agrees_with_a_list(
            arrivals in proptest::collection::vec(0..90_u32, 0..200),
            leaves in proptest::collection::vec(any::<prop::sample::Index>(), 0..100),
        ) {
            let mut line = Line::new(90);
            let mut list = arrivals.clone();
            arrivals.iter().for_each(|interval| line.join(*interval));
            for leave in leaves {
                if !list.is_empty() {
                    line.leave(list.swap_remove(leave.index(list.len())));
                }
            }
            list.sort_unstable();
            prop_assert_eq!(line.waiting() as usize, list.len());
            for interval in 0..=90 {
                let ahead = list.iter().filter(|arrived| **arrived < interval).count();
                prop_assert_eq!(line.ahead(interval) as usize, ahead);
            }
            for (ahead, interval) in (0..).zip(&list) {
                prop_assert_eq!(line.interval_of(ahead), Some(*interval));
            }
            prop_assert_eq!(line.interval_of(line.waiting()), None);
        }
    }
}
