//! The token bucket: tokens arrive at a constant rate, accumulate up to the capacity, and pay for
//! events.
//!
//! Tokens are not counted one by one. The state of a key is the time at which the bucket will be
//! full again. One token is missing for each interval until then.
//!
//! ```text
//!           now                    full at
//! ───────────┼────────────────────────┼──────► time
//!            ├── missing ────────────►│
//! ├ tokens ─►┤                        │
//! ├── capacity ──────────────────────►│
//! ```
//!
//! The token bucket is the mirror image of [GCRA](Gcra): each unit that leaks out of GCRA's bucket
//! is a token that arrives in the token bucket, and the room in GCRA's bucket equals the tokens in
//! the token bucket. Both algorithms allow the same events at the same times, so they share one
//! implementation. The token bucket has a separate name for users who think in tokens, and for
//! configurations that were written for other software.

use super::{Gcra, Quota, gcra::Bucket};

/// The [token bucket](super::Algorithm::TokenBucket): one token arrives per interval, rather than
/// all tokens at the end of a window.
///
/// A bucket never contains more tokens than the capacity, no matter how long it is idle. The bucket
/// of a key that was never seen is full.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_core::{Quota, Timestamp, rate::meters::{Meter, TokenBucket}};
///
/// // Four tokens, and one more every 15 seconds.
/// let bucket = TokenBucket::new(&Quota::per_minute(4));
/// let mut state = 0;
/// let now = Timestamp::from_secs(100);
/// assert!(bucket.check(&mut state, 3, now).is_ok());
/// assert_eq!(bucket.remaining(&state, now), 1);
/// assert_eq!(bucket.wait(&state, 2, now), Some(Duration::from_secs(15)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// The meter that counts the missing tokens.
    missing: Gcra,
}

impl TokenBucket {
    /// Creates a meter for a quota that is [valid](Quota::validate) for this algorithm.
    #[must_use]
    pub fn new(quota: &Quota) -> Self {
        Self { missing: Gcra::new(quota) }
    }
}

impl Bucket for TokenBucket {
    #[inline]
    fn gcra(&self) -> &Gcra {
        &self.missing
    }
}
