//! The time for which a slow client may be awaited.
//!
//! Only time in which a client is *awaited* counts: while the application waits for the next part
//! of the request's body, or the server has a part of the response that the client does not take.
//! A client has a few seconds of such time at first, and earns more with each byte that it moves:
//!
//! ```text
//!  left   most ┤        ╭── moves more than the minimum rate
//!              │      ╱
//!          5 s ┤────╳
//!              │      ╲
//!            0 ┤        ╰── moves less: the body fails, or the permit is taken back
//!              └────────────► time in which the client is awaited
//! ```
//!
//! The first five seconds and the rate of 240 bytes per second are the defaults of ASP.NET Core's
//! server (`MinDataRate` of Kestrel). An average over the whole body would let a client be silent
//! for hours after one fast megabyte, so earned time is bounded. A sender, whose upload would fail,
//! can earn half a minute. A reader gets only the first five seconds, because its response does not
//! fail, and because data that it has taken may still be in the buffers of the connection.

use std::time::Duration;

/// The minimum number of bytes per second that a client has to move while it is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MinRate(pub(crate) u32);

impl MinRate {
    /// The time for which a client may be awaited before it has moved anything.
    pub(crate) const GRACE: Duration = Duration::from_secs(5);
    /// The longest time for which a client that sends nothing may be awaited, however much it has
    /// sent before.
    pub(crate) const LONGEST: Duration = Duration::from_secs(30);

    /// Returns the time for which a client may still be awaited after it has moved `bytes`: the
    /// time that was `left` plus the time that it has earned, but at most `most`.
    pub(crate) fn earn(self, left: Duration, bytes: usize, most: Duration) -> Duration {
        let earned = Duration::from_secs(bytes as u64) / self.0.max(1);
        left.saturating_add(earned).min(most)
    }
}
