//! A counter that knows how much of its total was added in the last minute.

/// The total of a counter that only grows, sampled once a second.
#[derive(Clone, Debug)]
pub(super) struct MinuteCount {
    total: u64,
    /// The parts added in the last 60 samples, in a ring.
    added: [u32; 60],
    /// The number of samples.
    samples: u64,
}

impl Default for MinuteCount {
    fn default() -> Self {
        Self { total: 0, added: [0; 60], samples: 0 }
    }
}

impl MinuteCount {
    /// Records the total as of now, and returns what was added since the last sample.
    pub(super) fn push(&mut self, total: u64) -> u32 {
        let added = u32::try_from(total.saturating_sub(self.total)).unwrap_or(u32::MAX);
        self.total = total;
        let slots = self.added.len() as u64;
        if let Some(slot) =
            usize::try_from(self.samples % slots).ok().and_then(|at| self.added.get_mut(at))
        {
            *slot = added;
        }
        self.samples += 1;
        added
    }

    /// Returns what was added in the last 60 samples.
    pub(super) fn last_minute(&self) -> u64 {
        self.added.iter().copied().map(u64::from).sum()
    }

    #[cfg(test)]
    pub(super) const fn samples(&self) -> u64 {
        self.samples
    }

    pub(super) const fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_minute_forgets_what_is_older() {
        let mut recent = MinuteCount::default();
        assert_eq!(recent.push(1_000), 1_000);
        for total in 1_001..1_060 {
            assert_eq!(recent.push(total), 1);
        }
        assert_eq!(recent.last_minute(), 1_059);
        recent.push(1_059);
        assert_eq!((recent.last_minute(), recent.total()), (59, 1_059));
    }
}
