//! Access to locks that may be poisoned.

use std::sync::{LockResult, PoisonError};

/// Returns the guard of a lock, even if the lock is poisoned.
///
/// The code that runs under the locks of this crate does not panic, so poisoning never indicates a
/// half-changed state.
pub(crate) fn unpoisoned<G>(locked: LockResult<G>) -> G {
    locked.unwrap_or_else(PoisonError::into_inner)
}
