//! How many run and may run, and whether anybody waits, in one word.
//!
//! Whoever changes one of the numbers sees the others as they are at that very instant, so that no
//! limit that is lowered is passed by somebody who has just read the old one, and nobody passes
//! those who wait.
//!
//! ```text
//!    63         62     61 .. 44    43 .. 22     21 .. 0
//! draining |   queue  |   unused  |   limit   | in flight
//! ```
//!
//! How many wait is not among them: only under the lock does it matter, and so a permit that goes
//! from one to the next while others wait changes nothing here.

use std::fmt;

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// The numbers of a gate, changed all at once or not at all.
pub(super) struct Counter(AtomicU64);

/// The numbers of a gate at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) in_flight: u32,
    pub(super) limit: u32,
    /// Whether anybody waits.
    pub(super) has_queue: bool,
    pub(super) is_draining: bool,
}

/// How many run of each class of priority; no number where the discipline knows no classes.
pub(super) struct Running(Box<[AtomicU32]>);

impl Counter {
    pub(super) fn new(limit: u32) -> Self {
        let counts = Counts { in_flight: 0, limit, has_queue: false, is_draining: false };
        Self(AtomicU64::new(counts.pack()))
    }

    pub(super) fn counts(&self) -> Counts {
        Counts::unpack(self.0.load(Ordering::Acquire))
    }

    /// Lets one in, if there is room for it and nobody waits; says how many run then.
    pub(super) fn enter(&self) -> Option<u32> {
        self.change(|counts| counts.may_enter().then(|| counts.enter()))
    }

    /// Takes one out, if that concerns nobody else.
    pub(super) fn leave(&self) -> bool {
        let left = self.change(|counts| (!counts.is_awaited()).then(|| counts.in_flight -= 1));
        left.is_some()
    }

    /// Changes the numbers as the closure does, unless it says `None`. It may be called again if
    /// they have changed meanwhile.
    pub(super) fn change<T>(&self, change: impl Fn(&mut Counts) -> Option<T>) -> Option<T> {
        let mut before = self.0.load(Ordering::Acquire);
        loop {
            let mut counts = Counts::unpack(before);
            let given = change(&mut counts)?;
            let after = counts.pack();
            if after == before {
                return Some(given);
            }
            match self.0.compare_exchange_weak(before, after, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(given),
                Err(current) => before = current,
            }
        }
    }
}

impl Counts {
    /// The most that can run.
    pub(super) const MAX_IN_FLIGHT: u32 = (1 << 22) - 1;

    /// Whether somebody who comes may run at once.
    pub(super) const fn may_enter(&self) -> bool {
        !self.has_queue && self.has_room() && !self.is_draining
    }

    /// Whether there is room for one more.
    pub(super) const fn has_room(&self) -> bool {
        self.in_flight < self.limit
    }

    /// Whether nobody runs and nobody waits.
    pub(super) const fn is_idle(&self) -> bool {
        self.in_flight == 0 && !self.has_queue
    }

    /// Lets one in; says how many run then.
    pub(super) const fn enter(&mut self) -> u32 {
        self.in_flight += 1;
        self.in_flight
    }

    /// Whether anybody has to hear of one who leaves.
    const fn is_awaited(&self) -> bool {
        self.is_draining || self.has_queue && self.in_flight <= self.limit
    }

    const fn pack(self) -> u64 {
        (self.is_draining as u64) << 63
            | (self.has_queue as u64) << 62
            | (self.limit as u64) << 22
            | self.in_flight as u64
    }

    const fn unpack(word: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the mask leaves 22 bits at most")]
        const fn bits(word: u64, max: u32) -> u32 {
            (word & max as u64) as u32
        }
        Self {
            in_flight: bits(word, Self::MAX_IN_FLIGHT),
            limit: bits(word >> 22, Self::MAX_IN_FLIGHT),
            has_queue: word >> 62 & 1 == 1,
            is_draining: word >> 63 == 1,
        }
    }
}

impl Running {
    pub(super) fn new(classes: usize) -> Self {
        Self((0..classes).map(|_| AtomicU32::new(0)).collect())
    }

    /// One of a class runs.
    pub(super) fn begins(&self, class: u8) {
        if let Some(running) = self.number(class) {
            running.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// One of a class runs no longer.
    pub(super) fn ends(&self, class: u8) {
        if let Some(running) = self.number(class) {
            running.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// How many of a class run.
    pub(super) fn of(&self, class: u8) -> u32 {
        self.number(class).map_or(0, |running| running.load(Ordering::Relaxed))
    }

    /// The number of a class; of the last, for one that there is not.
    fn number(&self, class: u8) -> Option<&AtomicU32> {
        self.0.get(usize::from(class)).or(self.0.last())
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counts().fmt(f)
    }
}

#[cfg(all(test, not(waiting_room_loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_numbers_of_a_word_are_those_put_in(
            in_flight in 0..=Counts::MAX_IN_FLIGHT,
            limit in 0..=Counts::MAX_IN_FLIGHT,
            has_queue: bool,
            is_draining: bool,
        ) {
            let counts = Counts { in_flight, limit, has_queue, is_draining };
            prop_assert_eq!(Counts::unpack(counts.pack()), counts);
        }
    }

    fn set(counter: &Counter, set: impl Fn(&mut Counts)) {
        counter.change(|counts| {
            set(counts);
            Some(())
        });
    }

    #[test]
    fn nobody_enters_past_the_limit_or_past_those_who_wait() {
        let counter = Counter::new(2);
        assert_eq!([(); 3].map(|()| counter.enter()), [Some(1), Some(2), None]);
        set(&counter, |counts| counts.has_queue = true);
        set(&counter, |counts| counts.limit = 9);
        assert_eq!(counter.enter(), None);
        assert!(!counter.leave(), "somebody waits to hear of it");
    }

    #[test]
    fn one_over_a_lowered_limit_leaves_without_a_word() {
        let counter = Counter::new(2);
        assert_eq!([(); 2].map(|()| counter.enter()), [Some(1), Some(2)]);
        set(&counter, |counts| (counts.limit, counts.has_queue) = (1, true));
        assert!(counter.leave());
        assert!(!counter.leave());
    }
}
