//! Whether to ask the server at all.

use std::sync::atomic::{AtomicU32, Ordering};

/// Keeps requests from a server that has not answered some in a row.
///
/// It is closed again by the first answer to anything, which a task in the background asks for, and
/// not by sacrificing a visitor's request.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    failures: AtomicU32,
}

impl Breaker {
    /// So many calls fail in a row before the others are spared.
    const OPENS_AFTER: u32 = 5;

    pub(crate) fn is_open(&self) -> bool {
        self.failures.load(Ordering::Relaxed) >= Self::OPENS_AFTER
    }

    /// Takes note of an answer. Returns whether it is the first after failures enough.
    pub(crate) fn succeeded(&self) -> bool {
        self.failures.swap(0, Ordering::Relaxed) >= Self::OPENS_AFTER
    }

    /// Takes note of a failure. Returns whether the others are spared from now on.
    pub(crate) fn failed(&self) -> bool {
        self.failures.fetch_add(1, Ordering::Relaxed) + 1 == Self::OPENS_AFTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_failures_in_a_row_open_it_and_one_answer_closes_it() {
        let breaker = Breaker::default();
        (0..4).for_each(|_| assert!(!breaker.failed()));
        assert!(!breaker.succeeded());
        (0..4).for_each(|_| assert!(!breaker.failed()));
        assert!(!breaker.is_open() && breaker.failed() && breaker.is_open());
        assert!(!breaker.failed());
        assert!(breaker.succeeded() && !breaker.is_open());
    }
}
