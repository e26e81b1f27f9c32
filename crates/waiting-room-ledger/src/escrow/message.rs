//! The messages between the sites and the global ledger.
//!
//! Each message carries totals, never differences, so it may be lost, duplicated or late.

use std::time::Duration;

use waiting_room_core::{Timestamp, VisitorId};

use crate::{
    SiteId,
    escrow::{Epoch, Incarnation, LineFront, Refused, RulesDigest, Tally, Term, Tickets, World},
};

/// A message from a site to the global ledger.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ToGlobal {
    /// The site has taken a visitor of another site on its account. If the visitor's home is dead,
    /// the slot may be moved to this site.
    Claim {
        /// The report of the site, with the visitor counted as using a slot.
        heartbeat: Heartbeat,
        /// The visitor's pass from its home.
        pass: SitePass,
        /// The notice of the home's death, if the site had received it before it took the visitor
        /// on. Without the notice, the slot is not moved, and the reply contains the notice.
        death: Option<Death>,
    },
    /// The site reports its state.
    Heartbeat(Heartbeat),
    /// A site asks for a new epoch.
    Join(Join),
    /// A site that holds no slots, but counts, reports its state.
    Tally(Tally),
}

impl ToGlobal {
    /// The site that sends the message.
    #[must_use]
    pub const fn from(&self) -> SiteId {
        match self {
            Self::Claim { heartbeat, .. } | Self::Heartbeat(heartbeat) => heartbeat.site,
            Self::Join(join) => join.site,
            Self::Tally(tally) => tally.site,
        }
    }

    /// The highest term that the site knows, as far as the message shows it.
    pub(super) fn known_term(&self) -> Term {
        match self {
            Self::Claim { heartbeat, .. } | Self::Heartbeat(heartbeat) => {
                heartbeat.term.max(heartbeat.epoch.term())
            }
            Self::Join(join) => join.after.term(),
            Self::Tally(tally) => tally.term,
        }
    }

    /// The digest of the sending site's rules.
    pub(super) const fn rules(&self) -> RulesDigest {
        match self {
            Self::Claim { heartbeat, .. } | Self::Heartbeat(heartbeat) => heartbeat.rules,
            Self::Join(join) => join.rules,
            Self::Tally(tally) => tally.rules,
        }
    }

    /// The incarnation that sends the message, and the epoch that the message names. For a site
    /// that counts, which has no epoch, this is an epoch before all others.
    #[must_use]
    pub fn life(&self) -> (Incarnation, Epoch) {
        match self {
            Self::Claim { heartbeat, .. } | Self::Heartbeat(heartbeat) => {
                (heartbeat.incarnation, heartbeat.epoch)
            }
            Self::Join(join) => (join.incarnation, join.after),
            Self::Tally(tally) => (tally.incarnation, Epoch::default()),
        }
    }
}

/// The notice that the lease of a site has ended: the site makes no more passes, unless it gets in
/// contact again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Death {
    /// The site.
    pub site: SiteId,
    /// The epoch of its account.
    pub epoch: Epoch,
    /// The time at which the site sent the last message that was received, by its clock.
    pub heard: Timestamp,
}

/// The report of a site about its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Heartbeat {
    /// The site.
    pub site: SiteId,
    /// The incarnation of the site's ledger. This value identifies a fenced incarnation.
    pub incarnation: Incarnation,
    /// The highest term that the site knows.
    pub term: Term,
    /// The epoch of the counts in this report.
    pub epoch: Epoch,
    /// The time at which the report was sent, by the site's clock.
    pub sent_at: Timestamp,
    /// The end of the site's lease, by the site's clock.
    pub lease_end: Timestamp,
    /// The digest of the site's rules, as in [`Join`]. A recovered ledger adopts accounts of sites
    /// that joined with another ledger.
    pub rules: RulesDigest,
    /// The total of slots ever granted in this epoch, as known to the site.
    pub granted: u64,
    /// The total of slots ever given back in this epoch.
    pub returned: u64,
    /// The number of slots in use, including those owed to visitors from elsewhere.
    pub used: u64,
    /// The number of new visitors that wait for a slot at this moment. They are not in `used`.
    pub want: u64,
    /// The moving average of new visitors per 1000 seconds.
    pub demand: u64,
    /// The oldest of the visitors in `want`, by the time at which they arrived. A site may leave out
    /// visitors who have not waited yet.
    pub front: LineFront,
}

