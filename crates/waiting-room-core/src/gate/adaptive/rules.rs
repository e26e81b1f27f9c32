//! The rules of an adaptive limit: its bounds, its initial value, its latency target, and its
//! window.

use std::{fmt, time::Duration};

use crate::{ConfigError, error::ConfigErrorKind};

/// The bounds, the initial value, the latency target and the window of an adaptive limit.
///
/// The values are checked only by [`validate`](Self::validate), which the constructors of all
/// adaptive limits call.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_core::gate::{AdaptiveLimit, AdaptiveRules, Vegas};
///
/// let rules = AdaptiveRules::new().min(4).max(100).latency_target(Duration::from_millis(250));
/// assert_eq!(Vegas::new(rules)?.limit(), 20);
///
/// let error = Vegas::new(AdaptiveRules::new().min(300)).unwrap_err();
/// assert_eq!(error.to_string(), "min is 300, expected at most max, which is 200");
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct AdaptiveRules {
    pub(super) min: u32,
    pub(super) max: u32,
    /// The initial limit, or `None` for the default. A default that is out of bounds is replaced by
    /// the nearest bound.
    initial: Option<u32>,
    pub(super) latency_target: Option<Duration>,
    pub(super) window: Duration,
}

impl AdaptiveRules {
    /// The highest allowed value of [`max`](Self::max).
    pub const MAX: u32 = 1_000_000;
    /// The shortest and the longest allowed window.
    pub const WINDOW: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));
    /// The shortest allowed latency target.
    pub const MIN_LATENCY_TARGET: Duration = Duration::from_millis(1);

    /// Creates rules for a limit between 1 and 200 that starts at 20, without a latency target and
    /// with windows of one second.
    pub const fn new() -> Self {
        Self {
            min: 1,
            max: 200,
            initial: None,
            latency_target: None,
            window: Duration::from_secs(1),
        }
    }

    /// Sets the lowest limit, in requests; 1 by default. The limit never falls below this value,
    /// not even under overload.
    pub const fn min(mut self, min: u32) -> Self {
        self.min = min;
        self
    }

    /// Sets the highest limit, in requests; 200 by default.
    ///
    /// The highest limit is the last line of defence, so choose a number of requests that the
    /// service can survive.
    pub const fn max(mut self, max: u32) -> Self {
        self.max = max;
        self
    }

    /// Sets the initial limit, in requests; by default 20, or the bound nearest to 20.
    ///
    /// A value that is too low does less harm than a value that is too high. Later windows are
    /// compared with the first windows, so the service should be fast during the first windows.
    pub const fn initial(mut self, initial: u32) -> Self {
        self.initial = Some(initial);
        self
    }

    /// Sets the longest acceptable typical hold, at least 1 ms; `None` by default.
    ///
    /// While the typical hold is above the target, the limit falls by at least a tenth in each
    /// window. The typical hold is the median hold of a window, smoothed over a few windows, so it
    /// hardly changes if one request in ten streams for minutes.
    ///
    /// **Set a target if you know which hold is too long.** Without a target, an adaptive limit can
    /// detect only that requests have become slower, not that they are too slow.
    pub fn latency_target(mut self, target: impl Into<Option<Duration>>) -> Self {
        self.latency_target = target.into();
        self
    }

    /// Sets the minimum length of a window, from 100 ms to 10 s; one second by default. The limit
    /// changes at most once per window.
    ///
    /// Each window also contains at least ten samples, and lasts for at least twice the median hold
    /// of the previous window.
    pub const fn window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// Checks each rule on its own and against the other rules.
    ///
    /// # Errors
    ///
    /// Returns an error if a rule is out of bounds or contradicts another rule. The error names the
    /// first such rule and its value.
    pub fn validate(&self) -> Result<(), ConfigError> {
        use ConfigErrorKind::{Contradicts, TooLarge, TooSmall};

        let Self { min, max, .. } = *self;
        let (shortest, longest) = Self::WINDOW;
        if min == 0 {
            return wrong(TooSmall, "min", min, "at least 1");
        }
        if max > Self::MAX {
            return wrong(TooLarge, "max", max, format_args!("at most {}", Self::MAX));
        }
        if min > max {
            let expected = format_args!("at most max, which is {max}");
            return wrong(Contradicts, "min", min, expected);
        }
        if let Some(initial) = self.initial
            && !(min..=max).contains(&initial)
        {
            let expected = format_args!("between min and max, which are {min} and {max}");
            return wrong(Contradicts, "initial", initial, expected);
        }
        if let Some(target) = self.latency_target
            && target < Self::MIN_LATENCY_TARGET
        {
            let expected = format_args!("at least {:?}", Self::MIN_LATENCY_TARGET);
            return wrong(TooSmall, "latency_target", format_args!("{target:?}"), expected);
        }
        let given = format_args!("{:?}", self.window);
        if self.window < shortest {
            return wrong(TooSmall, "window", given, format_args!("at least {shortest:?}"));
        }
        if self.window > longest {
            return wrong(TooLarge, "window", given, format_args!("at most {longest:?}"));
        }
        Ok(())
    }

    /// Returns the initial limit.
    pub(super) fn first(&self) -> f64 {
        self.within(f64::from(self.initial.unwrap_or(INITIAL)))
    }

    /// Returns the allowed limit that is nearest to the given limit.
    pub(super) fn within(&self, limit: f64) -> f64 {
        limit.max(f64::from(self.min)).min(f64::from(self.max))
    }
}

impl Default for AdaptiveRules {
    fn default() -> Self {
        Self::new()
    }
}

fn wrong(
    kind: ConfigErrorKind,
    field: &'static str,
    given: impl fmt::Display,
    expected: impl fmt::Display,
) -> Result<(), ConfigError> {
    Err(ConfigError::new(kind, field, given, expected))
}

/// The default initial limit, in requests.
const INITIAL: u32 = 20;
