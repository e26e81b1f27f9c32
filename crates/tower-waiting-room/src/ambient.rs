//! Time and randomness: the clock of the stages, and all random bytes that this crate uses.
//!
//! Nonces and ids come from a ChaCha generator in each thread, which is seeded and periodically
//! reseeded from the operating system. Generating a nonce takes 12 ns, compared with 200 ns for a
//! system call. If a process forks after it has sealed its first token, parent and child generate
//! the same nonces, which breaks the encryption of both. A process that forks must therefore do so
//! before it seals a token.

use std::{fmt, sync::Arc};

use rand::Rng;
use rand::{rand_core::UnwrapErr, rngs::SysRng};
use waiting_room_core::VisitorId;
use waiting_room_core::{Timestamp, time::Clock};

/// The clock that a layer's stages read. The stages use the store's clock, so that they agree with
/// the store on the time. All clones read the same clock.
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

/// Generates a random id for a new visitor.
pub(crate) fn random_visitor_id() -> VisitorId {
    VisitorId::new(u128::from_le_bytes(random_bytes()))
}

/// Generates `N` bytes that clients cannot predict, using the generator of this thread.
pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

/// Reads `N` random bytes for a key directly from the operating system.
///
/// # Panics
///
/// Panics if the operating system cannot supply random bytes.
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
