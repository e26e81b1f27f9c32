//! The faults that can be injected, and the promises that hold under each.

use std::time::Duration;

use clap::ValueEnum;
use waiting_room_engines::Persistence;

/// A fault that is injected while the crowd is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    /// No fault.
    None,
    /// The connections between a site and the ledgers are closed, and new ones too, for less than
    /// the time of a lease.
    Cut,
    /// The same for longer than a lease and a session.
    CutForLong,
    /// Messages of a site to the ledgers are lost without an error.
    DeafThere,
    /// Messages of the ledgers to a site are lost without an error.
    DeafBack,
    /// All messages between sites and ledgers take 20 to 900 ms longer, each another time.
    Jitter,
    /// The nodes of a site are killed and started again, one after the other, and so its agent.
    Nodes,
    /// The store of a site is killed, and started again with everything that it had acknowledged.
    StoreKept,
    /// The store of a site is killed, and started again empty.
    StoreLost,
    /// The store of a site is stopped by SIGSTOP, and continues later.
    StorePaused,
    /// The store of a site is killed, and a replica takes over that has not received the last
    /// seconds.
    Failover,
    /// All keys in the store of a site are deleted.
    KeysDeleted,
    /// One key in the store of a site is deleted: that with the sessions and places.
    KeyDeleted,
    /// The clock of the store of a site is set forward by an hour.
    StoreClockForward,
    /// The clock of the store of a site is set back by an hour.
    StoreClockBack,
    /// The clocks of the nodes of a site and of both ledgers are set forward by an hour.
    ClocksForward,
    /// The clocks of the nodes of a site and of both ledgers are set back by an hour.
    ClocksBack,
    /// The ledger that holds the room is killed, and started again later.
    Ledger,
    /// A site is switched off, and then the ledger that holds the room is killed.
    LedgerAndSite,
    /// The ledger that holds the room is stopped by SIGSTOP for 30 s, and continues.
    LedgerPaused,
    /// The database of the ledgers is killed, and started again.
    Database,
    /// A site dies, is fenced, and comes back with its data.
    SiteFenced,
    /// A site dies, is fenced, and comes back without its data.
    SiteLost,
    /// A site is drained, and later added again.
    Drained,
    /// A site that is not on the list, so that all of its visitors wait, is added to it.
    Added,
}

/// The processes whose clock a fault moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockOf {
    /// The nodes of the first site, and both ledgers.
    NodesAndLedgers,
    /// The store of the first site.
    Store,
}

impl Fault {
    /// The duration of the fault.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most faults last equally long")]
    pub(crate) const fn lasts(self) -> Duration {
        Duration::from_secs(match self {
            Self::LedgerPaused => 30,
            // For longer than a lease and a session.
            Self::CutForLong | Self::Drained | Self::SiteFenced | Self::SiteLost => 20,
            Self::Jitter | Self::LedgerAndSite => 12,
            Self::Nodes => 10,
            // Within a lease, a site goes on with what it was granted. The lease may have been running
            // for a while, and it takes a moment until there is a link again.
            Self::Cut | Self::DeafThere | Self::DeafBack => 6,
            // No slot goes from site to site, so fewer visitors are admitted.
            Self::Database => 8,
            // Only the other sites admit visitors.
            _ if self.takes_store() => 8,
            _ => 6,
        })
    }

    /// Returns whether a site may have lost the places and the ends of sessions that it knew.
    pub(crate) const fn forgets(self) -> bool {
        matches!(
            self,
            Self::StoreLost
                | Self::Failover
                | Self::KeysDeleted
                | Self::KeyDeleted
                | Self::SiteLost
        )
    }

    /// Returns whether a site cannot admit or keep visitors for a while, because its store, or all of
    /// it, is away.
    pub(crate) const fn takes_store(self) -> bool {
        self.forgets()
            || matches!(
                self,
                Self::StoreKept | Self::StorePaused | Self::LedgerAndSite | Self::SiteFenced
            )
    }

    /// Returns whether a site is not reachable at all for a while.
    pub(crate) const fn takes_site(self) -> bool {
        matches!(self, Self::LedgerAndSite | Self::SiteFenced | Self::SiteLost)
    }

    /// Returns whether a site is without a lease for a while. Then it extends no session, so the
    /// visitors lose their passes when these lapse.
    pub(crate) const fn outlasts_lease(self) -> bool {
        matches!(self, Self::CutForLong)
    }

    /// Returns whether the sessions of a site end early, and its places with them: by the clock of its
    /// store, their time has passed. This is what the condition on clocks excludes.
    pub(crate) const fn ends_sessions_early(self) -> bool {
        matches!(self, Self::StoreClockForward)
    }

    /// The number of sites that are not on the list at the beginning.
    pub(crate) const fn unlisted(self) -> u16 {
        if matches!(self, Self::Added) { 1 } else { 0 }
    }

    /// The processes whose clock is moved, and by how many seconds.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most faults move no clock")]
    pub(crate) const fn moves_clock(self) -> Option<(ClockOf, i64)> {
        const HOUR_S: i64 = 3_600;
        match self {
            Self::StoreClockForward => Some((ClockOf::Store, HOUR_S)),
            Self::StoreClockBack => Some((ClockOf::Store, -HOUR_S)),
            Self::ClocksForward => Some((ClockOf::NodesAndLedgers, HOUR_S)),
            Self::ClocksBack => Some((ClockOf::NodesAndLedgers, -HOUR_S)),
            _ => None,
        }
    }

    /// The persistence that the stores are started with.
    pub(crate) const fn persistence(self) -> Persistence {
        if matches!(self, Self::StoreKept | Self::SiteFenced | Self::LedgerAndSite) {
            Persistence::Always
        } else {
            Persistence::Never
        }
    }

    /// The name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
