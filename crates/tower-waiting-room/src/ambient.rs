//! Time and randomness: everything that this crate takes from its environment.
//!
//! Nonces and ids come from a ChaCha generator in each thread, seeded and reseeded by the operating
//! system: a nonce takes 12 ns, where a system call takes 200 ns. A process that forks after its
//! first token would draw the same nonces in parent and child, which breaks the cipher of both, so
//! it has to fork before.

use std::{fmt, sync::Arc};

use rand::Rng;
#[cfg(feature = "room")]
use rand::{rand_core::UnwrapErr, rngs::SysRng};
#[cfg(feature = "room")]
use waiting_room_core::VisitorId;
use waiting_room_core::{Timestamp, time::Clock};

/// The clock of a layer's stages. It is the clock of the store, so that the stages and the store
/// agree on the time. All clones are the same clock.
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

/// Draws the id of a new visitor.
#[cfg(feature = "room")]
pub(crate) fn random_visitor_id() -> VisitorId {
    VisitorId::new(u128::from_le_bytes(random_bytes()))
}

/// Draws `N` bytes that clients cannot predict, from the generator of this thread.
pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

/// Draws `N` bytes from the operating system directly, for a key.
///
/// # Panics
///
/// If the operating system provides no randomness.
#[cfg(feature = "room")]
pub(crate) fn system_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    UnwrapErr(SysRng).fill_bytes(&mut bytes);
    bytes
}

#[cfg(test)]
#[cfg(feature = "room")]
mod tests {
    use super::*;

    #[test]
    fn no_two_draws_are_alike() {
        assert_ne!(random_visitor_id(), random_visitor_id());
        assert_ne!(random_bytes::<24>(), random_bytes::<24>());
        assert_ne!(system_bytes::<32>(), system_bytes::<32>());
    }
}
