//! Synchronization primitives: those of the standard library, or loom's under
//! `cfg(waiting_room_loom)`, where a test explores every interleaving.

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

/// Returns the guard of a lock, whether the lock is poisoned or not.
///
/// Poison can be ignored, since it never means that a state is half changed. The code of this crate
/// does not panic under its locks. A caller's clock or closure may, but each is called before
/// anything is changed. To propagate the poison would turn one panic into a failure of every
/// later request.
pub(crate) fn unpoisoned<G>(locked: LockResult<G>) -> G {
    locked.unwrap_or_else(PoisonError::into_inner)
}
