//! How many there were in the last sixty seconds.

use std::collections::VecDeque;

use crate::sites::clock::MINUTE;

/// When something happened, for as long as it is not a minute ago.
#[derive(Clone, Debug, Default)]
pub(super) struct LastMinute(VecDeque<u32>);

impl LastMinute {
    pub(super) fn add(&mut self, now: u32) {
        self.forget(now);
        self.0.push_back(now);
    }

    pub(super) fn count(&mut self, now: u32) -> u32 {
        self.forget(now);
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    fn forget(&mut self, now: u32) {
        while self.0.front().is_some_and(|at| at + MINUTE <= now) {
            self.0.pop_front();
        }
    }
}
