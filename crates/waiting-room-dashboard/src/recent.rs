//! A counter that knows how much of its total was added in the last minute.

use waiting_room_core::Timestamp;

/// The total of a counter that only grows, sampled about once a second.
#[derive(Clone, Debug)]
pub(super) struct MinuteCount {
    total: u64,
    /// The parts of the total that were added in each of the last 60 seconds. The second `s` is at
    /// index `s % 60`.
    added: [u32; SLOTS],
    /// The Unix time of the last sample, in seconds.
    second: u64,
}

/// How the requests since the last sample are counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counting {
    /// The time of the sample.
    pub(super) now: Timestamp,
    /// Whether the last sample is recent, so that these requests arrived in the last minute.
    pub(super) is_recent: bool,
}

impl Default for MinuteCount {
    fn default() -> Self {
        Self { total: 0, added: [0; SLOTS], second: 0 }
    }
}

impl MinuteCount {
    /// Records the total, and returns what was added since the last sample, or 0 if that sample is
    /// not recent.
    pub(super) fn push(&mut self, total: u64, Counting { now, is_recent }: Counting) -> u32 {
        let added = u32::try_from(total.saturating_sub(self.total)).unwrap_or(u32::MAX);
        self.total = total;
        // If the clock is set back, the second of the last sample continues.
        let second = now.as_secs().max(self.second);
        for passed in (self.second + 1..=second).rev().take(SLOTS) {
            *self.slot(passed) = 0;
        }
        self.second = second;
        if !is_recent {
            return 0;
        }
        let slot = self.slot(second);
        *slot = slot.saturating_add(added);
        added
    }

    /// Returns what was added in the 60 seconds before the last sample.
    pub(super) fn last_minute(&self) -> u64 {
        self.added.iter().copied().map(u64::from).sum()
    }

    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// Returns the part that was added in this second.
    fn slot(&mut self, second: u64) -> &mut u32 {
        let at = usize::try_from(second % SLOTS as u64).unwrap_or_default();
        &mut self.added[at]
    }
}

const SLOTS: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(second: u64) -> Counting {
        Counting { now: Timestamp::from_secs(second), is_recent: true }
    }

    #[test]
    fn the_last_minute_forgets_older_values() {
        let mut recent = MinuteCount::default();
        assert_eq!(recent.push(1_000, at(1_000_000)), 1_000);
        for more in 1..60 {
            assert_eq!(recent.push(1_000 + more, at(1_000_000 + more)), 1);
        }
        assert_eq!(recent.last_minute(), 1_059);
        recent.push(1_059, at(1_000_060));
        assert_eq!((recent.last_minute(), recent.total()), (59, 1_059));
        // After a pause, only new requests count for the last minute.
        assert_eq!(recent.push(1_060, at(1_000_150)), 1);
        assert_eq!((recent.last_minute(), recent.total()), (1, 1_060));
    }

    #[test]
    fn two_samples_of_a_second_and_a_clock_that_is_set_back_lose_nothing() {
        let mut recent = MinuteCount::default();
        recent.push(5, at(1_000));
        recent.push(7, at(1_000));
        recent.push(8, at(900));
        assert_eq!((recent.last_minute(), recent.total()), (8, 8));
    }

    #[test]
    fn requests_from_an_unknown_time_are_part_of_the_total_only() {
        let mut recent = MinuteCount::default();
        let first = Counting { is_recent: false, ..at(1_000) };
        assert_eq!(recent.push(70_000, first), 0);
        assert_eq!((recent.last_minute(), recent.total()), (0, 70_000));
    }
}
