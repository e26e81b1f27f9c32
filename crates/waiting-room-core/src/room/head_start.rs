//! The time by which a visitor is ordered ahead of its first touch.
//!
//! A head start is kept in the visitor's sealed ticket, in 13 bits: whole seconds up to about 68
//! minutes, or whole minutes up to about 68 hours.

use std::time::Duration;

use crate::{Pass, Room, Ticket, Timestamp};

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

impl Ticket {
    /// Returns the time by which the visitor is ordered, unless a draw determines its place: its
    /// first touch, less its head start.
    #[must_use]
    pub fn arrival(&self) -> Timestamp {
        self.first_seen.before(self.head_start.duration())
    }

    /// Creates the ticket with which the visitor of a pass that has expired returns to the line, at
    /// `now`. Returns `None` if the pass has not expired.
    ///
    /// The visitor is ordered by its first arrival, rounded to a minute, so it is ahead of all
    /// visitors who came later. It takes a slot or a place under the same conditions as any other
    /// visitor. If it has left its session, a room treats the ticket as void.
    #[must_use]
    pub fn resuming(pass: &Pass, now: Timestamp) -> Option<Self> {
        // The order of arrival begins after the end of the session, which voids all earlier tickets.
        let returns_at = pass.expires_at + Duration::from_micros(1);
        let arrived = Timestamp::from_secs(u64::from(pass.bucket) * 60);
        // The head start is rounded down, by less than a minute.
        let head_start = returns_at.since(arrived) + Duration::from_secs(60);
        let mut ticket = Self::new(pass.id, returns_at, now, now);
        ticket.head_start = HeadStart::new(head_start);
        ticket.resumes = true;
        (returns_at <= now).then_some(ticket)
    }
}

impl Room {
    /// Returns whether the session of this ticket's visitor ended after the ticket was issued. A
    /// visitor that returns from a lapsed session must not have left it.
    pub(super) fn is_void(&self, ticket: &Ticket) -> bool {
        self.sessions.is_ticket_void(ticket.id, ticket.first_seen)
            || ticket.resumes && self.sessions.is_pass_void(ticket.id, ticket.arrival())
    }
}

#[cfg(test)]
mod tests;
