//! Quotas, and the algorithms that apply them.
//!
//! A [`Quota`] and an [`Algorithm`] are plain values, which [`Quota::validate`] checks together.
//! The algorithm's `Meter` implements the arithmetic.

use std::{fmt, time::Duration};

use crate::{ConfigError, error::ConfigErrorKind};

/// An amount per window of time, and optionally a different amount that may be used at once.
///
/// `Quota::per_minute(120)` allows 120 units per minute, and does not imply any other limit. A
/// quota of 0 allows nothing, and does not mean "unlimited".
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
    /// The capacity of a bucket, if it differs from the limit.
    burst: Option<u64>,
}

impl Quota {
    /// The largest limit: the largest integer that a structured header field can contain (RFC 9651
    /// section 3.3.1).
    pub const MAX_LIMIT: u64 = 999_999_999_999_999;
    /// The longest window: 366 days.
    pub const MAX_WINDOW: Duration = Duration::from_secs(366 * 86_400);

    /// Creates a quota of `limit` per `window`.
    pub const fn new(limit: u64, window: Duration) -> Self {
        Self { limit, window, burst: None }
    }

    /// Creates a quota of `limit` per second.
    pub const fn per_second(limit: u64) -> Self {
        Self::new(limit, Duration::from_secs(1))
    }

    /// Creates a quota of `limit` per minute.
    pub const fn per_minute(limit: u64) -> Self {
        Self::new(limit, Duration::from_secs(60))
    }

    /// Creates a quota of `limit` per hour.
    pub const fn per_hour(limit: u64) -> Self {
        Self::new(limit, Duration::from_secs(3_600))
    }

    /// Creates a quota of `limit` per day of 24 hours.
    pub const fn per_day(limit: u64) -> Self {
        Self::new(limit, Duration::from_secs(86_400))
    }

    /// Sets the amount that may be used at once. The default is the whole limit.
    ///
    /// For the token bucket and GCRA, the burst is the capacity of the bucket. For the leaky queue,
    /// the burst is the number of requests that fit into the queue. The other algorithms do not
    /// support a burst, so [`validate`](Self::validate) rejects a burst for them.
    pub const fn burst(mut self, burst: u64) -> Self {
        self.burst = Some(burst);
        self
    }

    /// The amount per window.
    #[must_use]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// The length of the window.
    #[must_use]
    pub const fn window(&self) -> Duration {
        self.window
    }

    /// The amount that may be used at once: the burst if one is set, or the limit otherwise.
    ///
    /// If the limit is 0, the capacity is also 0, even with a burst.
    #[must_use]
    pub const fn capacity(&self) -> u64 {
        match self.burst {
            Some(burst) if self.limit > 0 => burst,
            _ => self.limit,
        }
    }

    /// The time in which the whole capacity is replenished once it has been used up.
    ///
    /// Without a burst, this time is the window. With a burst, this time is the capacity times the
    /// [`interval`](Self::interval).
    #[must_use]
    pub fn replenished_in(&self) -> Duration {
        if self.burst.is_none() || self.limit == 0 {
            return self.window;
        }
        Duration::from_nanos(self.interval_nanos().saturating_mul(self.capacity()))
    }

    /// Checks whether `algorithm` supports this quota.
    ///
    /// # Errors
    ///
    /// Returns an error that names the unsupported field and its value.
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

    /// The time in which one unit of the limit is replenished: the window divided by the limit.
    ///
    /// The interval is rounded up to a whole nanosecond, so that rounding never allows more than
    /// the limit.
    #[must_use]
    pub fn interval(&self) -> Duration {
        Duration::from_nanos(self.interval_nanos())
    }

    /// The [`interval`](Self::interval) in nanoseconds. For a limit of 0, the interval is the whole
    /// window.
    pub(crate) fn interval_nanos(&self) -> u64 {
        self.window_nanos().div_ceil(self.limit.max(1))
    }

