//! How much of something may be used in a time.

use std::{fmt, time::Duration};

use crate::{ConfigError, ConfigErrorKind};

/// So much in a window, and for the buckets so much at once.
///
/// `Quota::per_minute(120)` means 120 a minute and nothing else. A quota of 0 allows nothing; it
/// does not mean "without limit".
///
/// ```
/// use waiting_room_core::Quota;
///
/// let quota = Quota::per_minute(120).burst(20);
/// assert_eq!(quota.to_string(), "120 per 60 s, burst 20");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct Quota {
    limit: u64,
    window: Duration,
    burst: Option<u64>,
}

impl Quota {
    /// The largest limit: the largest integer that a header can carry (RFC 9651 section 3.3.1).
    pub const MAX_LIMIT: u64 = 999_999_999_999_999;
    /// The longest window: 366 days.
    pub const MAX_WINDOW: Duration = Duration::from_secs(366 * 86_400);

    /// `limit` in every `window`.
    pub const fn new(limit: u64, window: Duration) -> Self {
        Self { limit, window, burst: None }
    }

    /// `limit` a second.
    pub const fn per_second(limit: u64) -> Self {
        Self::new(limit, Duration::from_secs(1))
    }

    /// `limit` a minute.
    pub const fn per_minute(limit: u64) -> Self {
        Self::new(limit, Duration::from_secs(60))
    }

    /// `limit` an hour.
    pub const fn per_hour(limit: u64) -> Self {
        Self::new(limit, Duration::from_secs(3_600))
    }

    /// `limit` a day of 24 hours.
    pub const fn per_day(limit: u64) -> Self {
        Self::new(limit, Duration::from_secs(86_400))
    }

    /// At most so much at once, instead of the whole limit. For the token bucket and GCRA the
    /// capacity of the bucket, for the leaky queue how many may be in it; the other algorithms
    /// have none.
    pub const fn burst(mut self, burst: u64) -> Self {
        self.burst = Some(burst);
        self
    }

    /// The limit for each window.
    #[must_use]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// The window.
    #[must_use]
    pub const fn window(&self) -> Duration {
        self.window
    }

    /// How much may be used at once: the burst, or else the limit.
    #[must_use]
    pub const fn capacity(&self) -> u64 {
        match self.burst {
            Some(burst) if self.limit > 0 => burst,
            _ => self.limit,
        }
    }

    /// In which time the capacity is there again once it was used: the window, unless a burst was
    /// set.
    #[must_use]
    pub fn replenished_in(&self) -> Duration {
        if self.burst.is_none() || self.limit == 0 {
            return self.window;
        }
        Duration::from_nanos(self.interval_nanos().saturating_mul(self.capacity()))
    }

    /// Checks that `algorithm` can keep this quota.
    ///
    /// # Errors
    ///
    /// The field that it cannot keep, with its value.
    pub fn validate(&self, algorithm: Algorithm) -> Result<(), ConfigError> {
        let wrong = |kind, field, given: String, expected: &str| {
            Err(ConfigError::new(kind, field, given, expected))
        };
        let seconds = |window: Duration| format!("{} s", window.as_secs_f64());
        if self.window < Duration::from_millis(1) {
            let given = seconds(self.window);
            return wrong(ConfigErrorKind::TooSmall, "window", given, "at least 1 ms");
        }
        if self.window > Self::MAX_WINDOW {
            let given = seconds(self.window);
            return wrong(ConfigErrorKind::TooLarge, "window", given, "at most 366 days");
        }
        if self.limit > Self::MAX_LIMIT {
            let given = self.limit.to_string();
            return wrong(ConfigErrorKind::TooLarge, "limit", given, "at most 15 digits");
        }
        if let Some(burst) = self.burst {
            if !algorithm.is_bucket() {
                let expected = "none: only the token bucket, GCRA and the leaky queue have one";
                return wrong(ConfigErrorKind::Contradicts, "burst", burst.to_string(), expected);
            }
            if burst == 0 && self.limit > 0 {
                let expected = "at least 1; to allow nothing, set the limit to 0";
                return wrong(ConfigErrorKind::TooSmall, "burst", "0".to_owned(), expected);
            }
        }
        algorithm.validate(self)
    }

