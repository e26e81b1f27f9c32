//! The accounts of all sites, and sums over these accounts.
//!
//! The sums are updated with each change of an account, so that no message requires a loop over all
//! sites.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use waiting_room_core::{ConfigError, Timestamp, error::ConfigErrorKind};

use crate::{
    SiteId,
    escrow::{
        EscrowRules, KeptAccount, KeptClaim,
        member::{Member, Part},
        need::Turn,
    },
};

/// All accounts. They are changed only through [`change`](Self::change), which updates the sums.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Accounts {
    rules: EscrowRules,
    /// The account of each site, and its contribution to the sums.
    by_site: BTreeMap<SiteId, (Member, Part)>,
    held: u128,
    unused: u128,
    demand: u128,
    /// The number of sites whose standing is unknown.
    unknown: usize,
    /// The sites that lack slots, in the order in which they are served.
    short: BTreeSet<(Turn, SiteId)>,
    /// The sites with unused slots, by the time at which a site was last asked for its slots.
    rich: BTreeSet<(Timestamp, SiteId)>,
    /// The sites by the next time at which their contribution changes without a message.
    due: BTreeSet<(Timestamp, SiteId)>,
    unkept: Unkept,
}

/// The changes that have not been handed to the keeper yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Unkept {
    /// The sites that were added, or whose accounts have changed.
    changed: BTreeSet<SiteId>,
    removed: BTreeSet<SiteId>,
    claims: BTreeSet<KeptClaim>,
}

impl Unkept {
    /// Drops the claims on an account that has ended. Otherwise, the claims would pile up as long
    /// as there is no keeper.
    fn forget_claims(&mut self, site: SiteId) {
        self.claims.retain(|claim| claim.site != site);
    }
}

impl Accounts {
    pub(super) fn new(
        members: impl Iterator<Item = (SiteId, Member)>,
        rules: EscrowRules,
        now: Timestamp,
    ) -> Self {
        let mut this = Self {
            rules,
            by_site: BTreeMap::new(),
            held: 0,
            unused: 0,
            demand: 0,
            unknown: 0,
            short: BTreeSet::new(),
            rich: BTreeSet::new(),
            due: BTreeSet::new(),
            unkept: Unkept::default(),
        };
        for (site, member) in members {
            this.add(site, member, now);
        }
        this
    }

    /// Adds a site, unless it is on the list.
    pub(super) fn add(&mut self, site: SiteId, member: Member, now: Timestamp) {
        self.by_site.entry(site).or_insert((member, Part::default()));
        self.change(site, now, |_| ());
        self.unkept.changed.insert(site);
        self.unkept.removed.remove(&site);
    }

    /// Removes a site.
    pub(super) fn remove(&mut self, site: SiteId) {
        if let Some((_, part)) = self.by_site.remove(&site) {
            self.count(site, part, Part::default());
            self.unkept.changed.remove(&site);
            self.unkept.removed.insert(site);
            self.unkept.forget_claims(site);
        }
    }

    /// Declares that the keeper has stored all changes.
    pub(super) fn forget_changes(&mut self) {
        self.unkept = Unkept::default();
    }

    /// The accounts that have changed since the last call, the sites that were removed, and the new
    /// claims.
    pub(super) fn changes(
        &mut self,
    ) -> (BTreeMap<SiteId, KeptAccount>, BTreeSet<SiteId>, BTreeSet<KeptClaim>) {
        let Unkept { changed, removed, claims } = std::mem::take(&mut self.unkept);
        let kept = |site| Some((site, self.of(site)?.kept()));
        (changed.into_iter().filter_map(kept).collect(), removed, claims)
    }

    /// Moves the slot of a visitor away from a dead site.
    pub(super) fn claim(&mut self, claim: KeptClaim, now: Timestamp) {
        self.change(claim.site, now, |home| home.give_up(claim.visitor));
        self.unkept.claims.insert(claim);
    }

    /// Changes one account and updates the sums. Returns `None` for an unknown site.
    pub(super) fn change<T>(
        &mut self,
        site: SiteId,
        now: Timestamp,
        change: impl FnOnce(&mut Member) -> T,
    ) -> Option<T> {
        let (member, part) = self.by_site.get_mut(&site)?;
        let kept = member.kept();
        let changed = change(member);
        let old = *part;
        let new = member.part(&self.rules, now);
        *part = new;
        let now_kept = member.kept();
        if now_kept != kept {
            self.unkept.changed.insert(site);
        }
        if now_kept.epoch != kept.epoch {
            self.unkept.forget_claims(site);
        }
        if old != new {
            self.count(site, old, new);
        }
        Some(changed)
    }

    /// Replaces the contribution of a site to the sums.
    fn count(&mut self, site: SiteId, old: Part, new: Part) {
        self.held = self.held - u128::from(old.held) + u128::from(new.held);
        self.unused = self.unused - u128::from(old.unused) + u128::from(new.unused);
        self.demand = self.demand - u128::from(old.demand) + u128::from(new.demand);
        self.unknown = self.unknown - usize::from(old.is_unknown) + usize::from(new.is_unknown);
        move_in(&mut self.short, site, old.turn, new.turn);
        move_in(&mut self.rich, site, old.recalled_at, new.recalled_at);
        move_in(&mut self.due, site, old.changes_at, new.changes_at);
    }

