//! What a room has promised, and what a visitor saw of it.

use std::time::Duration;

use waiting_room_core::Timestamp;

use super::visitor::Place;

/// The promises that are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// At most this many visitors are active at any instant.
    pub total_active_users: u32,
    /// At most this many visitors are let in within any 60 seconds, if that is limited.
    pub new_users_per_minute: Option<u32>,
    /// A visitor stays active for at least this long after the last request.
    pub session_duration: Duration,
    /// A place outlives the last check-in by this long.
    pub place_retention: Duration,
    /// A visitor far back in line is asked to check in this often. A first ticket keeps its order of
    /// arrival for half as long again.
    pub refresh_interval: Duration,
}

impl Limits {
    /// A window of the limit on new users.
    pub(super) const MINUTE: Duration = Duration::from_secs(60);
    /// A request that failed may still be decided this much later: it can lie in a buffer of the
    /// server after the client has hung up.
    pub(super) const STRAGGLER: Duration = Duration::from_secs(60);

    /// A pass is renewed beside the request that shows it, so the renewal may be stamped this much
    /// later than the answer arrives; not if answers take no time at all.
    pub(super) const LATE_RENEWAL: Duration = Duration::from_secs(1);

    /// For how long a place, or the order of a first ticket, outlives its last check-in.
    pub(super) fn kept_for(&self, place: &Place) -> Duration {
        match place.second_touch {
            true => self.place_retention,
            false => self.refresh_interval * 3 / 2,
        }
    }

    /// The longest a slot may be held after its last request: until the pass of a renewal lapses.
    pub(super) fn longest_hold(&self) -> Duration {
        self.session_duration + self.session_duration / 8
    }

    /// The longest a visitor can count as present after a check-in whose answer is unknown.
    ///
    /// Rooms keep a place for at least two refresh intervals; 1.5 intervals with the most jitter
    /// are less than that, but for rounding up to whole seconds.
    pub(super) fn longest_presence(&self) -> Duration {
        self.place_retention + Duration::from_secs(2)
    }
}

/// A visitor, as the observer numbers them.
///
/// One number is one client that keeps its cookies. A client without cookies is a new visitor to
/// any room at each request, so it gets a new number each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VisitorNo(pub u64);

impl From<u64> for VisitorNo {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

/// What an answer said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a visitor gets in, waits or goes: there is no fourth")]
pub enum Seen {
    /// The service answered: the visitor is active.
    Admitted,
    /// The room has no place for this visitor, not even in the line.
    Refused,
    /// The visitor waits.
    Waiting {
        /// After how long the visitor was asked to come back, counted from this answer.
        interval: Duration,
        /// Since when the room says the visitor waits, if it says so.
        waiting_since: Option<Timestamp>,
        /// The position that was shown.
        position: ShownPosition,
        /// Whether the request carried a ticket.
        returned_ticket: bool,
    },
}

/// A position in line, as an answer shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "it is shown or not, and may be said to be exact")]
pub enum ShownPosition {
    /// Around a number. The next exact one may be higher than the last.
    Approximate,
    /// A number, counted from 1.
    Exact(u32),
    /// None.
    None,
}

/// The details of an answer that tells a visitor to wait, as in [`Seen::Waiting`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub interval: Duration,
    pub waiting_since: Option<Timestamp>,
    pub position: ShownPosition,
    pub returned_ticket: bool,
}
