//! Synchronization primitives: those of the standard library, or those of loom under
//! `cfg(waiting_room_loom)`, where tests explore every interleaving.

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
/// Poisoning can be ignored, because it never means that a state was left half changed. The crate's
/// own code does not panic while it holds a lock. A caller's clock or closure may panic, but it is
/// called before anything is changed. Propagating the poison would make every later request fail
/// because of one panic.
pub(crate) fn unpoisoned<G>(locked: LockResult<G>) -> G {
    locked.unwrap_or_else(PoisonError::into_inner)
}
