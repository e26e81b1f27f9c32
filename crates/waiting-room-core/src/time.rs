//! Points in time, and the clocks that produce them.
//!
//! Every rule of this crate takes `now` as an argument, which makes it deterministic and testable
//! without waiting. A [`Clock`] is read only at the edge: by a store that owns its time, such as
//! [`MemoryStore`](crate::MemoryStore).
//!
//! [`SystemClock`] counts from the Unix epoch, so that the times in a sealed ticket keep their
//! meaning after a restart. Within a process it never runs backwards, so windows stay exact even
//! when the wall clock is adjusted.

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
/// The range ends in the year 2554. Arithmetic saturates at both ends, so a time sent by a client
/// cannot make it overflow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The Unix epoch.
    pub const ZERO: Self = Self(0);
    /// The last representable point in time. It represents "never" where a time is expected.
    pub const MAX: Self = Self(u64::MAX);

    /// The point `nanos` nanoseconds after the Unix epoch.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The point `millis` milliseconds after the Unix epoch, at most [`MAX`](Self::MAX).
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// The point `secs` seconds after the Unix epoch, at most [`MAX`](Self::MAX).
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Nanoseconds since the Unix epoch.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole milliseconds since the Unix epoch, rounded down.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Whole seconds since the Unix epoch, rounded down.
    #[must_use]
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000_000
    }

    /// The time elapsed since `earlier`, or zero if `earlier` is later than this point.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The point `duration` before this one, or the Unix epoch if that would be earlier.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(duration)))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    /// The point `duration` after this one, or [`Timestamp::MAX`] if that would be later.
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.as_secs(), self.0 % 1_000_000_000)
    }
}

/// A source of the current time, for a store or a gate.
///
/// Use [`SystemClock`] in production and [`ManualClock`] in tests.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the current time, which is never earlier than any time returned before.
    ///
    /// It is called for every request, often under a lock, so it must be fast and must not block.
    fn now(&self) -> Timestamp;
}

/// The machine's clock: the wall clock at the time of creation, advanced by the monotonic clock.
///
/// Later adjustments of the wall clock, in either direction, have no effect until the process
/// restarts. Nodes that need a common time therefore use their store's clock instead.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    /// The time of creation, by the monotonic clock.
    started: Instant,
    /// The time of creation, by the wall clock.
    epoch: Timestamp,
}

impl SystemClock {
    /// Creates a clock that starts at the current wall-clock time, which is read only here.
    ///
    /// A wall clock that is set before the Unix epoch counts as the epoch.
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

/// A clock that moves only when it is advanced, for tests and simulations.
///
/// Clones share one time, so a test can keep one clone and pass another to a store.
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// Creates a clock that is set to `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self(Arc::new(AtomicU64::new(now.0)))
    }

    /// Moves the time forward by `duration`.
    pub fn advance(&self, duration: Duration) {
        // Relaxed suffices everywhere in this type: the time is one number, and no other memory is
        // published with it.
        self.0.fetch_add(nanos(duration), Ordering::Relaxed);
    }

    /// Moves the time forward to `now`. An earlier time has no effect.
    pub fn advance_to(&self, now: Timestamp) {
        self.0.fetch_max(now.0, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

/// The duration in nanoseconds, saturating at about 584 years.
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
