//! What the visitors of each network hold, at each level, and when a network may have another place.
//!
//! # Late places
//!
//! Each network has a GCRA whose time is the number of places that have entered the line. With a
//! share of `s` of `total` slots, a network may have a part `s / total` of these places, and `s` of
//! them at once. A place that comes too early by this clock is late: it waits until as many places
//! have entered. A clock in seconds would be wrong, because a crowd arrives faster than it is
//! served.

use crate::{VisitorId, room::shards::Shards};

/// The number of slots or places of each known network, at each level. Networks without any have no
/// entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Networks {
    usages: Shards<u64, Usage>,
    /// The number of narrow networks that hold each number of slots or places, from 1.
    sizes: Vec<u32>,
}

/// The usage of one network at one level.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    held: u32,
    /// The slots that are within the share.
    counted: u32,
    /// The time, in [units](UNIT) of places, from which the network may have another place without
    /// using its burst.
    next: u64,
}

impl Networks {
    /// The maximum number of visitors for which the invariants are checked by recounting, in O(n)
    /// time.
    pub(super) const CHECKED: usize = 64;

    /// Adds a slot or a place of this visitor.
    pub(super) fn add(&mut self, id: VisitorId) {
        let Some([narrow, ..]) = levels(id) else { return };
        self.each(id, |usage| usage.held += 1);
        let held = self.usage(narrow).held as usize;
        self.sizes.resize(self.sizes.len().max(held), 0);
        self.resize(held - 1, held);
    }

    /// Removes a slot or a place of this visitor.
    pub(super) fn take(&mut self, id: VisitorId) {
        let Some([narrow, ..]) = levels(id) else { return };
        let held = self.usage(narrow).held as usize;
        self.resize(held, held - 1);
        self.each(id, |usage| usage.held -= 1);
    }

    /// Counts a slot of this visitor within the share of its network, or no longer.
    pub(super) fn count(&mut self, id: VisitorId, is_counted: bool) {
        self.each(id, |usage| {
            usage.counted = if is_counted { usage.counted + 1 } else { usage.counted - 1 };
        });
    }

    /// Returns what the network of this visitor holds at each level, or `None` if the network is
    /// unknown.
    pub(super) fn held(&self, id: VisitorId) -> Option<[u32; 3]> {
        levels(id).map(|levels| levels.map(|level| self.usage(level).held))
    }

    /// Returns the slots within the share of this visitor's network, at each level.
    pub(super) fn counted(&self, id: VisitorId) -> Option<[u32; 3]> {
        levels(id).map(|levels| levels.map(|level| self.usage(level).counted))
    }

    /// Returns the largest number that one narrow network holds.
    pub(super) fn most_held(&self) -> u32 {
        u32::try_from(self.sizes.len()).unwrap_or(u32::MAX)
    }

    /// Returns the number of entered places at which the next place of this visitor may enter, in
    /// [units](UNIT), when `entered` have entered.
    pub(super) fn next_order(
        &self,
        id: VisitorId,
        shares: [u32; 3],
        total: u32,
        entered: u64,
    ) -> Option<u64> {
        let levels = levels(id)?.into_iter().zip(shares);
        let order = levels.map(|(level, share)| {
            let (next, step) = self.next(level, share, total, entered);
            next.saturating_sub((u64::from(share) - 1) * step)
        });
        order.max()
    }

    /// Charges the network of this visitor for a new place.
    pub(super) fn charge(&mut self, id: VisitorId, shares: [u32; 3], total: u32, entered: u64) {
        for (level, share) in levels(id).into_iter().flatten().zip(shares) {
            let (next, step) = self.next(level, share, total, entered);
            let usage = self.usage(level);
            self.usages.insert(level, Usage { next: next + step, ..usage });
        }
    }

    /// Checks that these slots or places are counted, in debug builds.
    pub(super) fn invariants(&self, ids: impl Iterator<Item = VisitorId>) {
        let mut counted = Self::default();
        ids.for_each(|id| counted.add(id));
        let is_same = |(level, usage): (&u64, &Usage)| self.usage(*level).held == usage.held;
        debug_assert!(counted.usages.iter().all(is_same), "each is counted for its network");
        debug_assert_eq!(counted.usages.len(), self.usages.len(), "no network is left over");
        debug_assert_eq!(counted.sizes, self.sizes, "each network has its size");
    }

    /// Returns the time of a network's next place at one level, and the time between two places. A
    /// network is not charged for more places than it has in line, so places that were taken and
    /// given up do not delay the others of the network.
    fn next(&self, level: u64, share: u32, total: u32, entered: u64) -> (u64, u64) {
        let usage = self.usage(level);
        let step = u64::from(total) * UNIT / u64::from(share);
        let longest = entered + (u64::from(usage.held) + 1) * step;
        (usage.next.max(entered).min(longest), step)
    }

    fn usage(&self, level: u64) -> Usage {
        self.usages.get(&level).copied().unwrap_or_default()
    }

    /// Changes the usage of this visitor's network at each level. A network that holds nothing is
    /// forgotten.
    fn each(&mut self, id: VisitorId, change: impl Fn(&mut Usage)) {
        for level in levels(id).into_iter().flatten() {
            let mut usage = self.usage(level);
            change(&mut usage);
            if usage.held == 0 {
                self.usages.remove(&level);
            } else {
                self.usages.insert(level, usage);
            }
        }
    }

    /// Moves a narrow network from one size to another.
    fn resize(&mut self, from: usize, to: usize) {
        if let Some(size) = from.checked_sub(1) {
            self.sizes[size] -= 1;
        }
        if let Some(size) = to.checked_sub(1) {
            self.sizes[size] += 1;
        }
        // The largest network changes by one at a time, so this removes at most one size.
        while self.sizes.last() == Some(&0) {
            self.sizes.pop();
        }
    }
}

/// Returns the keys of a visitor's network, or `None` if the network is unknown.
fn levels(id: VisitorId) -> Option<[u64; 3]> {
    id.network().map(|network| network.levels())
}

/// The number of units in which a place is divided, for shares that are no whole parts.
pub(super) const UNIT: u64 = 1 << 10;
