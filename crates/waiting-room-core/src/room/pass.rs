//! The proof that a visitor was admitted, and the site that the proof is from.

use crate::{Timestamp, VisitorId};

/// Proof that a visitor was admitted.
///
/// The room identifies its active visitors by [`id`](Self::id). With the other fields, a node can
/// check a pass without a call to the room, and a session can continue after the room has lost its
/// state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pass {
    /// The visitor that holds the pass.
    pub id: VisitorId,
    /// The minute of arrival, as a count of minutes since the Unix epoch.
    pub bucket: u32,
    /// The time at which the visitor was admitted.
    pub accepted_at: Timestamp,
    /// The time at which the pass was issued or last renewed.
    pub last_check_in: Timestamp,
    /// The time from which the pass is void. The slot is held exactly until that time.
    pub expires_at: Timestamp,
    /// The site whose room has issued the pass, by whose clock its times are; `None` in a room that
    /// shares no limit with the rooms of other sites.
    pub home: Option<PassHome>,
}

impl Pass {
    /// Creates a pass with the given contents. A room uses this function to issue a pass, and a
    /// layer uses it to unseal one.
    #[must_use]
    pub const fn new(
        id: VisitorId,
        bucket: u32,
        accepted_at: Timestamp,
        last_check_in: Timestamp,
        expires_at: Timestamp,
    ) -> Self {
        Self { id, bucket, accepted_at, last_check_in, expires_at, home: None }
    }

    /// Returns this pass with the given home. A layer does so when it seals a pass, see
    /// [`Store::home`](crate::Store::home).
    #[must_use]
    pub const fn with_home(mut self, home: Option<PassHome>) -> Self {
        self.home = home;
        self
    }
}

/// The site whose room has issued a pass, and the account of the site at that time.
///
/// The times of a pass are those of the clock of its home. Another site has another clock, so it
/// honors no pass by its times: it gives the visitor a slot of its own, see
/// [`Ticket::moving`](crate::Ticket::moving).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PassHome {
    /// The number of the site.
    pub site: u16,
    /// The term of the global ledger in which the account of the site began.
    pub term: u32,
    /// The number of the account in its term.
    pub count: u32,
}

impl PassHome {
    /// Creates the home of the passes that a site issues, whose account is the one with these numbers.
    /// A site without an account has zeros.
    #[must_use]
    pub const fn new(site: u16, term: u32, count: u32) -> Self {
        Self { site, term, count }
    }
}
