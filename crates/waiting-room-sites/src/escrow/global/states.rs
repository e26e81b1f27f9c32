//! The state of each site, for an operator.

use std::time::Duration;

use waiting_room_core::Timestamp;

use crate::{
    SiteId,
    escrow::{Epoch, Standing, global::ledger::GlobalLedger},
};

/// The account of one site as the global ledger knows it, for an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SiteState {
    /// The site.
    pub site: SiteId,
    /// The epoch of its account, or of the next one. A [fence](GlobalLedger::fence) names it.
    pub epoch: Epoch,
    /// The state of its account.
    pub standing: Standing,
    /// The number of slots that the site holds.
    pub held: u64,
    /// The number of slots in use, as the site last reported.
    pub used: u64,
    /// The time until the lease of the site ends; zero if it has ended, or there is none.
    pub lease_left: Duration,
    /// Whether the site is being drained.
    pub is_drained: bool,
    /// Whether an account or an incarnation of the site is fenced.
    pub is_fenced: bool,
}

impl GlobalLedger {
    /// The states of all sites on the list, in the order of their numbers.
    ///
    /// The numbers are those of the last message: nothing is reclaimed here.
    pub fn site_states(&self, now: Timestamp) -> impl Iterator<Item = SiteState> {
        let now = now.max(self.clock);
        self.accounts.sites().filter_map(move |site| {
            let member = self.accounts.of(site)?;
            let has_lease = member.standing == Standing::Open;
            Some(SiteState {
                site,
                epoch: member.epoch,
                standing: member.standing,
                held: member.allowance.held(),
                used: member.used,
                lease_left: if has_lease { member.lease_end.since(now) } else { Duration::ZERO },
                is_drained: member.is_drained,
                is_fenced: member.has_fence(),
            })
        })
    }
}
