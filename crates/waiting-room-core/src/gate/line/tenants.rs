//! A line with a lane for each tenant that has waiting requests.
//!
//! Lanes take turns, and one request is served per turn. This is deficit round robin (M. Shreedhar
//! and G. Varghese, SIGCOMM 1995) with a cost of one per request, so no deficit is ever carried
//! over to the next round.
//!
//! Turns are numbered, and the lane with the lowest turn number is served next. After a lane has
//! been served, it gets a new turn number that is higher than all others.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::lane::{Lane, Line};
use crate::{
    Timestamp,
    gate::waiters::{Id, Waiters},
};

/// A line in which the tenants take turns.
///
/// A lane exists only while a request is waiting in it, so there are no more lanes than waiting
/// requests, however many tenants there are.
#[derive(Default)]
pub(in crate::gate) struct ByTenant {
    lanes: HashMap<u64, Turns>,
    /// The lane of each turn, keyed by turn number. The lane with the lowest turn number is served
    /// next.
    turns: BTreeMap<u64, u64>,
    /// The turn number that was most recently assigned to a lane.
    next_turn: u64,
    /// The lanes ordered by length, so that the longest lane can be found quickly.
    by_len: BTreeSet<(usize, u64)>,
    /// The number of requests in all lanes.
    len: usize,
    /// Whether all tenants share a fixed number of lanes, a few of which are dealt to each tenant.
    /// Otherwise, each tenant has its own lane.
    is_shuffled: bool,
}

/// A lane and its turn number.
struct Turns {
    turn: u64,
    lane: Lane,
}

impl ByTenant {
    pub(in crate::gate) fn new(is_shuffled: bool) -> Self {
        Self { is_shuffled, ..Self::default() }
    }

    fn len_of(&self, lane: u64) -> usize {
        self.lanes.get(&lane).map_or(0, |entry| entry.lane.len())
    }

    /// Changes a lane, and updates the lane indexes accordingly.
    ///
    /// A lane that does not exist yet is created, with a turn after those of all other lanes. A
    /// lane that is empty after the change is removed.
    fn change<T>(&mut self, lane: u64, change: impl FnOnce(&mut Lane) -> T) -> T {
        let next_turn = &mut self.next_turn;
        let turns = self.lanes.entry(lane).or_insert_with(|| {
            *next_turn += 1;
            self.turns.insert(*next_turn, lane);
            Turns { turn: *next_turn, lane: Lane::default() }
        });
        let before = turns.lane.len();
        let given = change(&mut turns.lane);
        let after = turns.lane.len();
        let turn = turns.turn;
        self.by_len.remove(&(before, lane));
        self.len = self.len - before + after;
        if after > 0 {
            self.by_len.insert((after, lane));
        } else {
            self.turns.remove(&turn);
            self.lanes.remove(&lane);
        }
        given
    }
}

impl Line for ByTenant {
    fn lane(&self, _: u8, tenant: u64) -> u64 {
        if !self.is_shuffled {
            return tenant;
        }
        hand(tenant).into_iter().min_by_key(|lane| self.len_of(*lane)).unwrap_or_default()
    }

    fn push(&mut self, id: Id, waiters: &mut Waiters) {
        self.change(waiters[id].lane, |lane| lane.push(id, waiters));
    }

    fn next(
        &mut self,
        now: Timestamp,
        _: bool,
        _: &dyn Fn(u8) -> u32,
        waiters: &mut Waiters,
    ) -> Option<Id> {
        let &lane = self.turns.values().next()?;
        let id = self.change(lane, |lane| lane.pop_first(waiters))?;
        let is_served = now <= waiters[id].deadline;
        // A lane that has been served goes to the end of the round, unless the lane is empty and
        // has been removed. If the request's deadline has passed, the lane keeps its turn, because
        // none of its requests has received a permit in this turn.
        if let Some(turns) = self.lanes.get_mut(&lane).filter(|_| is_served) {
            self.turns.remove(&turns.turn);
            self.next_turn += 1;
            turns.turn = self.next_turn;
            self.turns.insert(self.next_turn, lane);
        }
        Some(id)
    }

    fn evict_for(&mut self, lane: u64, waiters: &mut Waiters) -> Option<Id> {
        // The longest lane loses a request only if it is longer than the newcomer's lane would
        // become. Otherwise, two lanes of equal length would keep evicting each other's requests.
        let &(len, longest) = self.by_len.last()?;
        if len <= self.len_of(lane) + 1 {
            return None;
        }
        self.change(longest, |lane| lane.pop_last(waiters))
    }

    fn remove(&mut self, id: Id, waiters: &mut Waiters) {
        self.change(waiters[id].lane, |lane| lane.remove(id, waiters));
    }

    fn ahead(&self, lane: u64, _: bool) -> usize {
        // All requests that are already in `lane` are served before a newcomer, and so is at least
        // one request of every other lane.
        let own = self.len_of(lane);
        own + self.lanes.len() - usize::from(own > 0)
    }

    fn oldest(&self, waiters: &Waiters) -> Option<Timestamp> {
        self.lanes.values().filter_map(|entry| entry.lane.oldest(waiters)).min()
    }

    fn len(&self) -> usize {
        self.len
    }
}

/// Returns the lanes that are dealt to a tenant, like the first cards of a deck that is shuffled by
/// the tenant's hash.
///
/// Only the cards that are dealt are shuffled (partial Fisher–Yates shuffle). The lanes of a tenant
/// are distinct, because a card is never dealt twice.
fn hand(tenant: u64) -> [u64; HAND] {
    let mut deck: [u8; LANES] = std::array::from_fn(|lane| u8::try_from(lane).unwrap_or_default());
    let mut bits = tenant;
    std::array::from_fn(|dealt| {
        // With SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), all bits of the hash affect each
        // card.
        bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let left = (LANES - dealt) as u64;
        let card = dealt + usize::try_from((mixed ^ (mixed >> 31)) % left).unwrap_or_default();
        deck.swap(dealt, card);
        deck[dealt].into()
    })
}

/// The total number of lanes that all tenants share under shuffle sharding.
const LANES: usize = 128;
/// The number of lanes that are dealt to each tenant.
const HAND: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lanes_of_consecutive_tenants_are_distinct_and_spread_evenly() {
        let mut dealt = [[0_u32; LANES]; HAND];
        for tenant in 0..10_000 {
            let lanes = hand(tenant);
            assert_eq!(BTreeSet::from(lanes).len(), HAND);
            for (nth, lane) in lanes.into_iter().enumerate() {
                dealt[nth][usize::try_from(lane).unwrap()] += 1;
            }
        }
        // Each lane is expected to be dealt 78 times, with a standard deviation of 9.
        for (nth, counts) in dealt.iter().enumerate() {
            assert!(counts.iter().all(|count| (35..130).contains(count)), "{nth}: {counts:?}");
        }
    }
}
