//! The list of sites, which an operator can view, and change while the ledger runs.

use std::time::Duration;

use waiting_room_core::Timestamp;

use crate::{
    SiteId,
    escrow::{Epoch, ListRefused, Standing, global::ledger::GlobalLedger, member::Member},
};

/// The account of one site as the global ledger knows it, for an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SiteState {
    /// The site.
    pub site: SiteId,
    /// The epoch of its account or next account. A [fence](GlobalLedger::fence) names this epoch.
    pub epoch: Epoch,
    /// The state of its account.
    pub standing: Standing,
    /// The number of slots that the site holds.
    pub held: u64,
    /// The number of slots in use, as the site last reported.
    pub used: u64,
    /// The time until the lease of the site ends; zero if the lease has ended, or if there is no
    /// lease.
    pub lease_left: Duration,
    /// Whether the site is being drained.
    pub is_drained: bool,
    /// Whether an incarnation of the site, or its present account, is fenced.
    pub is_fenced: bool,
}

impl GlobalLedger {
    /// Adds a site to the list, without slots. A site that is being [drained](Self::drain) takes part
    /// again.
    ///
    /// While it is [unknown](Self::is_learning) what the sites hold, the ledger waits for the new
    /// site as for the others. A site that has never had an account cannot report, so nothing is
    /// granted to any site until everything that was granted before has expired. Such a site should
    /// be added later.
    ///
    /// The change takes effect here at once, and outlives this ledger once the keeper has stored
    /// the [changes](Self::changes). The operator gets a confirmation after that.
    ///
    /// # Errors
    ///
    /// Returns [`ListRefused::Listed`] if the site is on the list and is not being drained.
    pub fn add_site(&mut self, site: SiteId, now: Timestamp) -> Result<(), ListRefused> {
        self.advance(now);
        let now = self.clock;
        match self.accounts.of(site).map(|member| member.is_drained) {
            Some(false) => return Err(ListRefused::Listed { site }),
            Some(true) => {
                self.accounts.change(site, now, |member| member.is_drained = false);
            }
            None => {
                // A site that was removed may come back with messages about its old accounts, so
                // epochs are not used again.
                let epoch = Epoch::before_all_of(self.term).max(self.last_removed);
                let member = if self.is_learning() {
                    Member::new(epoch, Standing::Unknown)
                } else {
                    Member::added(epoch, self.term)
                };
                self.accounts.add(site, member, now);
            }
        }
        Ok(())
    }

    /// Prepares the removal of a site: it is granted no more slots, and gives back the slots that
    /// it does not use.
    ///
    /// Its sessions are extended as before. The site holds no slots once these sessions have
    /// lapsed, one session after its last request.
    ///
    /// The change takes effect here at once, and outlives this ledger once the keeper has stored
    /// the [changes](Self::changes). The operator gets a confirmation after that.
    ///
    /// # Errors
    ///
    /// Returns [`ListRefused::NotListed`] for an unknown site.
    pub fn drain(&mut self, site: SiteId, now: Timestamp) -> Result<(), ListRefused> {
        self.advance(now);
        let drained = self.accounts.change(site, self.clock, |member| member.is_drained = true);
        drained.ok_or(ListRefused::NotListed { site })
    }

    /// Removes a site from the list. Its messages are refused from now on.
    ///
    /// The change takes effect here at once, and outlives this ledger once the keeper has stored
    /// the [changes](Self::changes). The operator gets a confirmation after that.
    ///
    /// # Errors
    ///
    /// Returns an error if the site is not on the list, if it holds slots, if it is the only site,
    /// or if it is [unknown](Self::is_learning) what the sites hold.
    pub fn remove(&mut self, site: SiteId, now: Timestamp) -> Result<(), ListRefused> {
        self.advance(now);
        let member = self.accounts.of(site).ok_or(ListRefused::NotListed { site })?;
        let held = member.allowance.held();
        let epoch = member.epoch;
        if self.is_learning() {
            return Err(ListRefused::Unknown { site });
        }
        if held > 0 {
            return Err(ListRefused::Holds { site, held });
        }
        if self.accounts.count_sites() == 1 {
            return Err(ListRefused::Last { site });
        }
        self.last_removed = self.last_removed.max(epoch);
        self.accounts.remove(site);
        Ok(())
    }

    /// Declares, on the word of an operator, that a site is switched off.
    ///
    /// Its slots are free once its passes are void, even if its lease has not ended. Its ledger is
    /// never continued, not even by another global ledger: when the site is
    /// switched on again, it has to begin with a new incarnation (`SiteLedger::restart`), which
    /// gets an account when those slots are free.
    ///
    /// A site that is cut off, or a virtual machine that is paused, is not switched off: it continues
    /// with its ledger, and would use slots that belong to other sites.
    ///
    /// While it is [unknown](Self::is_learning) what the site holds, a fence does not free its
    /// slots earlier.
    ///
    /// `epoch` is the [epoch of the account](Self::epoch_of) that was shown to the operator. If the
    /// site has since begun a new life, it has a new account, and is not fenced. Reclaiming the
    /// slots of a dead site also changes the epoch. The site can then be fenced with the new epoch,
    /// so that none of its old accounts is continued.
    ///
    /// The change takes effect here at once, and outlives this ledger once the keeper has stored
    /// the [changes](Self::changes). The operator gets a confirmation after that.
    ///
    /// # Errors
    ///
    /// Returns [`ListRefused::NotListed`] for an unknown site, and [`ListRefused::OtherEpoch`] if
    /// the site has another account.
    pub fn fence(&mut self, site: SiteId, epoch: Epoch, now: Timestamp) -> Result<(), ListRefused> {
        self.advance(now);
        let clock = self.clock;
        let current = self.epoch_of(site).ok_or(ListRefused::NotListed { site })?;
        if epoch != current {
            return Err(ListRefused::OtherEpoch { site, given: epoch, current });
        }
        let fenced = self.accounts.change(site, clock, |member| member.fence(clock));
        fenced.ok_or(ListRefused::NotListed { site })
    }

    /// Returns whether a site is on the list.
    #[must_use]
    pub fn lists(&self, site: SiteId) -> bool {
        self.accounts.of(site).is_some()
    }

    /// The sites on the list, in the order of their numbers.
    pub fn sites(&self) -> impl Iterator<Item = SiteId> {
        self.accounts.sites()
    }

    /// The states of all sites on the list, in the order of their numbers.
    ///
    /// The counts are as of each site's last message: no slots are reclaimed here.
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
