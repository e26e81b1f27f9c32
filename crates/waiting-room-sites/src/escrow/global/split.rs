//! Who gets the slots that are free.

use crate::{
    SiteId,
    escrow::{GlobalLedger, member::Member, reserve::reserve},
};

impl GlobalLedger {
    /// Gives free slots to the sites that lack some, in turns. Says which sites got any.
    pub(super) fn serve(&mut self) -> Vec<SiteId> {
        let (mut free, now) = (self.free(), self.clock);
        let mut served = Vec::new();
        while free > 0
            && let Some(site) = self.accounts.first_short()
        {
            let granted = self.accounts.change(site, now, |member| {
                let slots = member.shortage().min(free);
                member.grant(slots, now);
                slots
            });
            free -= granted.unwrap_or(free);
            served.push(site);
        }
        served
    }

    /// Fills up the reserve of a site.
    pub(super) fn top_up(&mut self, site: SiteId) {
        let (free, reserve, now) = (self.free(), self.reserve_of(site), self.clock);
        let unused = self.accounts.of(site).map_or(0, Member::unused);
        let slots = reserve.saturating_sub(unused).min(free);
        if slots > 0 {
            self.accounts.change(site, now, |member| member.grant(slots, now));
        }
    }

    /// Whether all reserves have to come back: somebody lacks slots, or the limit was lowered.
    pub(super) fn is_recalling(&self) -> bool {
        let is_short = || self.accounts.first_short().is_some();
        !self.is_learning() && (is_short() || self.held() > self.limit)
    }

    /// Whether this site has to give back what it does not use, even if somebody waits there.
    pub(super) fn is_recalled(&self, site: SiteId) -> bool {
        let is_short = || self.accounts.has_short_besides(site);
        !self.is_learning() && (is_short() || self.held() > self.limit)
    }

    /// The sites besides `told` that have slots to give back and were not asked just now.
    pub(super) fn recall(&mut self, told: &[SiteId]) -> Vec<SiteId> {
        let (now, pause) = (self.clock, self.rules.pause());
        let mut recalled: Vec<_> =
            self.accounts.rich(now, pause).filter(|site| !told.contains(site)).collect();
        recalled.sort_unstable();
        for &site in &recalled {
            self.accounts.change(site, now, |member| member.recalled_at = now);
        }
        recalled
    }

    /// How many unused slots a site may keep.
    pub(super) fn reserve_of(&self, site: SiteId) -> u64 {
        let Some(member) = self.accounts.of(site) else { return 0 };
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
