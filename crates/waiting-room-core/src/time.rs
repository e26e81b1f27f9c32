//! Points in time, and the clocks that produce them.
//!
//! Every function of this crate that makes a decision receives the current time as an argument, so
//! decisions are deterministic and tests need not wait. A [`Clock`] is read only at the edge of the
//! crate, for example by a store that owns its time, such as [`MemoryStore`](crate::MemoryStore).
//!
//! [`SystemClock`] counts from the Unix epoch, so the timestamps in a sealed ticket stay valid
//! after a restart. Within a process, the system clock never runs backwards, so windows stay exact
//! even when the wall clock is adjusted.

mod text;

use std::{
    fmt,
    ops::Add,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// A point in time, in nanoseconds since the Unix epoch.
///
/// A timestamp is parsed from text in the format of RFC 3339, or converted from a [`SystemTime`]:
///
/// ```
/// use waiting_room_core::Timestamp;
///
/// let doors: Timestamp = "2026-12-24T10:00:00Z".parse()?;
/// assert_eq!(doors, Timestamp::from_secs(1_798_106_400));
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
///
/// The latest timestamp is in the year 2554. Arithmetic on timestamps saturates at both ends of the
/// range, so a timestamp sent by a client cannot cause an overflow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The Unix epoch.
    pub const ZERO: Self = Self(0);
    /// The latest representable point in time, which also stands for "never".
    pub const MAX: Self = Self(u64::MAX);

    /// Creates the timestamp `nanos` nanoseconds after the Unix epoch.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Creates the timestamp `millis` milliseconds after the Unix epoch, capped at
    /// [`MAX`](Self::MAX).
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Creates the timestamp `secs` seconds after the Unix epoch, capped at [`MAX`](Self::MAX).
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Returns the number of nanoseconds since the Unix epoch.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the number of whole milliseconds since the Unix epoch, rounded down.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Returns the number of whole seconds since the Unix epoch, rounded down.
    #[must_use]
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000_000
    }

    /// Returns the time elapsed since `earlier`, or zero if `earlier` is later than this timestamp.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Returns the timestamp `duration` before this timestamp, or the Unix epoch if the result
    /// would be earlier.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(duration)))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    /// Returns the timestamp `duration` after this timestamp, or [`Timestamp::MAX`] if the result
    /// would be later.
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
    /// Returns the current time, which is never earlier than a previously returned time.
    ///
    /// This method is called for every request, often under a lock, so it must be fast and must not
    /// block.
    fn now(&self) -> Timestamp;
}

/// The machine's clock: the wall clock at the time of creation, advanced by the monotonic clock.
///
/// Later adjustments of the wall clock, in either direction, have no effect until the process
/// restarts. Nodes that need a common time therefore use their store's clock instead.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    /// The time of creation on the monotonic clock.
    started: Instant,
    /// The time of creation on the wall clock.
    epoch: Timestamp,
}

impl SystemClock {
    /// Creates a clock that starts at the current wall-clock time.
    ///
    /// The wall clock is not read again later. A wall-clock time before the Unix epoch counts as
    /// the epoch.
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
/// All clones of a manual clock share its time, so a test can keep one clone and pass another to a
/// store.
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// Creates a clock that is set to `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self(Arc::new(AtomicU64::new(now.0)))
    }

    /// Moves the clock forward by `duration`.
    pub fn advance(&self, duration: Duration) {
        // `Relaxed` ordering suffices in all methods of this type, because the time is a single
        // value and no other memory is published with it.
        self.0.fetch_add(nanos(duration), Ordering::Relaxed);
    }

    /// Moves the clock forward to `now`, unless `now` has already passed.
    pub fn advance_to(&self, now: Timestamp) {
        self.0.fetch_max(now.0, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

/// Converts a duration to nanoseconds, saturating at about 584 years.
fn nanos(duration: Duration) -> u64 {
    let seconds = duration.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(duration.subsec_nanos().into())
}

/// Times as numbers of seconds, the form in which snapshots are serialized.
#[cfg(feature = "serde")]
pub(crate) mod as_seconds {
    use std::time::Duration;

    use serde::Serializer;

    use super::Timestamp;

    /// Serializes a duration as a number of seconds.
    pub(crate) fn of_duration<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64())
    }

    /// Serializes a time as the number of seconds since the Unix epoch.
    pub(crate) fn of_time<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        of_duration(&at.since(Timestamp::ZERO), serializer)
    }
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
    fn a_time_has_the_same_value_in_each_unit() {
        let time = Timestamp::from_nanos(12_345_678_901_234);
        assert_eq!((time.as_secs(), time.as_millis()), (12_345, 12_345_678));
        assert_eq!(Timestamp::from_millis(12_345_678), Timestamp::from_nanos(12_345_678_000_000));
        assert_eq!(Timestamp::from_secs(12_345), Timestamp::from_millis(12_345_000));
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
