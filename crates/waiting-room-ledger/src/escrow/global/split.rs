//! The distribution of free slots to sites, and the number of unused slots that they may keep.

use std::collections::BTreeSet;

use crate::{
    SiteId,
    escrow::{global::ledger::GlobalLedger, member::Member},
};

impl GlobalLedger {
    /// Grants free slots to the sites that lack some, and returns the sites that got any.
    ///
    /// Each step serves the visitors who have waited longest of all visitors without a slot: those
    /// of one bucket, at one or several sites. Slots thus flow from one bucket to the next,
    /// regardless of the sites, like water in a cascade.
    ///
    /// The time that a step takes depends on how many slots it grants, not on how many sites there
    /// are.
    pub(super) fn serve(&mut self) -> Vec<SiteId> {
        let mut free = self.free();
        let now = self.clock;
        let mut served = BTreeSet::new();
        while free > 0 {
            let before = free;
            for (site, slots) in self.accounts.first_in_turn(free) {
                self.accounts.change(site, now, |member| member.grant(slots, now));
                free -= slots;
                served.insert(site);
            }
            if free == before {
                break;
            }
        }
        served.into_iter().collect()
    }

    /// Grants free slots until the reserve of a site is full.
    pub(super) fn top_up(&mut self, site: SiteId) {
        let free = self.free();
        let reserve = self.reserve_of(site);
        let now = self.clock;
        let unused = self.accounts.of(site).map_or(0, Member::unused);
        let slots = reserve.saturating_sub(unused).min(free);
        if slots > 0 {
            self.accounts.change(site, now, |member| member.grant(slots, now));
        }
    }

    /// Returns whether all reserves have to be given back, because a site lacks slots or the limit
    /// was lowered.
    pub(super) fn is_recalling(&self) -> bool {
        let is_short = || self.accounts.has_short();
        !self.is_learning() && (is_short() || self.held() > self.limit())
    }

    /// Returns whether this site has to give back its unused slots, even if visitors wait there.
    pub(super) fn is_recalled(&self, site: SiteId) -> bool {
        let is_short = || self.accounts.has_short_besides(site);
        let is_drained = self.accounts.of(site).is_some_and(|member| member.is_drained);
        is_drained || !self.is_learning() && (is_short() || self.held() > self.limit())
    }

    /// Returns the sites with unused slots, and records that they are asked for these slots now.
    /// Sites in `notified`, and sites that were asked a moment ago, are left out.
    pub(super) fn recall(&mut self, notified: &[SiteId]) -> Vec<SiteId> {
        let now = self.clock;
        let pause = self.rules.pause();
        let mut recalled: Vec<_> =
            self.accounts.rich(now, pause).filter(|site| !notified.contains(site)).collect();
        recalled.sort_unstable();
        for &site in &recalled {
            self.accounts.change(site, now, |member| member.recalled_at = now);
        }
        recalled
    }

    /// The number of unused slots that a site may keep.
    pub(super) fn reserve_of(&self, site: SiteId) -> u64 {
        let Some(member) = self.accounts.of(site) else { return 0 };
        if member.is_drained {
            return 0;
        }
        if self.is_learning() {
            return member.allowance.held();
        }
        if self.is_recalling() || member.is_deaf {
            return 0;
        }
        let demand = self.accounts.demand_of(site);
        let unused = u128::from(self.free()) + self.accounts.unused();
        reserve(demand, self.accounts.demand(), unused)
    }
}

/// The reserve of a site with `demand` out of `total_demand`, where `unused` slots are free or in
/// reserve in the whole world.
///
/// Half of the unused slots is split by demand, which corresponds to the share of a data centre in
/// the traffic history of Cloudflare's article. The other half stays with the global ledger, and
/// corresponds to Anywhere in the article. Reserves shrink geometrically towards the limit. A site
/// whose share is less than two slots has no reserve, and each of its admissions asks the global
/// ledger, which then acts as a central counter.
fn reserve(demand: u64, total_demand: u128, unused: u128) -> u64 {
    let exact = u128::from(demand).saturating_mul(unused);
    let reserve = exact.checked_div(2 * total_demand).unwrap_or(0);
    u64::try_from(reserve).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_unused_slots_follow_the_demand() {
        assert_eq!(reserve(20, 50, 150), 30);
        assert_eq!(reserve(30, 50, 150), 45);
        assert_eq!(reserve(0, 50, 150), 0);
    }

    #[test]
    fn near_the_limit_there_is_no_reserve() {
        // Four sites with the same demand.
        assert_eq!([16, 8, 7, 1, 0].map(|unused| reserve(25, 100, unused)), [2, 1, 0, 0, 0]);
    }

    #[test]
    fn a_world_without_visitors_has_no_reserves() {
        assert_eq!(reserve(0, 0, 150), 0);
    }

    #[test]
    fn no_demand_is_too_great() {
        assert_eq!(reserve(u64::MAX, u64::MAX.into(), u64::MAX.into()), u64::MAX / 2);
    }
}
