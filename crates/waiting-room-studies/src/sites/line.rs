//! The visitors who wait in the world, by their second of arrival.

/// The number of waiting visitors for each second of arrival.
///
/// It is a tree of partial sums (P. M. Fenwick, "A new data structure for cumulative frequency
/// tables", 1994), which finds a place in a line of any length in a few steps.
#[derive(Debug)]
pub(super) struct Line {
    sums: Vec<u32>,
    waiting: u32,
}

impl Line {
    /// A line for arrivals in this number of seconds.
    pub(super) fn new(seconds: u32) -> Self {
        Self { sums: vec![0; seconds as usize + 2], waiting: 0 }
    }

    pub(super) fn join(&mut self, second: u32) {
        self.waiting += 1;
        self.change(second, |sum| sum + 1);
    }

    pub(super) fn leave(&mut self, second: u32) {
        self.waiting -= 1;
        self.change(second, |sum| sum - 1);
    }

    /// The number of all waiting visitors.
    pub(super) const fn waiting(&self) -> u32 {
        self.waiting
    }

    /// The number of waiting visitors who arrived in an earlier second.
    pub(super) fn ahead(&self, second: u32) -> u32 {
        let mut at = second as usize;
        let mut sum = 0;
        while at > 0 {
            sum += self.sums[at];
            at &= at - 1;
        }
        sum
    }

    /// The second of arrival of the visitor who has this number of others ahead. `None` beyond the
    /// end of the line.
    pub(super) fn second_of(&self, mut ahead: u32) -> Option<u32> {
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

    fn change(&mut self, second: u32, change: impl Fn(u32) -> u32) {
        let mut at = second as usize + 1;
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
        fn a_line_knows_as_much_as_a_list(
            arrivals in proptest::collection::vec(0..90_u32, 0..200),
            leaves in proptest::collection::vec(any::<prop::sample::Index>(), 0..100),
        ) {
            let mut line = Line::new(90);
            let mut list = arrivals.clone();
            arrivals.iter().for_each(|second| line.join(*second));
            for leave in leaves {
                if !list.is_empty() {
                    line.leave(list.swap_remove(leave.index(list.len())));
                }
            }
            list.sort_unstable();
            prop_assert_eq!(line.waiting() as usize, list.len());
            for second in 0..=90 {
                let ahead = list.iter().filter(|arrived| **arrived < second).count();
                prop_assert_eq!(line.ahead(second) as usize, ahead);
            }
            for (ahead, second) in (0..).zip(&list) {
                prop_assert_eq!(line.second_of(ahead), Some(*second));
            }
            prop_assert_eq!(line.second_of(line.waiting()), None);
        }
    }
}
