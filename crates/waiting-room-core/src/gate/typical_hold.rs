//! How long requests run, for those who have to be done by a time.

use std::time::Duration;

/// The median of the last holds of those who left while somebody waited.
///
/// Not the mean, which by Little's law would be known already: among calls of a tenth of a second a
/// few streams of a minute make it seconds, and no call with a deadline would be let into the queue.
#[derive(Clone, Debug)]
pub(super) struct TypicalHold {
    /// The oldest is replaced by the next.
    last: [Duration; LENGTH],
    count: usize,
}

impl TypicalHold {
    pub(super) const fn new() -> Self {
        Self { last: [Duration::ZERO; LENGTH], count: 0 }
    }

    /// One has run for so long.
    pub(super) fn ran(&mut self, hold: Duration) {
        self.last[self.count % LENGTH] = hold;
        self.count = self.count.wrapping_add(1);
    }

    /// The median, once enough is known.
    pub(super) fn median(&self) -> Option<Duration> {
        let mut sorted = self.last;
        let known = &mut sorted[..self.count.min(LENGTH)];
        let middle = known.len() / 2;
        (known.len() >= ENOUGH).then(|| *known.select_nth_unstable(middle).1)
    }
}

/// How many holds are remembered: few, so that a change is soon known.
const LENGTH: usize = 15;

/// From fewer nothing is concluded.
const ENOUGH: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn median(millis: impl IntoIterator<Item = u64>) -> Option<u128> {
        let mut typical = TypicalHold::new();
        millis.into_iter().for_each(|millis| typical.ran(Duration::from_millis(millis)));
        typical.median().map(|median| median.as_millis())
    }

    #[test]
    fn it_is_the_middle_one_of_the_last_fifteen() {
        assert_eq!(median(0..7), None);
        assert_eq!(median((0..9).rev()), Some(4));
        assert_eq!(median(0..100), Some(92));
    }

    #[test]
    fn streams_among_calls_do_not_move_it() {
        assert_eq!(median((0..100).map(|it| if it % 3 == 0 { 60_000 } else { 20 })), Some(20));
    }
}
