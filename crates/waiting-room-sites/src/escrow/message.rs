//! What sites and the global ledger say to each other.
//!
//! Each message says how things stand, never what has changed, so it may be lost, doubled or late.

use std::time::Duration;

use waiting_room_core::{Timestamp, VisitorId};

use crate::{
    SiteId,
    escrow::{Epoch, Incarnation, Term},
};

/// From a site to the global ledger.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ToGlobal {
    /// A visitor from elsewhere was taken on: if its home is dead, the slot may follow.
    Claim {
        /// How things stand, with the visitor counted as one who uses a slot.
        heartbeat: Heartbeat,
        /// The visitor's pass from there.
        pass: SitePass,
        /// What the site was told of the death, before it took the visitor on. Without it the slot
        /// stays where it is, and the answer tells.
        death: Option<Death>,
    },
    /// How things stand at a site.
    Heartbeat(Heartbeat),
    /// A site asks for a new epoch.
    Join(Join),
}

impl ToGlobal {
    /// The site that sends it.
    #[must_use]
    pub const fn from(&self) -> SiteId {
        match self {
            Self::Claim { heartbeat, .. } | Self::Heartbeat(heartbeat) => heartbeat.site,
            Self::Join(join) => join.site,
        }
    }
}

/// A site whose lease is over: it makes no more passes, unless it is heard from again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Death {
    /// The site.
    pub site: SiteId,
    /// The epoch of its account.
    pub epoch: Epoch,
    /// When the last message that was heard of it was sent, by its clock.
    pub heard: Timestamp,
}

/// How things stand at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Heartbeat {
    /// The site.
    pub site: SiteId,
    /// The highest term it has heard of.
    pub term: Term,
    /// The epoch in which it counts.
    pub epoch: Epoch,
    /// When it was sent, by the site's clock.
    pub sent_at: Timestamp,
    /// When the site's lease ends, by the site's clock.
    pub lease_end: Timestamp,
    /// All slots ever granted in this epoch, as far as the site knows.
    pub granted: u64,
    /// All slots ever given back in this epoch.
    pub returned: u64,
    /// Slots in use, among them those of visitors from elsewhere who still lack one.
    pub used: u64,
    /// Visitors who wait for a slot at this moment, besides those in `used`.
    pub want: u64,
    /// New visitors in a thousand seconds: a moving average.
    pub demand: u64,
}

/// A site asks for a new epoch, because it has none or its own is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Join {
    /// The site.
    pub site: SiteId,
    /// Which of its lives this is.
    pub incarnation: Incarnation,
    /// The epoch that is to end: the newest that the site has heard of. If there is a newer one, the
    /// request is void, so that one that comes late cannot take the epoch from whoever has it now.
    pub after: Epoch,
    /// When it was sent, by the site's clock.
    pub sent_at: Timestamp,
}

/// From the global ledger to a site.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ToSite {
    /// Another site is dead: the slots of its visitors can be claimed.
    Dead {
        /// The term of the global ledger.
        term: Term,
        /// The site, and since when.
        death: Death,
    },
    /// What the site may use.
    Grant(Grant),
    /// The global ledger has lost its memory and asks how things stand.
    Report {
        /// Its new term.
        term: Term,
    },
    /// What the site said was about an epoch that is over.
    Stale {
        /// The term of the global ledger.
        term: Term,
        /// The epoch that the site had named.
        over: Epoch,
        /// The site's epoch now. To go on, the site joins after this one.
        current: Epoch,
    },
    /// A new epoch.
    Welcome(Welcome),
}

impl ToSite {
    /// The term of the global ledger that sent it.
    #[must_use]
    pub const fn term(&self) -> Term {
        match self {
            Self::Grant(grant) => grant.term,
            Self::Dead { term, .. } | Self::Report { term } | Self::Stale { term, .. } => *term,
            Self::Welcome(welcome) => welcome.term,
        }
    }
}

/// What a site may use, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Grant {
    /// The term of the global ledger.
    pub term: Term,
    /// The epoch in which it counts.
    pub epoch: Epoch,
    /// When the newest heartbeat that was heard was sent, by the site's clock. The lease runs from
    /// then, so it is over at the site before it is over here.
    pub heard: Timestamp,
    /// How long the lease lasts.
    pub lease: Duration,
    /// All slots ever granted in this epoch.
    pub granted: u64,
    /// So many unused slots may be kept in reserve; what is over goes back.
    pub reserve: u64,
    /// Somebody elsewhere waits for a slot: what is not in use goes back at once.
    pub recall: bool,
}

/// A new epoch for a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Welcome {
    /// The term of the global ledger.
    pub term: Term,
    /// The new epoch.
    pub epoch: Epoch,
    /// Whom it is for.
    pub incarnation: Incarnation,
    /// When the request was sent, by the site's clock. The lease runs from then.
    pub heard: Timestamp,
    /// How long the lease lasts.
    pub lease: Duration,
    /// Slots that the site had under its last epoch. Whoever got them may still have a pass.
    pub inherited: u64,
}

/// A message and the site it is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Outgoing {
    /// The site it is for.
    pub to: SiteId,
    /// The message.
    pub message: ToSite,
}

/// Proof that a site has a visitor on its account until a time.
///
/// To be sealed in the visitor's pass. Any site may honour it; only its home can prolong it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct SitePass {
    /// Whose pass it is.
    pub visitor: VisitorId,
    /// The site that has the visitor on its account: the pass's home.
    pub home: SiteId,
    /// The epoch of that account.
    pub epoch: Epoch,
    /// From when on it is void, by the clock of its home.
    pub expires_at: Timestamp,
}

impl SitePass {
    /// A pass with these contents, as unsealed.
    #[must_use]
    pub const fn new(
        visitor: VisitorId,
        home: SiteId,
        epoch: Epoch,
        expires_at: Timestamp,
    ) -> Self {
        Self { visitor, home, epoch, expires_at }
    }
}