    /// The time in which one of the limit comes back, rounded up to a whole nanosecond, so that the
    /// limit is never exceeded for it.
    #[must_use]
    pub fn interval(&self) -> Duration {
        Duration::from_nanos(self.interval_nanos())
    }

    /// The same in nanoseconds.
    pub(crate) fn interval_nanos(&self) -> u64 {
        self.window_nanos().div_ceil(self.limit.max(1))
    }

    /// The window in nanoseconds.
    pub(crate) fn window_nanos(&self) -> u64 {
        u64::try_from(self.window.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} per {} s", self.limit, self.window.as_secs_f64())?;
        match self.burst {
            Some(burst) => write!(f, ", burst {burst}"),
            None => Ok(()),
        }
    }
}

/// How a quota is meant at the edges.
///
/// See the [guide](https://github.com/tower-waiting-room/tower-waiting-room/blob/main/docs/which-algorithm.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// A counter that starts again with each window. Around the boundary of two windows, twice the
    /// limit may pass in a moment.
    FixedWindow(Alignment),
    /// A leaky bucket as a meter: the generic cell rate algorithm (ITU-T I.371). The capacity at
    /// once, then one in every interval.
    #[default]
    Gcra,
    /// A leaky bucket as a queue: what arrives faster than the rate is held until its turn.
    LeakyQueue,
    /// The counters of this window and the one before, weighted: nearly exact for large limits.
    SlidingCounter,
    /// The times of all events within the window: never more than the limit in any window.
    SlidingLog(Refusals),
    /// Tokens that come at the rate and are kept up to the capacity.
    TokenBucket,
}

impl Algorithm {
    /// The largest limit of a sliding log: it can take 16 MB for each key, of which
    /// [`Limiter::MAX_BYTES`](crate::Limiter::MAX_BYTES) bounds the number.
    pub const MAX_LOG: u64 = 1_000_000;

    /// The name in configuration files and metrics.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::FixedWindow(_) => "fixed_window",
            Self::Gcra => "gcra",
            Self::LeakyQueue => "leaky_queue",
            Self::SlidingCounter => "sliding_counter",
            Self::SlidingLog(_) => "sliding_log",
            Self::TokenBucket => "token_bucket",
        }
    }

    /// Whether what is remembered is a level that falls as time goes by; then a quota may have a
    /// burst.
    #[must_use]
    pub const fn is_bucket(self) -> bool {
        matches!(self, Self::Gcra | Self::LeakyQueue | Self::TokenBucket)
    }

    fn validate(self, quota: &Quota) -> Result<(), ConfigError> {
        let too_large = |given: String, expected: &str| {
            Err(ConfigError::new(ConfigErrorKind::TooLarge, "limit", given, expected))
        };
        if let Self::SlidingLog(_) = self
            && quota.limit() > Self::MAX_LOG
        {
            let expected = "at most 1000000 for a sliding log; try the sliding counter";
            return too_large(quota.limit().to_string(), expected);
        }
        if self.is_bucket() && quota.limit() > quota.window_nanos() {
            let expected = "at most one a nanosecond; count in larger units";
            return too_large(quota.to_string(), expected);
        }
        let passed_in = quota.interval_nanos().saturating_mul(quota.limit());
        let excess = passed_in.saturating_sub(quota.window_nanos());
        if self.is_bucket() && excess > quota.window_nanos() / 1_000 {
            let expected = "one that whole nanoseconds can keep; count in larger units";
            return too_large(quota.to_string(), expected);
        }
        if self.is_bucket() && quota.replenished_in() > 100 * Quota::MAX_WINDOW {
            let expected = "one that is replenished within 100 years";
            return Err(ConfigError::new(ConfigErrorKind::TooLarge, "burst", quota, expected));
        }
        Ok(())
    }
}

/// When the windows of a [`FixedWindow`](Algorithm::FixedWindow) begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the clock or the client begins a window")]
pub enum Alignment {
    /// At multiples of the window since the Unix epoch: known in advance, and the same for all, who
    /// may then all come at once.
    #[default]
    Epoch,
    /// With the first request of a key after its last window: no herd, and no time known before.
    FirstHit,
}

/// Whether a [`SlidingLog`](Algorithm::SlidingLog) counts what it refuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "they count or they do not")]
pub enum Refusals {
    /// They count like the rest: who does not stop asking is not allowed again.
    Count,
    /// They leave no trace.
    #[default]
    Ignore,
}
