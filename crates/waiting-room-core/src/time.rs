//! Points in time, and where they come from.
//!
//! Every rule of this crate takes `now` as an argument. A [`Clock`] is read only at the edge: by a
//! store that owns its time, such as [`MemoryStore`](crate::MemoryStore). [`SystemClock`] counts
//! from the Unix epoch, so that a sealed ticket means the same after a restart, and never runs
//! backwards within a process, so that windows stay exact when the wall clock is set.

use std::{
    fmt,
    ops::Add,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// A point in time: nanoseconds since the Unix epoch.
///
/// The range ends in the year 2554. Arithmetic saturates, so no time a client sends can overflow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The Unix epoch.
    pub const ZERO: Self = Self(0);
    /// The last representable point in time; used for "never".
    pub const MAX: Self = Self(u64::MAX);

    /// The point `nanos` nanoseconds after the Unix epoch.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The point `millis` milliseconds after the Unix epoch.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// The point `secs` seconds after the Unix epoch.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Nanoseconds since the Unix epoch.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Whole seconds since the Unix epoch.
    #[must_use]
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000_000
    }

    /// How long ago `earlier` was, or zero if it lies ahead.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The point `duration` before this one, or the epoch.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(duration)))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    /// The point `duration` after this one, or [`Timestamp::MAX`].
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.as_secs(), self.0 % 1_000_000_000)
    }
}

/// Where a store reads the time.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The present. Never earlier than an answer given before.
    fn now(&self) -> Timestamp;
}

/// The machine's clock: the wall clock at creation, then monotonic.
///
/// A wall clock that is set back or forward later moves nothing here, until the process restarts.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    started: Instant,
    epoch: Timestamp,
}

impl SystemClock {
    /// Reads the wall clock once.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    pub fn new() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), epoch: Timestamp::ZERO + wall }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        self.epoch + self.started.elapsed()
    }
}

/// A clock that stands still until it is told to advance; for tests and simulations.
///
/// Clones share the time.
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that shows `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self(Arc::new(AtomicU64::new(now.0)))
    }

    /// Moves the time forward by `duration`.
    pub fn advance(&self, duration: Duration) {
        self.0.fetch_add(nanos(duration), Ordering::Relaxed);
    }

    /// Moves the time forward to `now`; an earlier time changes nothing.
    pub fn advance_to(&self, now: Timestamp) {
        self.0.fetch_max(now.0, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

fn nanos(duration: Duration) -> u64 {
    let seconds = duration.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(duration.subsec_nanos().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let day = Duration::from_secs(86_400);
        assert_eq!(Timestamp::MAX + day, Timestamp::MAX);
        assert_eq!(Timestamp::from_secs(1).before(day), Timestamp::ZERO);
        assert_eq!(Timestamp::from_secs(1).since(Timestamp::from_secs(2)), Duration::ZERO);
        assert_eq!(Timestamp::ZERO + Duration::MAX, Timestamp::MAX);
    }

    #[test]
    fn the_system_clock_counts_from_the_epoch_and_never_backwards() {
        let clock = SystemClock::new();
        let first = clock.now();
        assert!(first > Timestamp::from_secs(1_700_000_000));
        assert!(clock.now() >= first);
    }

    #[test]
    fn a_manual_clock_stands_still_and_is_shared_by_its_clones() {
        let clock = ManualClock::new(Timestamp::from_secs(7));
        clock.clone().advance(Duration::from_secs(3));
        assert_eq!(clock.now(), Timestamp::from_secs(10));
        clock.advance_to(Timestamp::from_secs(4));
        assert_eq!(clock.now(), Timestamp::from_secs(10));
    }
}
