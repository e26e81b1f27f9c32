//! The atomic word that requests contend for. The word contains the number of running requests, the
//! limit, the queue flag and the draining flag.
//!
//! Each change is one compare-and-swap of the whole word, so each decision is based on the current
//! values of all fields. A request that has read an outdated limit cannot exceed a limit that has
//! just been lowered, and a newcomer cannot overtake waiting requests.
//!
//! ```text
//!    63         62     61 .. 44    43 .. 22     21 .. 0
//! draining |   queue  |   unused  |   limit   | in flight
//! ```
//!
//! `limit` and `in flight` are 22-bit integers, and `queue` and `draining` are flags.
//!
//! The limit and both flags are written only under the lock. The number of waiting requests is not
//! part of the word, because it is needed only under the lock. Passing a permit to the next waiter
//! does not modify the word at all, unless the queue becomes empty.
//!
//! ```text
//!            without the lock                        under the lock
//! enter      no queue, below the limit, not draining  everything else
//! leave      no queue, or above the limit             a waiter may run, or the gate is draining
//! ```

use std::fmt;

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// The counts and flags of a gate, packed into one atomic word.
pub(super) struct Counter(AtomicU64);

/// The counts and flags of a gate at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    /// The number of running requests, including requests that have been granted a permit but have
    /// not collected it yet.
    pub(super) in_flight: u32,
    /// The current limit, or [`Self::MAX_IN_FLIGHT`] if there is no limit.
    pub(super) limit: u32,
    /// Whether at least one request is waiting.
    pub(super) has_queue: bool,
    pub(super) is_draining: bool,
}

/// The number of running requests of each priority class. The list is empty for a discipline
/// without classes.
///
/// These counts may be updated without the lock, just after a request has entered and just before a
/// request leaves. A reading may therefore be off by the number of requests that are entering or
/// leaving at that instant. The reading determines only which class is served next, never how many
/// requests run, so `Relaxed` ordering is enough.
pub(super) struct Running(Box<[AtomicU32]>);

impl Counter {
    pub(super) fn new(limit: u32) -> Self {
        let counts = Counts { in_flight: 0, limit, has_queue: false, is_draining: false };
        Self(AtomicU64::new(counts.pack()))
    }

    pub(super) fn counts(&self) -> Counts {
        Counts::unpack(self.0.load(Ordering::Acquire))
    }

    /// Admits a request if a permit is free, no request is waiting, and the gate is not being
    /// drained. Returns the number of running requests, including the admitted request.
    pub(super) fn enter(&self) -> Option<u32> {
        self.change(|counts| counts.may_enter().then(|| counts.enter()))
    }

    /// Subtracts one from the number of running requests and returns `true`. Returns `false`, and
    /// changes nothing, if the release has to be handled under the lock.
    pub(super) fn leave(&self) -> bool {
        let left = self.change(|counts| (!counts.is_awaited()).then(|| counts.in_flight -= 1));
        left.is_some()
    }

    /// Applies the closure to the current counts, and stores the changed counts unless the closure
    /// returns `None`.
    ///
    /// The closure is called again if another thread has changed the counts in the meantime, so the
    /// closure must not have side effects.
    pub(super) fn change<T>(&self, change: impl Fn(&mut Counts) -> Option<T>) -> Option<T> {
        let mut before = self.0.load(Ordering::Acquire);
        loop {
            let mut counts = Counts::unpack(before);
            let given = change(&mut counts)?;
            let after = counts.pack();
            // The closure left the counts unchanged, so there is nothing to write.
            if after == before {
                return Some(given);
            }
            // Acquire and release ordering ensure that everything a request did before leaving
            // happens before everything that the next request does after entering. For a permit
            // that goes to a waiter, the lock guarantees the same ordering.
            match self.0.compare_exchange_weak(before, after, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(given),
                Err(current) => before = current,
            }
        }
    }
}

impl Counts {
    /// The maximum number of requests that can run at once: the largest 22-bit integer.
    pub(super) const MAX_IN_FLIGHT: u32 = (1 << 22) - 1;

    /// Returns whether an arriving request may run immediately.
    pub(super) const fn may_enter(&self) -> bool {
        !self.has_queue && self.has_room() && !self.is_draining
    }

    /// Returns whether a permit is free.
    pub(super) const fn has_room(&self) -> bool {
        self.in_flight < self.limit
    }

    /// Returns whether no request is running or waiting.
    pub(super) const fn is_idle(&self) -> bool {
        self.in_flight == 0 && !self.has_queue
    }

    /// Counts an entering request, and returns the number of running requests, including the new
    /// one.
    pub(super) const fn enter(&mut self) -> u32 {
        self.in_flight += 1;
        self.in_flight
    }

    /// Returns whether a release has to be handled under the lock.
    ///
    /// While more requests are running than a lowered limit allows, a release only reduces the
    /// excess, and no waiter can get the permit. Once the number of running requests is no longer
    /// above the limit, a released permit goes to a waiter. While the gate is being drained, any
    /// release may make the gate idle.
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
        #[expect(clippy::cast_possible_truncation, reason = "the mask leaves at most 22 bits")]
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

    /// Increments the count of this class for a request that starts to run.
    pub(super) fn begins(&self, class: u8) {
        if let Some(running) = self.number(class) {
            running.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Decrements the count of this class for a request that is about to release its permit.
    pub(super) fn ends(&self, class: u8) {
        if let Some(running) = self.number(class) {
            running.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of running requests of this class.
    pub(super) fn of(&self, class: u8) -> u32 {
        self.number(class).map_or(0, |running| running.load(Ordering::Relaxed))
    }

    /// Returns the counter of this class. A class number beyond the last class is treated as the
    /// last class, as in the line.
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
        fn the_fields_of_a_word_round_trip(
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
    fn no_request_enters_past_the_limit_or_past_the_queue() {
        let counter = Counter::new(2);
        assert_eq!([(); 3].map(|()| counter.enter()), [Some(1), Some(2), None]);
        set(&counter, |counts| counts.has_queue = true);
        set(&counter, |counts| counts.limit = 9);
        assert_eq!(counter.enter(), None);
        assert!(!counter.leave(), "a waiter must get the permit");
    }

    #[test]
    fn a_release_above_a_lowered_limit_hands_no_permit_on() {
        let counter = Counter::new(2);
        assert_eq!([(); 2].map(|()| counter.enter()), [Some(1), Some(2)]);
        set(&counter, |counts| (counts.limit, counts.has_queue) = (1, true));
        assert!(counter.leave());
        assert!(!counter.leave());
    }
}
