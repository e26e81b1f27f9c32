//! Time and randomness: all that this crate draws from its surroundings.
//!
//! Nonces and ids come from a ChaCha generator in each thread, seeded and reseeded by the operating
//! system: 12 ns for a nonce where a system call takes 200. A process that forks after its first
//! token would draw the same nonces in both halves, which no seal survives: fork first.

use std::{fmt, sync::Arc};

use rand::{Rng, rand_core::UnwrapErr, rngs::SysRng};
use waiting_room_core::{Clock, Timestamp, VisitorId};

/// The clock of a layer's stages: that of its store. Clones are the same clock.
#[derive(Clone)]
pub(crate) struct StageClock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl StageClock {
    pub(crate) fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }
}

impl Clock for StageClock {
    fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for StageClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StageClock").finish_non_exhaustive()
    }
}

/// A new visitor's id.
pub(crate) fn random_visitor_id() -> VisitorId {
    VisitorId::new(u128::from_le_bytes(random_bytes()))
}

/// `N` bytes that cannot be predicted.
pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

/// `N` bytes from the operating system itself, for a key.
///
/// # Panics
///
/// If the operating system has none to give.
pub(crate) fn system_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    UnwrapErr(SysRng).fill_bytes(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_draws_are_alike() {
        assert_ne!(random_visitor_id(), random_visitor_id());
        assert_ne!(random_bytes::<24>(), random_bytes::<24>());
        assert_ne!(system_bytes::<32>(), system_bytes::<32>());
    }
}
