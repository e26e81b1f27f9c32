//! Locks, and the standard library's primitives, or loom's where every interleaving of them is tried.

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

/// The guard of a lock, poisoned or not.
///
/// The code that this crate runs under its locks does not panic. A caller's clock may, but it is
/// read before anything is changed, so poison never means that a state was left half changed.
pub(crate) fn unpoisoned<G>(locked: LockResult<G>) -> G {
    locked.unwrap_or_else(PoisonError::into_inner)
}
