//! The oracle's knowledge of one visitor.

use waiting_room_core::Timestamp;

/// All that is known of one visitor.
#[derive(Clone, Debug)]
pub(super) struct Visitor {
    /// When its first request departed.
    pub first_sent: Timestamp,
    /// The interval in which it took its place in the order of arrival.
    pub arrived: Span,
    /// The request in flight.
    pub flight: Option<Flight>,
    /// The departure of the first request whose decision is unknown and may still matter.
    pub unresolved_since: Option<Timestamp>,
    /// Its place as the answers have told it, until it is admitted.
    pub place: Option<Place>,
    /// Its entry among the visitors who may stand in the line.
    pub standing: Option<Standing>,
    /// The slot that it may hold.
    pub session: Option<Session>,
    /// Its last interval of certain activity. While a request is in flight, this may outlive
    /// `session`.
    pub activity: Option<u64>,
    /// Whether it was ever admitted.
    pub let_in: bool,
    /// Whether the last answer refused it.
    pub refused: bool,
    /// Whether it will send no more requests.
    pub gave_up: bool,
}

/// An event at an unknown instant between two known ones, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub from: Timestamp,
    pub to: Timestamp,
}

/// A request in flight, and what it may have taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// Its number among the requests of all visitors.
    pub no: u64,
    pub sent: Timestamp,
    /// The epoch of the upper bound when this request was sent.
    pub epoch: u64,
    /// Whether it counts as a slot that may be taken, in addition to that of the known session.
    pub counts_slot: bool,
    /// Whether it counts as an admission that may have happened.
    pub counts_new: bool,
    /// Whether it certainly departed without a session.
    pub sessionless: bool,
}

/// A place in the order of arrival, as the answers have described it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub waiting_since: Option<Timestamp>,
    /// The last exact position that was shown.
    pub position: Option<u32>,
    /// Whether the visitor has returned a ticket, and so stands in the line.
    pub second_touch: bool,
    /// When the answer to the last real check-in arrived.
    pub checked_in_by: Timestamp,
    /// The earliest time at which the last real check-in may have been decided.
    pub kept_from: Timestamp,
    /// The time from which a request is certainly not early.
    pub due_by: Timestamp,
    /// When the visitor was certainly present in the line; the end is exclusive.
    pub present: Option<Span>,
}

/// An entry in the set of visitors who may stand in the line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub key: u64,
    pub arrived: Timestamp,
    pub until: Timestamp,
}

/// A slot that a visitor may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    pub serial: u64,
    /// The time until which the slot is certainly held (exclusive).
    pub certain_until: Timestamp,
    /// The time until which the visitor's pass is certainly valid (exclusive), unless the session
    /// was ended.
    pub pass_until: Timestamp,
    /// The time until which a renewal whose answer was lost may hold the slot.
    pub unheard_until: Timestamp,
    /// The time from which the slot is certainly free.
    pub possible_until: Timestamp,
}

impl Session {
    /// Whether a request at `now` may carry a pass that has lapsed although its slot is still held,
    /// and so may take a second slot.
    pub(super) fn may_outlive_its_pass(&self, now: Timestamp) -> bool {
        self.pass_until <= now && now < self.unheard_until
    }
}

impl Visitor {
    /// Creates a visitor whose first request departs at `at`.
    pub(super) const fn new(at: Timestamp) -> Self {
        Self {
            first_sent: at,
            arrived: Span { from: at, to: Timestamp::MAX },
            flight: None,
            unresolved_since: None,
            place: None,
            standing: None,
            session: None,
            activity: None,
            let_in: false,
            refused: false,
            gave_up: false,
        }
    }

    /// Whether nothing that is known of this visitor can still matter.
    pub(super) const fn is_over(&self) -> bool {
        self.gave_up && self.session.is_none() && self.standing.is_none()
    }

    /// When the visitor was certainly present in the line, as far as a room that lost its memory at
    /// `forgotten_at` can know.
    pub(super) fn presence_since(&self, forgotten_at: Timestamp) -> Option<Span> {
        self.place?.present.filter(|present| present.from > forgotten_at)
    }
}
