//! Who gets the slots that are free.

use crate::{
    SiteId,
    escrow::{EscrowRules, GlobalLedger, reserve::reserve},
};

impl GlobalLedger {
    /// Gives free slots to the sites that lack some, to the one that has lacked them longest first.
    /// Says which sites got any.
    pub(super) fn serve(&mut self) -> Vec<SiteId> {
        let mut free = self.free();
        let mut short: Vec<_> = self
            .members
            .iter()
            .filter(|(_, member)| member.short(&self.rules, self.clock) > 0)
            .map(|(&site, member)| (member.short_since, site))
            .collect();
        short.sort_unstable();

        let mut served = Vec::new();
        for (_, site) in short {
            let Some(member) = self.members.get_mut(&site) else { continue };
            let slots = member.short(&self.rules, self.clock).min(free);
            if slots > 0 {
                member.grant(slots, self.clock);
                free -= slots;
                served.push(site);
            }
        }
        served
    }

    /// Fills up the reserve of a site.
    pub(super) fn top_up(&mut self, site: SiteId) {
        let (free, reserve, now) = (self.free(), self.reserve_of(site), self.clock);
        if !self.is_recalling()
            && let Some(member) = self.members.get_mut(&site)
        {
            member.grant(reserve.saturating_sub(member.unused()).min(free), now);
        }
    }

    /// Whether all reserves have to come back: somebody lacks slots, or the limit was lowered.
    pub(super) fn is_recalling(&self) -> bool {
        let is_short = |rules, now| self.members.values().any(|site| site.short(rules, now) > 0);
        !self.is_learning() && (is_short(&self.rules, self.clock) || self.held() > self.limit)
    }

    /// The sites besides `told` that have slots to give back and were not asked just now.
    pub(super) fn recall(&mut self, told: &[SiteId]) -> Vec<SiteId> {
        let (now, pause) = (self.clock, self.rules.heartbeat / EscrowRules::HASTE);
        let mut recalled = Vec::new();
        for (&site, member) in &mut self.members {
            let has_some = member.is_live(now) && member.unused() > 0;
            if has_some && member.recalled_at + pause <= now && !told.contains(&site) {
                member.recalled_at = now;
                recalled.push(site);
            }
        }
        recalled
    }

    /// How many unused slots a site may keep.
    pub(super) fn reserve_of(&self, site: SiteId) -> u64 {
        let Some(member) = self.members.get(&site) else { return 0 };
        if self.is_learning() {
            return member.allowance.held();
        }
        if self.is_recalling() {
            return 0;
        }
        let live = || self.members.values().filter(|member| member.is_live(self.clock));
        let unused = self.free() + live().map(|member| member.unused()).sum::<u64>();
        let demand = live().map(|member| member.demand).sum();
        reserve(member.demand, demand, unused)
    }
}
