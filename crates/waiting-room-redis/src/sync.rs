//! Locks, whatever became of others who had them.

use std::sync::{LockResult, PoisonError};

/// The guard of a lock, poisoned or not. The code under the locks of this crate does not panic, so
/// poison never means that a state was left half changed.
pub(crate) fn unpoisoned<G>(locked: LockResult<G>) -> G {
    locked.unwrap_or_else(PoisonError::into_inner)
}
