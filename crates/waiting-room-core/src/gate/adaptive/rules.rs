//! What every adaptive limit must obey.

use std::{fmt, time::Duration};

use crate::{ConfigError, ConfigErrorKind};

/// Within what an adaptive limit may move, and how fast.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_core::{AdaptiveLimit, AdaptiveRules, Vegas};
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
    initial: Option<u32>,
    pub(super) latency_target: Option<Duration>,
    pub(super) window: Duration,
}

impl AdaptiveRules {
    /// The highest `max`.
    pub const MAX: u32 = 1_000_000;
    /// The shortest and the longest window.
    pub const WINDOW: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));
    /// The shortest latency target.
    pub const MIN_LATENCY_TARGET: Duration = Duration::from_millis(1);

    /// Between 1 and 200, from 20, without a latency target, in windows of one second.
    pub const fn new() -> Self {
        Self {
            min: 1,
            max: 200,
            initial: None,
            latency_target: None,
            window: Duration::from_secs(1),
        }
    }

    /// At least so many may run, however bad it looks. 1.
    pub const fn min(mut self, min: u32) -> Self {
        self.min = min;
        self
    }

    /// At most so many may run, however good it looks. 200.
    ///
    /// The last line of defence: choose a number that the service survives.
    pub const fn max(mut self, max: u32) -> Self {
        self.max = max;
        self
    }

    /// Where the limit begins. 20, or the bound that is nearest to it.
    ///
    /// Rather too low than too high: the first windows tell what is fast.
    pub const fn initial(mut self, initial: u32) -> Self {
        self.initial = Some(initial);
        self
    }

    /// While the typical hold is above this, the limit does not grow, and falls by a tenth each
    /// window. None by default.
    ///
    /// The typical hold is the median of a window, smoothed over a few of them: one of ten
    /// requests may stream for minutes without any effect. **Set it, if you can name a number**:
    /// it is the only thing here that knows what slow is, where all else knows only slower.
    pub fn latency_target(mut self, target: impl Into<Option<Duration>>) -> Self {
        self.latency_target = target.into();
        self
    }

    /// The limit moves once in so long, or less often: a window also lasts for two typical holds
    /// and for ten samples. One second.
    pub const fn window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// Checks that the rules make sense together.
    ///
    /// # Errors
    ///
    /// The first rule that does not, with its value.
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

    /// Where the limit begins.
    pub(super) fn first(&self) -> f64 {
        self.within(f64::from(self.initial.unwrap_or(INITIAL)))
    }

    /// The nearest limit to this one that is allowed.
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

const INITIAL: u32 = 20;
