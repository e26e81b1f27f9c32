//! The promises of a room, and what a visitor sees of it.

use std::time::Duration;

use waiting_room_core::Timestamp;

use super::visitor::Place;

/// The promises that the oracle judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// At most this many visitors are active at any instant.
    pub total_active_users: u32,
    /// At most this many visitors are admitted within any 60 seconds; `None` means no such limit.
    pub new_users_per_minute: Option<u32>,
    /// A visitor stays active for at least this long after the last request.
    pub session_duration: Duration,
    /// A place outlives the last check-in by this long.
    pub place_retention: Duration,
    /// A visitor far back in line is asked to check in this often. A first ticket keeps its order
    /// of arrival for one and a half of these intervals, but at least for one interval and two
    /// seconds.
    pub refresh_interval: Duration,
}

impl Limits {
    /// The window of the limit on new users.
    pub(super) const MINUTE: Duration = Duration::from_secs(60);
    /// How much later a failed request may still be decided: it can stay in a buffer of the server
    /// after the client has hung up.
    pub(super) const STRAGGLER: Duration = Duration::from_secs(60);

    /// How much later than its answer a renewal may be stamped, because a pass is renewed in
    /// parallel with the request that carries it. Does not apply if answers take no time at all.
    pub(super) const LATE_RENEWAL: Duration = Duration::from_secs(1);

    /// How long a place, or the order of a first ticket, outlives its last check-in.
    pub(super) fn kept_for(&self, place: &Place) -> Duration {
        if place.second_touch { self.place_retention } else { self.first_retention() }
    }

    /// How long the order of arrival is kept after a first ticket.
    #[must_use]
    pub fn first_retention(&self) -> Duration {
        (self.refresh_interval * 3 / 2).max(self.refresh_interval + Duration::from_secs(2))
    }

    /// The longest time for which a slot may be held after its last request: until the pass of a
    /// renewal lapses.
    pub(super) fn longest_hold(&self) -> Duration {
        self.session_duration + self.session_duration / 8
    }

    /// The longest interval after which a visitor is asked to check in: with the greatest jitter, or
    /// just after the start of an event.
    pub(super) fn longest_interval(&self) -> Duration {
        self.refresh_interval * 7 / 5
    }

    /// The longest time for which a visitor can count as present after a check-in whose answer is
    /// unknown.
    ///
    /// A place is kept for at least two refresh intervals. One and a half intervals with the
    /// greatest jitter are shorter than that, except for the rounding up to whole seconds.
    pub(super) fn longest_presence(&self) -> Duration {
        self.place_retention + Duration::from_secs(2)
    }
}

/// A visitor, by the number that the observer gives it.
///
/// One number is one client that keeps its cookies. For any room, a client without cookies is a new
/// visitor at each request, so it needs a new number each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VisitorNo(pub u64);

impl From<u64> for VisitorNo {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

/// The content of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a visitor is admitted, waits, or is refused")]
pub enum Seen {
    /// The service answered: the visitor is active.
    Admitted,
    /// The room has no place for this visitor, not even in the line.
    Refused,
    /// The visitor waits.
    Waiting {
        /// The time after which the visitor is to return, counted from this answer.
        interval: Duration,
        /// The start of the wait, as the answer shows it; `None` if it does not.
        waiting_since: Option<Timestamp>,
        /// The position that was shown.
        position: ShownPosition,
        /// Whether the request carried a ticket.
        returned_ticket: bool,
    },
}

/// A position in line, as an answer shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a position is exact, approximate or not shown")]
pub enum ShownPosition {
    /// An approximate position. The next exact one may be higher than the last.
    Approximate,
    /// An exact position, counted from 1.
    Exact(u32),
    /// No position.
    None,
}

/// The details of an answer that makes a visitor wait, as in [`Seen::Waiting`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub interval: Duration,
    pub waiting_since: Option<Timestamp>,
    pub position: ShownPosition,
    pub returned_ticket: bool,
}
