//! The bounds on the work of one operation, and a counter that tests use to check them.
//!
//! A store holds its lock while an operation runs, so a long operation delays every other request.
//! Therefore no collection in a room is ever reordered, counted, copied or cleared as a whole.

/// The sizes that bound the work of one operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// The maximum number of ranks in a chunk. A count may have to read all ranks of a chunk one by
    /// one.
    pub(super) chunk: usize,
    /// The maximum number of chunks in a section.
    pub(super) section: usize,
    /// The number of pending additions to a section's times, or of pending removals, at which the
    /// pending changes are merged.
    pub(super) changes: usize,
    /// The maximum average number of entries per shard of a hash map. If it is exceeded, a shard is
    /// split.
    pub(super) shard: usize,
    /// The maximum number of expired sessions that one operation removes. The same maximum applies
    /// to lapsed places, and to ended sessions that are due to be forgotten. An operation adds at
    /// most one of each, so the removals always catch up.
    pub(super) buried: usize,
    /// The maximum number of ended sessions that are remembered. It bounds the memory used.
    pub(super) ended: usize,
}

impl Sizes {
    const USUAL: Self =
        Self { chunk: 64, section: 128, changes: 256, shard: 512, buried: 64, ended: 1_000_000 };

    /// The sizes that currently apply.
    #[cfg(not(test))]
    pub(super) const fn current() -> Self {
        Self::USUAL
    }
}

/// Counts entries that are read or moved one by one. Only tests use the count.
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
        /// these sizes unless they choose others.
        pub(in crate::room) const SMALL: Self =
            Self { chunk: 8, section: 4, changes: 6, shard: 4, buried: 3, ended: 1_000_000 };

        pub(in crate::room) fn current() -> Self {
            SIZES.get()
        }

        /// Makes this thread use the sizes that apply outside of tests.
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

    /// Runs an operation, and returns its result and the number of steps that it took.
    pub(in crate::room) fn steps_of<T>(verb: impl FnOnce() -> T) -> (T, usize) {
        STEPS.set(0);
        let result = verb();
        (result, STEPS.get())
    }
}