    /// The window in nanoseconds, saturating for quotas that were not validated.
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

/// The rule for applying a quota: when windows begin, and how much may be used at once.
///
/// For help with choosing an algorithm, see the
/// [guide](https://github.com/tower-waiting-room/tower-waiting-room/blob/main/docs/which-algorithm.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a store that lacks an algorithm must not compile")]
pub enum Algorithm {
    /// A counter that is reset at the start of each window. Around the boundary between two
    /// windows, up to twice the limit may be used within a very short time.
    FixedWindow(Alignment),
    /// A leaky bucket as a meter: the generic cell rate algorithm (ITU-T I.371). The bucket allows
    /// the capacity at once, and then one unit per interval.
    #[default]
    Gcra,
    /// A leaky bucket as a queue: requests that arrive faster than the rate are held until their
    /// turn.
    LeakyQueue,
    /// A weighted sum of the counters of the current and the previous window. The sum is an
    /// estimate that is nearly exact for large limits.
    SlidingCounter,
    /// A log of the times of all events within the window. The log never allows more than the limit
    /// in any window.
    SlidingLog(Refusals),
    /// Tokens that arrive at a constant rate and accumulate up to the capacity.
    TokenBucket,
}

impl Algorithm {
    /// Each algorithm, with the default of its option.
    pub const ALL: [Self; 6] = [
        Self::FixedWindow(Alignment::Epoch),
        Self::Gcra,
        Self::LeakyQueue,
        Self::SlidingCounter,
        Self::SlidingLog(Refusals::Ignore),
        Self::TokenBucket,
    ];

    /// The largest limit of a sliding log.
    ///
    /// At this limit, a key can use 16 MB, so [`Limiter::MAX_BYTES`](crate::Limiter::MAX_BYTES)
    /// also bounds the number of keys.
    pub const MAX_LOG: u64 = 1_000_000;

    /// The name of the algorithm in configuration files and metrics.
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

    /// Returns whether the state of the algorithm is a level that falls over time. Only algorithms
    /// with such a state support a burst.
    #[must_use]
    pub const fn is_bucket(self) -> bool {
        matches!(self, Self::Gcra | Self::LeakyQueue | Self::TokenBucket)
    }

    /// Checks the bounds that depend on the algorithm.
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
            let expected = "at most one per nanosecond; count in larger units";
            return too_large(quota.to_string(), expected);
        }
        // The interval is rounded up to whole nanoseconds. At very high rates, the rounding would
        // noticeably reduce the rate of a bucket, so a quota whose rounding error exceeds one part
        // in a thousand is rejected.
        let passed_in = quota.interval_nanos().saturating_mul(quota.limit());
        let excess = passed_in.saturating_sub(quota.window_nanos());
        if self.is_bucket() && excess > quota.window_nanos() / 1_000 {
            let expected = "an interval close to whole nanoseconds; count in larger units";
            return too_large(quota.to_string(), expected);
        }
        if self.is_bucket() && quota.replenished_in() > 100 * Quota::MAX_WINDOW {
            let expected = "one that is replenished within 100 years";
            return Err(ConfigError::new(ConfigErrorKind::TooLarge, "burst", quota, expected));
        }
        Ok(())
    }
}

/// The time at which the windows of a [`FixedWindow`](Algorithm::FixedWindow) begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "windows begin at fixed times or with a request")]
pub enum Alignment {
    /// Windows begin at multiples of their length since the Unix epoch.
    ///
    /// The start times of windows are known in advance and are the same for all keys, so refused
    /// clients may all return at once.
    #[default]
    Epoch,
    /// The window of a key begins with the first request for the key after its previous window has
    /// ended.
    ///
    /// Clients do not return all at once, but they cannot know the boundaries in advance.
    FirstHit,
}

/// The treatment of refused requests by a [`SlidingLog`](Algorithm::SlidingLog).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "refusals either count or do not")]
pub enum Refusals {
    /// Refused requests are counted like allowed requests, so a client that never pauses is never
    /// allowed again.
    Count,
    /// Refused requests are not counted.
    #[default]
    Ignore,
}
