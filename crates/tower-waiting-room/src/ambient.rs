//! Time and randomness: the clock of the stages, and all random bytes that this crate uses.
//!
//! All random bytes come from the operating system. Each thread reads them in blocks, because a
//! system call for each nonce would be expensive. If a process forks after it
//! has sealed its first token, parent and child use the same nonces, which breaks the encryption of
//! both. A process that forks must therefore do so before it seals a token.

use std::{cell::RefCell, fmt, sync::Arc};

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

/// Returns `N` unpredictable bytes from the block of this thread. No byte is returned
/// twice.
///
/// # Panics
///
/// Panics if the operating system cannot supply random bytes.
pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    const { assert!(N <= BLOCK_LEN) }
    BLOCK.with_borrow_mut(|block| {
        if block.left < N {
            fill(&mut block.bytes);
            block.left = BLOCK_LEN;
        }
        block.left -= N;
        let mut drawn = [0; N];
        drawn.swap_with_slice(&mut block.bytes[block.left..block.left + N]);
        drawn
    })
}

/// Reads `N` random bytes for a key directly from the operating system.
///
/// # Panics
///
/// Panics if the operating system cannot supply random bytes.
pub(crate) fn system_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    fill(&mut bytes);
    bytes
}

fn fill(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the operating system has random bytes");
}

/// Random bytes of one thread. The first `left` of them have not been returned yet, and the others
/// are zero.
struct RandomBlock {
    bytes: [u8; BLOCK_LEN],
    left: usize,
}

thread_local! {
    static BLOCK: RefCell<RandomBlock> = const { RefCell::new(RandomBlock { bytes: [0; BLOCK_LEN], left: 0 }) };
}

/// The number of bytes that a thread reads at once, which last for 20 tokens.
const BLOCK_LEN: usize = 512;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_draws_are_alike() {
        let draws: HashSet<_> = (0..1_000).map(|_| random_bytes::<24>()).collect();
        assert_eq!(draws.len(), 1_000);
        assert_ne!(random_visitor_id(), random_visitor_id());
        assert_ne!(system_bytes::<32>(), system_bytes::<32>());
    }

    #[test]
    fn drawn_bytes_are_erased_from_the_block() {
        let drawn = random_bytes::<24>();
        BLOCK.with_borrow(|block| {
            assert!(block.bytes[block.left..].iter().all(|byte| *byte == 0));
            assert!(!block.bytes.windows(24).any(|bytes| bytes == drawn));
        });
    }
}
