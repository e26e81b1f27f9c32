//! The accounts of all sites, and the sums over them that every message needs.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use waiting_room_core::Timestamp;

use crate::{
    SiteId,
    escrow::{
        EscrowRules,
        member::{Member, Part},
    },
};

/// All accounts. They are only changed by [`change`](Self::change), which keeps the sums, so that no
/// message costs a look at every site.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Accounts {
    rules: EscrowRules,
    by_site: BTreeMap<SiteId, (Member, Part)>,
    held: u128,
    unused: u128,
    demand: u128,
    unknown: usize,
    short: BTreeSet<(Timestamp, SiteId)>,
    rich: BTreeSet<(Timestamp, SiteId)>,
    due: BTreeSet<(Timestamp, SiteId)>,
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
        };
        for (site, member) in members {
            this.by_site.entry(site).or_insert((member, Part::default()));
            this.change(site, now, |_| ());
        }
        this
    }

    /// Changes one account, if the site is known.
    pub(super) fn change<T>(
        &mut self,
        site: SiteId,
        now: Timestamp,
        change: impl FnOnce(&mut Member) -> T,
    ) -> Option<T> {
        let (member, part) = self.by_site.get_mut(&site)?;
        let changed = change(member);
        let (old, new) = (*part, member.part(&self.rules, now));
        *part = new;
        if old != new {
            self.count(site, old, new);
        }
        Some(changed)
    }

    fn count(&mut self, site: SiteId, old: Part, new: Part) {
        self.held = self.held - u128::from(old.held) + u128::from(new.held);
        self.unused = self.unused - u128::from(old.unused) + u128::from(new.unused);
        self.demand = self.demand - u128::from(old.demand) + u128::from(new.demand);
        self.unknown = self.unknown - usize::from(old.is_unknown) + usize::from(new.is_unknown);
        let moved = |set: &mut BTreeSet<_>, old: Option<Timestamp>, new: Option<Timestamp>| {
            if old != new {
                old.map(|at| set.remove(&(at, site)));
                new.map(|at| set.insert((at, site)));
            }
        };
        moved(&mut self.short, old.short_since, new.short_since);
        moved(&mut self.rich, old.recalled_at, new.recalled_at);
        moved(&mut self.due, old.changes_at, new.changes_at);
    }

    /// Whether every part is that of its account at this time, and the sums are those of the parts.
    pub(super) fn are_counted(&self, now: Timestamp) -> bool {
        let members = self.by_site.iter().map(|(&site, (member, _))| (site, member.clone()));
        *self == Self::new(members, self.rules, now)
    }

    pub(super) fn of(&self, site: SiteId) -> Option<&Member> {
        self.by_site.get(&site).map(|(member, _)| member)
    }

    /// The sites, known or not.
    pub(super) fn sites(&self) -> impl Iterator<Item = SiteId> {
        self.by_site.keys().copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_site.is_empty()
    }

    /// Slots on all accounts.
    pub(super) fn held(&self) -> u64 {
        u64::try_from(self.held).unwrap_or(u64::MAX)
    }

    /// Slots that live sites could give back.
    pub(super) const fn unused(&self) -> u128 {
        self.unused
    }

    /// The demand at a site, as far as it counts.
    pub(super) fn demand_of(&self, site: SiteId) -> u64 {
        self.by_site.get(&site).map_or(0, |(_, part)| part.demand)
    }

    /// The demand at all live sites.
    pub(super) const fn demand(&self) -> u128 {
        self.demand
    }

    /// Whether it is not known of some site if it has an account.
    pub(super) const fn has_unknown(&self) -> bool {
        self.unknown > 0
    }

    /// The site whose turn it is: it lacks slots, and has got none for longest.
    pub(super) fn first_short(&self) -> Option<SiteId> {
        self.short.first().map(|&(_, site)| site)
    }

    /// Whether any site but this one lacks slots.
    pub(super) fn has_short_besides(&self, site: SiteId) -> bool {
        self.short.iter().any(|&(_, short)| short != site)
    }

    /// Sites with slots to give back that were not asked for so long, those asked first before all.
    pub(super) fn rich(&self, now: Timestamp, pause: Duration) -> impl Iterator<Item = SiteId> {
        self.rich.iter().take_while(move |(at, _)| *at + pause <= now).map(|&(_, site)| site)
    }

    /// A site about which time has changed something by now.
    pub(super) fn first_due(&self, now: Timestamp) -> Option<SiteId> {
        self.due.first().filter(|(at, _)| *at <= now).map(|&(_, site)| site)
    }
}