/// A site asks for a new epoch, because it has none or its own has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Join {
    /// The site.
    pub site: SiteId,
    /// The incarnation of the site's ledger.
    pub incarnation: Incarnation,
    /// The epoch that the new epoch replaces: the newest that the site knows.
    ///
    /// If there is a newer epoch, the request is void. So a request that arrives late cannot take
    /// the epoch away from a later incarnation.
    pub after: Epoch,
    /// The time at which the request was sent, by the site's clock.
    pub sent_at: Timestamp,
    /// The digest of the site's rules. A site with other rules than the global ledger would let
    /// passes live longer, or keep a lease longer, than the global ledger waits for them.
    pub rules: RulesDigest,
}

/// A message from the global ledger to a site.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ToSite {
    /// Another site is dead, and the slots of its visitors can be claimed.
    Dead {
        /// The term of the global ledger.
        term: Term,
        /// The dead site, its epoch, and the time of its last message.
        death: Death,
    },
    /// The slots that the site may use.
    Grant(Grant),
    /// The site gets no account, or has lost its account.
    Refused(Refused),
    /// The global ledger has lost its state and requests a report.
    Report {
        /// The new term of the global ledger.
        term: Term,
    },
    /// The message of the site was about an epoch that has ended.
    Stale {
        /// The term of the global ledger.
        term: Term,
        /// The epoch that the site had named.
        over: Epoch,
        /// The current epoch of the site. To continue, the site joins after this epoch.
        current: Epoch,
    },
    /// The tickets of a site that counts.
    Tickets(Tickets),
    /// The site has a new epoch.
    Welcome(Welcome),
    /// The snapshot of the world, for a site that counts.
    World(World),
}

impl ToSite {
    /// The term of the global ledger that sent the message.
    #[must_use]
    pub const fn term(&self) -> Term {
        match self {
            Self::Grant(grant) => grant.term,
            Self::Dead { term, .. } | Self::Report { term } | Self::Stale { term, .. } => *term,
            Self::Refused(refused) => refused.term,
            Self::Tickets(tickets) => tickets.term,
            Self::Welcome(welcome) => welcome.term,
            Self::World(world) => world.term,
        }
    }
}

/// The slots that a site may use, and the time until which it may use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Grant {
    /// The term of the global ledger.
    pub term: Term,
    /// The epoch of the counts in this grant.
    pub epoch: Epoch,
    /// The time at which the newest received heartbeat was sent, by the site's clock. The lease
    /// starts then, so it ends at the site before it ends in the global ledger.
    pub heard: Timestamp,
    /// The duration of the lease.
    pub lease: Duration,
    /// The total of slots ever granted in this epoch.
    pub granted: u64,
    /// The number of unused slots that the site may keep. It gives back the rest.
    pub reserve: u64,
    /// Whether a visitor waits for a slot at another site, so that all unused slots have to be
    /// given back at once.
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
    /// The incarnation that the epoch is for.
    pub incarnation: Incarnation,
    /// The time at which the request was sent, by the site's clock. The lease starts then.
    pub heard: Timestamp,
    /// The duration of the lease.
    pub lease: Duration,
    /// The slots that the site had in its last epoch. Visitors of that epoch may still have valid
    /// passes.
    pub inherited: u64,
}

/// A message and the site that it is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Outgoing {
    /// The recipient.
    pub to: SiteId,
    /// The message.
    pub message: ToSite,
}

/// Proof that a site has a visitor on its account until a certain time.
///
/// It is sealed in the visitor's pass. Any site may honour it, but only its home can extend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct SitePass {
    /// The visitor that the pass belongs to.
    pub visitor: VisitorId,
    /// The home of the pass: the site that has the visitor on its account.
    pub home: SiteId,
    /// The epoch of that account.
    pub epoch: Epoch,
    /// The time from which the pass is void, by the clock of its home.
    pub expires_at: Timestamp,
}

impl SitePass {
    /// Creates a pass from its unsealed contents.
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
