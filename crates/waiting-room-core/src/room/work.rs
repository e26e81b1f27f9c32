//! The bounds on the work of one verb, and a counter by which tests check them.
//!
//! A store holds its lock while a verb runs, so a long verb is a pause for every other request. No
//! structure of a room is therefore ever reordered, counted, copied or cleared as a whole.

/// The sizes that bound the work of one verb.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// The maximum number of ranks in a chunk, which a count may have to read one by one.
    pub(super) chunk: usize,
    /// The maximum number of chunks in a section.
    pub(super) section: usize,
    /// The maximum number of changes to the times of a section before they are merged.
    pub(super) changes: usize,
    /// The average number of entries in a shard of a hash map. Beyond it, a shard is split.
    pub(super) shard: usize,
    /// The maximum number of lapsed sessions, of lapsed places and of ends to forget that one verb
    /// removes. A verb adds at most one of each, so the removals always catch up.
    pub(super) buried: usize,
}

impl Sizes {
    const USUAL: Self = Self { chunk: 64, section: 128, changes: 256, shard: 512, buried: 64 };

    /// The sizes in force.
    #[cfg(not(test))]
    pub(super) const fn current() -> Self {
        Self::USUAL
    }
}

/// Counts entries that are read or moved one by one. Only tests count.
#[cfg(not(test))]
pub(super) const fn count_steps(_entries: usize) {}

#[cfg(test)]
pub(super) use self::counting::{count_steps, steps_of};

#[cfg(test)]
mod counting {
    use std::cell::Cell;

    use super::Sizes;

    thread_local! {
        static SIZES: Cell<Sizes> = const { Cell::new(Sizes::SMALL) };
        static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    impl Sizes {
        /// Small sizes, so that a few visitors fill many chunks, sections and shards. Tests use
        /// them unless they choose others.
        pub(in crate::room) const SMALL: Self =
            Self { chunk: 8, section: 4, changes: 6, shard: 4, buried: 3 };

        pub(in crate::room) fn current() -> Self {
            SIZES.get()
        }

        /// Uses the same sizes as outside of tests, in this thread.
        pub(in crate::room) fn use_usual() {
            SIZES.set(Self::USUAL);
        }

        /// Uses these sizes in this thread.
        pub(in crate::room) fn use_these(sizes: Self) {
            SIZES.set(sizes);
        }
    }

    pub(in crate::room) fn count_steps(entries: usize) {
        STEPS.set(STEPS.get() + entries);
    }

    /// Runs a verb, and returns the number of steps that it took.
    pub(in crate::room) fn steps_of<T>(verb: impl FnOnce() -> T) -> (T, usize) {
        STEPS.set(0);
        let result = verb();
        (result, STEPS.get())
    }
}
