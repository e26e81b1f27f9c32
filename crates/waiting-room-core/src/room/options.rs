//! The rules of a room that are chosen from a few options.
//!
//! Every store implements every option. None of these enums is `#[non_exhaustive]`, so a store that
//! does not know a new option fails to compile, instead of applying another option.

#![expect(clippy::exhaustive_enums, reason = "a store that lacks an option must not compile")]

/// Whether requests prolong a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub enum SessionRenewal {
    /// A session ends one session duration after the visitor's admission, whether or not the
    /// visitor makes requests. When the session has ended, the visitor is a newcomer again.
    Fixed,
    /// A session lasts for at least one session duration after its last request.
    Sliding,
}

impl SessionRenewal {
    /// All variants.
    pub const ALL: &'static [Self] = &[Self::Fixed, Self::Sliding];

    /// Returns the name in files, metrics and stores.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Sliding => "sliding",
        }
    }
}

/// The order in which waiting visitors are admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub enum QueueingMethod {
    /// Visitors are admitted in the order of their first touch.
    Fifo,
    /// All visitors are admitted immediately, up to
    /// [`RoomRules::MAX_USERS`](crate::RoomRules::MAX_USERS). Visitors are counted, but the limits
    /// have no effect.
    Passthrough,
    /// Visitors are admitted by lot. Each visitor draws a new lot at its first check-in in each
    /// minute.
    Random,
    /// Visitors who find the room full are refused, and no visitor joins the line. Visitors who
    /// already have a place are still served.
    Reject,
}

impl QueueingMethod {
    /// All variants.
    pub const ALL: &'static [Self] = &[Self::Fifo, Self::Passthrough, Self::Random, Self::Reject];

    /// Returns the name in files, metrics and stores.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Passthrough => "passthrough",
            Self::Random => "random",
            Self::Reject => "reject",
        }
    }
}

/// The mode in which the operator runs a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub enum RoomMode {
    /// Visitors are admitted up to the limits.
    Auto,
    /// Visitors with a place are served, and newcomers are refused.
    Drain,
    /// No visitor is admitted. Existing sessions continue.
    QueueAll,
    /// The room is switched off: requests bypass it and are not counted.
    Suspended,
}

impl RoomMode {
    /// All variants.
    pub const ALL: &'static [Self] = &[Self::Auto, Self::Drain, Self::QueueAll, Self::Suspended];

    /// Returns the name in files, metrics and stores.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Drain => "drain",
            Self::QueueAll => "queue_all",
            Self::Suspended => "suspended",
        }
    }
}

/// Whether a slot is given only to clients that return a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub enum CookieTest {
    /// Clients are tested while at least this percentage of the slots is in use.
    ///
    /// A newcomer who is tested receives a ticket even if a slot is free, and is asked to come back
    /// after a second. Clients that do not keep cookies therefore never occupy a slot.
    AboveUtilization(u8),
    /// Clients are never tested: a newcomer gets a free slot at once.
    Off,
}

/// The share of a room that the visitors of one network may have while others want it.
///
/// There is a share for each of the three levels of a [`Network`]. If a network has more than its
/// share of the slots, its visitors give way: their sessions are not prolonged while visitors of
/// other networks wait. The sessions that end never outnumber the waiting visitors. If a network
/// has more than its share of the line, a new place is ordered behind as many other places as the
/// share requires. The number of places of a network is also limited. A crowd within its share is
/// served as if there were no shares.
///
/// Visitors whose network is unknown are not counted.
///
/// [`Network`]: crate::room::Network
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub enum Shares {
    /// The shares follow from the limit on slots. A narrow network has a quarter of the slots or,
    /// in a room with over 256 slots, 64 slots or one slot in 32, whichever is more. It has two
    /// places for each slot of the room, but at least 100 and at most 1 000.
    #[default]
    Auto,
    /// A narrow network has a share of this many slots, and at most this many places. A visitor
    /// that is refused a place joins the back of the line if it gets a place later.
    Limit(u32),
    /// A network may have any number of slots and places.
    Off,
    /// No share is enforced, but a visitor whose place brings its narrow network above this number
    /// of places is reported with the reason
    /// [`Reason::QueuedNetworkFull`](crate::Reason::QueuedNetworkFull).
    ///
    /// Young: how such visitors are reported may change in any release.
    Shadow(u32),
}

impl Shares {
    /// Returns the share of the slots that a network has at each level, the narrow one first, in a
    /// room with `total` slots. Returns `None` if no share is enforced.
    ///
    /// The share of a middle network is twice that of a narrow one, and the share of a wide network
    /// is at least half the slots.
    #[must_use]
    pub fn slots(self, total: u32) -> Option<[u32; 3]> {
        let narrow = match self {
            Self::Auto => (total / 4).min((total / 32).max(64)).max(1),
            Self::Limit(slots) => slots,
            Self::Off | Self::Shadow(_) => return None,
        };
        let middle = narrow.saturating_mul(2);
        Some([narrow, middle, middle.max(total / 2)])
    }

    /// Returns the maximum number of places of a network at each level, the narrow one first, in a
    /// room with `total` slots and a line of this `capacity`. Returns `None` if there is no maximum.
    ///
    /// A middle network has at least an eighth of the line, and a wide network at least half.
    #[must_use]
    pub fn places(self, total: u32, capacity: u32) -> Option<[u32; 3]> {
        let narrow = match self {
            Self::Auto => total.saturating_mul(2).clamp(100, 1_000),
            Self::Limit(places) | Self::Shadow(places) => places,
            Self::Off => return None,
        };
        let middle = narrow.saturating_mul(2).max(capacity / 8);
        Some([narrow, middle, middle.max(capacity / 2)])
    }

    /// Returns whether places above the shares are only reported.
    #[must_use]
    pub const fn is_shadow(self) -> bool {
        matches!(self, Self::Shadow(_))
    }
}

/// The behavior of a room that has lost its state.
///
/// After a restart, older passes are still valid, but the room does not know how many there are.
/// Each pass is counted again as soon as it is presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub enum Recovery {
    /// Admits newcomers up to the limit, and counts an older pass only once it has been presented
    /// again. No visitor waits while a slot seems to be free, but more visitors than the limit may
    /// be active until the older passes have expired.
    AdmitAtOnce,
    /// Admits no newcomers for the longest lifetime of an older pass, and for at least a minute.
    /// The limits are never exceeded, but newcomers have to wait after each start.
    ///
    /// The longest lifetime is determined from all rules that the room has had, from
    /// [`longest_session_duration`](crate::RoomRules::longest_session_duration), and from the
    /// passes that are presented. An older pass that is first presented after the pause is accepted
    /// only if a slot is free.
    Pause,
}

impl Recovery {
    /// All variants.
    pub const ALL: &'static [Self] = &[Self::AdmitAtOnce, Self::Pause];

    /// Returns the name in files, metrics and stores.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AdmitAtOnce => "admit_at_once",
            Self::Pause => "pause",
        }
    }
}
