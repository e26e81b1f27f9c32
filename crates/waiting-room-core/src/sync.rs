//! Synchronization primitives from the standard library or, under `cfg(waiting_room_loom)`, from
//! loom, which tests use to explore every interleaving.

use std::sync::{LockResult, PoisonError};

#[cfg(waiting_room_loom)]
pub(crate) use loom::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, AtomicU64, Ordering},
};
#[cfg(not(waiting_room_loom))]
pub(crate) use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

/// Returns the guard of a lock, even if the lock is poisoned.
///
/// Poisoning can be ignored, because it never indicates a half-changed state. The crate's own code
/// does not panic while it holds a lock. A caller's clock or closure may panic, but it is called
/// before any state is changed. If poisoning were propagated, one panic would make every later
/// request fail.
pub(crate) fn unpoisoned<G>(locked: LockResult<G>) -> G {
    locked.unwrap_or_else(PoisonError::into_inner)
}
