//! The messages of sites that count instead of holding slots, under `Policy::Counters`: the report of a
//! site, the snapshot of the world, and the tickets of a site.
//!
//! ```text
//!  site ── Tally: active visitors, the last minute, the tickets it wants ──► global ledger
//!       ◄── World: the snapshot by which every site splits the slots of a minute ──
//!       ◄── Tickets: how many slots of Anywhere's counter the site may use ──
//! ```

use waiting_room_core::Timestamp;

use crate::{
    SiteId,
    escrow::{Incarnation, RulesDigest, Term},
    slots::{Minute, WorldSnapshot},
};

/// The report of a site that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tally {
    /// The site.
    pub site: SiteId,
    /// The incarnation of the site's room.
    pub incarnation: Incarnation,
    /// The highest term that the site knows.
    pub term: Term,
    /// The time at which the report was sent, by the site's clock.
    pub sent_at: Timestamp,
    /// The digest of the site's rules, as in [`Join`](crate::escrow::Join).
    pub rules: RulesDigest,
    /// The version of the newest [`World`] that the site knows; 0 if it knows none.
    pub knows: u64,
    /// The number of active visitors at the site.
    pub active: u32,
    /// The last whole minute, by the site's clock.
    pub minute: Minute,
    /// The number of new visitors that the site has admitted in that minute.
    pub admitted: u32,
    /// The tickets that the site wants from Anywhere's counter.
    pub draw: Draw,
}

/// The tickets that a site wants from Anywhere's counter in one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Draw {
    /// The minute.
    pub minute: Minute,
    /// The total number of tickets that the site wants in this minute, including those that it
    /// already has.
    pub total: u32,
    /// The number of Anywhere's slots, as computed by the site.
    pub slots: u32,
    /// Whether the site has computed `slots` from a recent snapshot.
    pub knows_world: bool,
}

/// The tickets of a site from Anywhere's counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Tickets {
    /// The term of the global ledger.
    pub term: Term,
    /// The incarnation that the tickets are for.
    pub incarnation: Incarnation,
    /// The minute in which they may be used.
    pub minute: Minute,
    /// The total of tickets that were drawn for the site in this minute.
    pub total: u32,
    /// Whether no ticket is left in this minute, for any site.
    pub is_dry: bool,
}

/// The snapshot of the world that the global ledger publishes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct World {
    /// The term of the global ledger.
    pub term: Term,
    /// The version, which grows with each snapshot and with each term.
    pub version: u64,
    /// The time that the snapshot describes, by the calendar of the global ledger.
    pub made_at: Timestamp,
    /// The limit of active visitors in the world.
    pub limit: u32,
    /// The number of active visitors in the world.
    pub active: u32,
    /// The minute of the traffic.
    pub minute: Minute,
    /// The number of visitors that each site has admitted in that minute, in the order of the sites
    /// and without zeros. At most [`MAX_SITES`](Self::MAX_SITES) of them.
    pub traffic: Vec<(SiteId, u32)>,
}

impl World {
    /// The maximum number of sites whose traffic one message carries. Sites beyond this number have
    /// no slots of their own, and use Anywhere's.
    pub const MAX_SITES: usize = 2048;

    /// The snapshot by which a site decides.
    #[must_use]
    pub fn snapshot(&self) -> WorldSnapshot {
        WorldSnapshot::new(self.version, self.made_at)
            .with_active(self.active)
            .with_traffic(self.minute, self.traffic.iter().copied())
    }
}
