//! A lane for each tenant that waits, and a turn for each lane.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Arc, Lane, Line, Timestamp, Waiter, oldest_of};

/// A line in which the tenants take turns.
///
/// A lane is there only while somebody waits in it, so there are no more of them than waiters.
#[derive(Default)]
pub(super) struct ByTenant {
    lanes: HashMap<u64, Turns>,
    /// Whose turn it is, in order.
    turns: BTreeMap<u64, u64>,
    next_turn: u64,
    /// The lanes by the number of those who wait in them.
    by_len: BTreeSet<(usize, u64)>,
    len: usize,
    is_shuffled: bool,
}

/// A lane, and the turn it has.
struct Turns {
    turn: u64,
    waiters: Lane,
}

impl ByTenant {
    pub(super) fn new(is_shuffled: bool) -> Self {
        Self { is_shuffled, ..Self::default() }
    }

    fn len_of(&self, lane: u64) -> usize {
        self.lanes.get(&lane).map_or(0, |it| it.waiters.len())
    }

    /// Changes the waiters of a lane, which is made for them, and goes with the last of them.
    fn change<T>(&mut self, lane: u64, change: impl FnOnce(&mut Lane) -> T) -> T {
        let next_turn = &mut self.next_turn;
        let turns = self.lanes.entry(lane).or_insert_with(|| {
            *next_turn += 1;
            self.turns.insert(*next_turn, lane);
            Turns { turn: *next_turn, waiters: Lane::new() }
        });
        let before = turns.waiters.len();
        let given = change(&mut turns.waiters);
        let (after, turn) = (turns.waiters.len(), turns.turn);
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

    fn push(&mut self, waiter: Arc<Waiter>) {
        self.change(waiter.lane, |waiters| _ = waiters.insert(waiter.number, waiter));
    }

    fn next(&mut self, now: Timestamp, _: bool, _: &dyn Fn(u8) -> u32) -> Option<Arc<Waiter>> {
        let &lane = self.turns.values().next()?;
        let (_, waiter) = self.change(lane, Lane::pop_first)?;
        let is_served = now <= waiter.deadline;
        // At the end of the round again, unless the lane is gone, or keeps a turn that nobody used.
        if let Some(turns) = self.lanes.get_mut(&lane).filter(|_| is_served) {
            self.turns.remove(&turns.turn);
            self.next_turn += 1;
            turns.turn = self.next_turn;
            self.turns.insert(self.next_turn, lane);
        }
        Some(waiter)
    }

    fn evict_for(&mut self, lane: u64) -> Option<Arc<Waiter>> {
        let &(len, longest) = self.by_len.last()?;
        if len <= self.len_of(lane) + 1 {
            return None;
        }
        self.change(longest, Lane::pop_last).map(|(_, waiter)| waiter)
    }

    fn remove(&mut self, waiter: &Waiter) {
        self.change(waiter.lane, |waiters| _ = waiters.remove(&waiter.number));
    }

    fn ahead(&self, lane: u64, _: bool) -> usize {
        // All before it in its lane, and each other lane at least once.
        let own = self.len_of(lane);
        own + self.lanes.len() - usize::from(own > 0)
    }

    fn oldest(&self) -> Option<Timestamp> {
        self.lanes.values().filter_map(|it| oldest_of(&it.waiters)).min()
    }

    fn len(&self) -> usize {
        self.len
    }
}

/// The lanes that a tenant is dealt.
fn hand(tenant: u64) -> [u64; HAND] {
    let mut deck: [u8; LANES] = std::array::from_fn(|lane| u8::try_from(lane).unwrap_or_default());
    let mut bits = tenant;
    std::array::from_fn(|dealt| {
        // Splitmix64, after S. Vigna: any bits of the name decide about every card.
        bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let left = (LANES - dealt) as u64;
        let card = dealt + usize::try_from((mixed ^ (mixed >> 31)) % left).unwrap_or_default();
        deck.swap(dealt, card);
        deck[dealt].into()
    })
}

/// How many lanes there are for tenants that may have made up their names.
const LANES: usize = 128;
/// How many of them each is dealt.
const HAND: usize = 8;
