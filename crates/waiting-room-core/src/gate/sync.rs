//! The standard library's primitives, or loom's where every interleaving of them is tried.

#[cfg(waiting_room_loom)]
pub(super) use loom::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicU32, AtomicU64, Ordering},
};
#[cfg(not(waiting_room_loom))]
pub(super) use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use std::sync::PoisonError;

/// Locks whatever became of others who had the lock: none of them runs foreign code under it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
