//! The time by which a visitor is ordered ahead of its first touch.
//!
//! A head start is kept in the visitor's sealed ticket, in 13 bits: whole seconds up to about 68
//! minutes, or whole minutes up to about 68 hours.

use std::time::Duration;

/// The time by which a visitor is ordered ahead of its first touch.
///
/// A visitor with a head start is ordered as if it had come that much earlier. Among visitors whose
/// head starts are at most `h`, no visitor is therefore overtaken by one that came more than `h`
/// later.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_core::room::HeadStart;
///
/// assert_eq!(HeadStart::new(Duration::from_millis(90_500)).duration(), Duration::from_secs(90));
/// assert_eq!(HeadStart::new(Duration::MAX), HeadStart::MAX);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HeadStart(u16);

impl HeadStart {
    /// No head start: the visitor is ordered by its first touch.
    pub const NONE: Self = Self(0);
    /// The longest head start, 4095 minutes.
    pub const MAX: Self = Self(Self::MINUTES | Self::COUNT);

    /// The number of bits that contain a head start.
    pub const BITS: u32 = 13;

    /// The bit that is set if the other bits count minutes rather than seconds.
    const MINUTES: u16 = 1 << 12;
    /// The bits that contain the count.
    const COUNT: u16 = Self::MINUTES - 1;

    /// Creates a head start of this duration, rounded down to whole seconds. A duration of 4096 s or
    /// more is rounded down to whole minutes, and is at most [`MAX`](Self::MAX).
    #[must_use]
    pub fn new(duration: Duration) -> Self {
        let count = |units: u64| u16::try_from(units).ok().filter(|units| *units <= Self::COUNT);
        let secs = duration.as_secs();
        match (count(secs), count(secs / 60)) {
            (Some(seconds), _) => Self(seconds),
            (None, Some(minutes)) => Self(minutes | Self::MINUTES),
            (None, None) => Self::MAX,
        }
    }

    /// Returns the duration of the head start.
    #[must_use]
    pub const fn duration(self) -> Duration {
        let unit = if self.0 & Self::MINUTES == 0 { 1 } else { 60 };
        Duration::from_secs((self.0 & Self::COUNT) as u64 * unit)
    }

    /// Returns the [`BITS`](Self::BITS) bits from which [`from_bits`](Self::from_bits) restores the
    /// head start.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Restores a head start. Higher bits are ignored.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & Self::MAX.0)
    }
}