    /// Returns whether the contributions match the accounts at this time, and add up to the sums.
    /// For debug assertions.
    pub(super) fn are_counted(&self, now: Timestamp) -> bool {
        let members = self.by_site.iter().map(|(&site, (member, _))| (site, member.clone()));
        let counted = Self::new(members, self.rules, now);
        *self == Self { unkept: self.unkept.clone(), ..counted }
    }

    pub(super) fn of(&self, site: SiteId) -> Option<&Member> {
        self.by_site.get(&site).map(|(member, _)| member)
    }

    /// All sites, including those whose standing is unknown.
    pub(super) fn sites(&self) -> impl Iterator<Item = SiteId> {
        self.by_site.keys().copied()
    }

    /// The number of sites.
    pub(super) fn count_sites(&self) -> usize {
        self.by_site.len()
    }

    /// The slots on all accounts.
    pub(super) fn held(&self) -> u64 {
        u64::try_from(self.held).unwrap_or(u64::MAX)
    }

    /// The slots that live sites could give back.
    pub(super) const fn unused(&self) -> u128 {
        self.unused
    }

    /// The demand at a site; 0 if it is not live.
    pub(super) fn demand_of(&self, site: SiteId) -> u64 {
        self.by_site.get(&site).map_or(0, |(_, part)| part.demand)
    }

    /// The demand at all live sites.
    pub(super) const fn demand(&self) -> u128 {
        self.demand
    }

    /// Returns whether the standing of any site is unknown.
    pub(super) const fn has_unknown(&self) -> bool {
        self.unknown > 0
    }

    /// Returns whether any site lacks slots.
    pub(super) fn has_short(&self) -> bool {
        !self.short.is_empty()
    }

    /// Distributes up to `free` slots, at least one, to the visitors who have waited longest of all
    /// visitors without a slot.
    ///
    /// If these visitors are at several sites and there are too few slots, each site gets a share
    /// in proportion to the number of its visitors, and at least one slot. The sites that have
    /// lacked slots for the longest time since their last grant come first.
    pub(super) fn first_in_turn(&self, free: u64) -> Vec<(SiteId, u64)> {
        let Some(&(first, _)) = self.short.first() else { return Vec::new() };
        let alike = self.short.iter().take_while(|(turn, _)| turn.is_as_old_as(first));
        let most = usize::try_from(free).unwrap_or(usize::MAX);
        let visitors_at = |site| Some((site, self.of(site)?.next_turn()?.1));
        let sites: Vec<_> = alike.take(most).filter_map(|&(_, site)| visitors_at(site)).collect();
        let all: u128 = sites.iter().map(|(_, visitors)| u128::from(*visitors)).sum();
        let mut left = free;
        let share = |(site, visitors): (SiteId, u64)| {
            let part = u128::from(free) * u128::from(visitors) / all.max(1);
            let share = u64::try_from(part).unwrap_or(visitors).clamp(1, visitors.max(1)).min(left);
            left -= share;
            (site, share)
        };
        sites.into_iter().map(share).filter(|(_, share)| *share > 0).collect()
    }

    /// Returns whether any site other than this one lacks slots.
    pub(super) fn has_short_besides(&self, site: SiteId) -> bool {
        self.short.iter().any(|&(_, short)| short != site)
    }

    /// The sites with unused slots that were not asked for them within `pause`, in the order of the
    /// times at which they were last asked.
    pub(super) fn rich(&self, now: Timestamp, pause: Duration) -> impl Iterator<Item = SiteId> {
        self.rich.iter().take_while(move |(at, _)| *at + pause <= now).map(|&(_, site)| site)
    }

    /// A site whose contribution has changed by now without a message.
    pub(super) fn first_due(&self, now: Timestamp) -> Option<SiteId> {
        self.due.first().filter(|(at, _)| *at <= now).map(|&(_, site)| site)
    }
}

/// Moves a site to another place in an order.
fn move_in<T: Ord>(
    order: &mut BTreeSet<(T, SiteId)>,
    site: SiteId,
    old: Option<T>,
    new: Option<T>,
) {
    if old != new {
        old.map(|at| order.remove(&(at, site)));
        new.map(|at| order.insert((at, site)));
    }
}

/// Refuses a list that contains a site twice.
pub(super) fn distinct(
    sites: impl IntoIterator<Item = SiteId>,
) -> Result<BTreeSet<SiteId>, ConfigError> {
    let sites: Vec<_> = sites.into_iter().collect();
    let mut distinct = BTreeSet::new();
    match sites.iter().find(|site| !distinct.insert(**site)) {
        None => Ok(distinct),
        Some(twice) => {
            let given: Vec<_> = sites.iter().map(|site| site.number()).collect();
            let expected = format!("site {} only once", twice.number());
            let kind = ConfigErrorKind::Contradicts;
            let given = format!("{given:?}");
            Err(ConfigError::new(kind, "sites", given, expected))
        }
    }
}
