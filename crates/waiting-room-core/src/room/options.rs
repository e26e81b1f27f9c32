//! The rules of a room that are a choice between a few.

/// Whether requests prolong a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[expect(clippy::exhaustive_enums, reason = "they do or they do not")]
pub enum SessionRenewal {
    /// A session ends this long after it began; who still wants something is a new visitor.
    Fixed,
    /// A session ends this long after its last request.
    Sliding,
}

/// Who is let in next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[non_exhaustive]
pub enum QueueingMethod {
    /// In order of arrival.
    Fifo,
    /// Everybody at once, up to [`RoomRules::MAX_USERS`](crate::RoomRules::MAX_USERS): the limits
    /// count, but do not bind.
    Passthrough,
    /// By lot among those who wait, drawn again every minute.
    Random,
    /// Nobody waits: who finds the room full is refused. A line from before is still served.
    Reject,
}

/// The operator's mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[non_exhaustive]
pub enum RoomMode {
    /// The limits decide.
    Auto,
    /// Who has a place is served, nobody joins the line.
    Drain,
    /// Nobody is let in; sessions go on.
    QueueAll,
    /// There is no room: requests pass untouched and uncounted.
    Suspended,
}

/// Whether a slot is given only to clients that return a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[non_exhaustive]
pub enum CookieTest {
    /// While at least this share of the slots is taken, in percent.
    ///
    /// A first touch then gets a ticket and is asked back after a second.
    AboveUtilization(u8),
    /// Never: a first touch takes a free slot.
    Off,
}

/// How many places in the line the clients of one network may hold at once.
///
/// A network is what the caller of the room says that it is ([`VisitorId::of_network`]): for the layer,
/// an IPv4 address or the /64 of an IPv6 one. A visitor of no known network is not counted.
///
/// [`VisitorId::of_network`]: crate::VisitorId::of_network
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[non_exhaustive]
pub enum PlacesPerNetwork {
    /// No more than this. For one more, a visitor is refused, and stands at the back if it gets a place
    /// later.
    Limit(u32),
    /// As many as the line has.
    Off,
    /// As many as the line has; each over this number is told of by its reason,
    /// [`Reason::QueuedNetworkFull`](crate::Reason::QueuedNetworkFull).
    Shadow(u32),
}

impl PlacesPerNetwork {
    /// The number that is not to be exceeded, if there is one.
    #[must_use]
    pub const fn number(self) -> Option<u32> {
        match self {
            Self::Limit(places) | Self::Shadow(places) => Some(places),
            Self::Off => None,
        }
    }
}

impl Default for PlacesPerNetwork {
    /// 1 000: carriers put as many people behind one address.
    fn default() -> Self {
        Self::Limit(1_000)
    }
}

/// What a room that has lost its memory does first.
///
/// After a restart the passes of before are still valid, and the room does not know how many there
/// are. Each is counted again as soon as it is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[non_exhaustive]
pub enum Recovery {
    /// Lets new visitors in up to the limit, counting only the passes it has seen again: nobody is
    /// queued early, but until the old passes lapse more than the limit may be active.
    AdmitAtOnce,
    /// Lets no newcomers in for as long as a pass of before can live, and for a minute at least:
    /// never above a limit, but new visitors wait for that long after each start.
    ///
    /// That is the longest lifetime which the room knows of: by the rules that it has had, by
    /// [`longest_session_duration`](crate::RoomRules::longest_session_duration), and by the passes
    /// that are shown. A pass of before that is shown after the hold goes on only if a slot is free
    /// for it.
    Pause,
}
