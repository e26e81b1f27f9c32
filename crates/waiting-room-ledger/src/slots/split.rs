//! The free slots of a minute, split among the sites and Anywhere.

use std::cmp::Reverse;

use waiting_room_core::Timestamp;

use crate::{
    SiteId,
    slots::{Minute, SlotRules, WorldSnapshot},
};

/// The number of visitors that may be admitted in one minute: from the slots of each site, and from
/// Anywhere's.
///
/// The share of a site is the part of the limit that its traffic took in the last whole minute. The
/// part that no site took is Anywhere's. It belongs to no site, so that a site without a history
/// can admit visitors as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slots {
    anywhere: u32,
    /// In the order of the sites.
    sites: Vec<(SiteId, u32)>,
}

impl Slots {
    /// Splits the slots of this minute by this snapshot.
    #[must_use]
    pub fn new(rules: &SlotRules, snapshot: &WorldSnapshot, minute: Minute) -> Self {
        let traffic = snapshot.traffic(minute);
        let sum: u64 = traffic.iter().map(|(_, visitors)| u64::from(*visitors)).sum();
        let limit = u64::from(rules.most_in_a_minute());
        let floor = scaled(rules.any_floor) * sum.max(limit);

        let mut weights = Vec::with_capacity(1 + traffic.len());
        weights.push(floor.max(SCALE * limit.saturating_sub(sum)));
        weights.extend(traffic.iter().map(|(_, visitors)| SCALE * u64::from(*visitors)));
        let slots = apportion(Self::available(rules, snapshot), &weights);

        let sites = traffic.iter().map(|(site, _)| *site).zip(slots[1..].iter().copied());
        Self { anywhere: slots[0], sites: sites.collect() }
    }

    /// The slots of this minute by the newest snapshot that a site has at `now`, and whether the
    /// snapshot counts. A snapshot older than [`SlotRules::stale_after`] does not count, and leaves
    /// only the slots [without a snapshot](Self::without_snapshot).
    #[must_use]
    pub fn known(
        rules: &SlotRules,
        snapshot: Option<&WorldSnapshot>,
        minute: Minute,
        now: Timestamp,
    ) -> (Self, bool) {
        match snapshot.filter(|known| now.since(known.made_at()) <= rules.stale_after) {
            Some(snapshot) => (Self::new(rules, snapshot, minute), true),
            None => (Self::without_snapshot(rules), false),
        }
    }

    /// The slots of a site that has no snapshot: only the floor of Anywhere's share.
    #[must_use]
    pub fn without_snapshot(rules: &SlotRules) -> Self {
        let floor = u64::from(rules.most_in_a_minute()) * scaled(rules.any_floor) / SCALE;
        Self { anywhere: u32::try_from(floor).unwrap_or(u32::MAX), sites: Vec::new() }
    }

    /// The number of visitors that may be admitted in a minute in total: as many as may become
    /// active, but no more than the limit of new visitors.
    #[must_use]
    pub fn available(rules: &SlotRules, snapshot: &WorldSnapshot) -> u32 {
        let free = rules.total_active_users.saturating_sub(snapshot.active());
        free.min(rules.most_in_a_minute())
    }

    /// The slots that belong to no site.
    #[must_use]
    pub const fn anywhere(&self) -> u32 {
        self.anywhere
    }

    /// The slots of one site; 0 for a site without a history.
    #[must_use]
    pub fn site(&self, site: SiteId) -> u32 {
        let found = self.sites.binary_search_by_key(&site, |(id, _)| *id);
        found.map_or(0, |at| self.sites[at].1)
    }

    /// The slots of all sites and Anywhere together.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.anywhere + self.sites.iter().map(|(_, slots)| slots).sum::<u32>()
    }
}

/// Splits `available` slots in proportion to `weights`, down to the last slot.
///
/// Each party gets the integer part of its exact share. The slots that are left go, one each, to
/// the parties with the largest remainders, and among equal remainders to the first. If all weights
/// are 0, no slot is assigned.
///
/// The arithmetic is in integers, so all nodes that start from the same numbers get the same
/// result.
///
/// ```
/// use waiting_room_ledger::model::apportion;
///
/// // Exactly 112.5, 15 and 22.5 slots: the one that is left goes to the first.
/// assert_eq!(apportion(150, &[150, 20, 30]), [113, 15, 22]);
/// ```
///
/// # What it does not promise
///
/// An additional slot may cost a party one of its own: with weights 6, 6 and 2, ten slots are split
/// into 4, 4 and 2, and eleven into 5, 5 and 1 (the Alabama paradox). Divisor methods avoid this,
/// but can deviate from the exact share by more than one slot. Here the exact share matters more.
#[must_use]
pub fn apportion(available: u32, weights: &[u64]) -> Vec<u32> {
    let total: u128 = weights.iter().copied().map(u128::from).sum();
    if total == 0 {
        return vec![0; weights.len()];
    }
    let exact = |weight: u64| u128::from(available) * u128::from(weight);
    let mut slots: Vec<u32> = weights.iter().map(|&weight| whole(exact(weight) / total)).collect();
    let mut left = available - slots.iter().sum::<u32>();

    let mut by_remainder: Vec<_> = weights
        .iter()
        .enumerate()
        .map(|(at, &weight)| (Reverse(exact(weight) % total), at))
        .collect();
    let count = by_remainder.len();
    // Fewer slots are left than there are parties, and the order of the parties does not matter.
    let last = usize::try_from(left).unwrap_or(count).min(count - 1);
    by_remainder.select_nth_unstable(last);
    for &(_, at) in &by_remainder[..last] {
        slots[at] += 1;
        left -= 1;
    }
    debug_assert_eq!(left, 0, "every party but one at most has a remainder to round up");
    slots
}

/// Converts a part of the slots, which are a `u32`.
fn whole(part: u128) -> u32 {
    u32::try_from(part).expect("a part of the slots is no greater than all of them")
}

/// A share in whole parts of [`SCALE`], so that all nodes compute the same result.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share from 0 to 1")]
fn scaled(share: f64) -> u64 {
    (share * SCALE as f64).round() as u64
}

/// The number of parts of a whole. With this number, the weights of the visitors of a minute at
/// 65 536 sites still fit into a `u64`.
const SCALE: u64 = 10_000;
