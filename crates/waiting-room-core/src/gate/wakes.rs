//! Whom to wake once the lock of a gate is released.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    task::Waker,
};

/// Those who are to be woken.
#[derive(Default)]
pub(super) struct Wakes {
    /// Mostly the only one; so it takes no memory.
    first: Option<Waker>,
    others: Vec<Waker>,
}

impl Wakes {
    pub(super) fn add(&mut self, waker: Waker) {
        match self.first {
            None => self.first = Some(waker),
            Some(_) => self.others.push(waker),
        }
    }

    /// Wakes all of them.
    ///
    /// Whoever leaves or comes has no part in it if the waker of another panics, and may be
    /// unwinding already; and those who are woken after that one have their permits by now. So the
    /// panic ends here, once its hook has told of it.
    pub(super) fn wake(self) {
        let wake = |waker: Waker| drop(catch_unwind(AssertUnwindSafe(|| waker.wake())));
        if let Some(first) = self.first {
            wake(first);
        }
        self.others.into_iter().for_each(wake);
    }
}
