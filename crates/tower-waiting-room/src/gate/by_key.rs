//! The gates of a set with a key, indexed by the hashes of their keys.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use waiting_room_core::{Gate, rate::KeyHash};

/// A map of gates in shards, each with a lock of its own. A gate is created, cloned and removed
/// while the shard of its key is locked.
pub(super) struct GatesByKey(Box<[Mutex<HashMap<KeyHash, Gate>>]>);

impl GatesByKey {
    pub(super) fn new() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }

    /// Returns a clone of the gate for this key, which `make` creates if it is missing.
    ///
    /// # Errors
    ///
    /// Returns the error of `make`.
    pub(super) fn get_or_make<E>(
        &self,
        key: KeyHash,
        make: impl FnOnce() -> Result<Gate, E>,
    ) -> Result<Gate, E> {
        let mut gates = self.shard(key);
        if let Some(gate) = gates.get(&key) {
            return Ok(gate.clone());
        }
        let gate = make()?;
        gates.insert(key, gate.clone());
        Ok(gate)
    }

    /// Removes the gate for this key, unless it is still in use.
    pub(super) fn forget(&self, key: KeyHash) {
        let mut gates = self.shard(key);
        if gates.get(&key).is_some_and(|gate| !gate.is_shared()) {
            gates.remove(&key);
        }
    }

    /// Removes all gates that are no longer in use.
    pub(super) fn forget_idle(&self) {
        for shard in &self.0 {
            lock(shard).retain(|_, gate| gate.is_shared());
        }
    }

    /// Calls `act` for every gate. The shard of the gate is locked during the call, so `act` must
    /// not look up gates.
    pub(super) fn each(&self, mut act: impl FnMut(&Gate)) {
        for shard in &self.0 {
            lock(shard).values().for_each(&mut act);
        }
    }

    /// Locks the shard of this key.
    fn shard(&self, key: KeyHash) -> MutexGuard<'_, HashMap<KeyHash, Gate>> {
        let [.., high] = key.as_u64().to_le_bytes();
        lock(&self.0[usize::from(high) % SHARDS])
    }
}

/// Locks a shard, even if a thread panicked while holding it: a map is consistent between any two
/// calls of its methods.
fn lock<T>(shard: &Mutex<T>) -> MutexGuard<'_, T> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of shards, so that threads rarely wait for each other.
const SHARDS: usize = 64;
