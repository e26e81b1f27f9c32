//! What the oracle knows of one visitor.

use waiting_room_core::Timestamp;

/// All that is known of one visitor.
#[derive(Clone, Debug)]
pub(super) struct Visitor {
    /// When its first request departed.
    pub first_sent: Timestamp,
    /// Within which interval it took its place in the order of arrival.
    pub arrived: Span,
    /// The request under way.
    pub flight: Option<Flight>,
    /// When the first request departed whose fate is unknown and may still matter.
    pub unresolved_since: Option<Timestamp>,
    /// What it knows of its place, until it is let in.
    pub place: Option<Place>,
    /// Since when it may stand in the line, under which key.
    pub standing: Option<Standing>,
    /// The slot it may hold.
    pub session: Option<Session>,
    /// Its last interval of certain activity, which may outlive what is known of the session while
    /// a request is under way.
    pub activity: Option<u64>,
    /// Whether it was ever let in.
    pub let_in: bool,
    /// Whether the last answer refused it.
    pub refused: bool,
    /// Whether it will never ask again.
    pub gave_up: bool,
}

/// Something that happened at an unknown instant between two known ones, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub from: Timestamp,
    pub to: Timestamp,
}

/// A request under way, and what it may have taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub no: u64,
    pub sent: Timestamp,
    /// The state of the upper bound at departure.
    pub epoch: u64,
    /// Whether it counts as a slot that may be taken, besides that of the known session.
    pub counts_slot: bool,
    /// Whether it counts as an admission that may have happened.
    pub counts_new: bool,
    /// Whether it certainly departed without a session.
    pub sessionless: bool,
}

/// A place in the order of arrival, as its holder was told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub waiting_since: Option<Timestamp>,
    pub position: Option<u32>,
    /// Whether the visitor has returned a ticket, and so stands in the line.
    pub second_touch: bool,
    /// When the last answer that was a real check-in arrived.
    pub checked_in_by: Timestamp,
    /// The last check-in that counted was no earlier than this.
    pub kept_from: Timestamp,
    /// A request from here on is certainly not early.
    pub due_by: Timestamp,
    /// While the visitor was certainly present in the line: from, and until (not included).
    pub present: Option<Span>,
}

/// A key in the set of those who may stand in the line.
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
    /// The slot is certainly held until then (not included).
    pub certain_until: Timestamp,
    /// The pass that the visitor has certainly opens until then (not included), if nothing ended it.
    pub pass_until: Timestamp,
    /// A renewal that the visitor never heard of may hold the slot until then.
    pub unheard_until: Timestamp,
    /// The slot is certainly free from then on.
    pub possible_until: Timestamp,
}

impl Session {
    /// Whether a request at `now` may come with a pass that is over while its slot is held still,
    /// and so may take a second one.
    pub(super) fn may_outlive_its_pass(&self, now: Timestamp) -> bool {
        self.pass_until <= now && now < self.unheard_until
    }
}

impl Visitor {
    /// A visitor whose first request departs.
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

    /// Whether nothing of this visitor can matter any more.
    pub(super) const fn is_over(&self) -> bool {
        self.gave_up && self.session.is_none() && self.standing.is_none()
    }

    /// While it was certainly present in the line, as far as a room knows that has known nothing
    /// before `forgotten_at`.
    pub(super) fn presence_since(&self, forgotten_at: Timestamp) -> Option<Span> {
        self.place?.present.filter(|present| present.from > forgotten_at)
    }
}
