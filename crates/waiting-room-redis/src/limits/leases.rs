//! The blocks that a node has leased, and who spends them.
//!
//! ```text
//!            asked twice                                    pays for requests
//!            within a lease        charged besides              ┌─────┐
//!  key ────► wanted ─────────────► on its way ────────────────► block ┴──► given back:
//!            with the request      by the same script                      its lease has ended, or
//!                                                                          it cannot pay any more
//! ```
//!
//! There is a fixed number of places, one for each hash: a key that is crowded out by another's
//! block is decided by the store.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use waiting_room_core::{Algorithm, ChargeReply, ChargeRequest, KeyHasher, Refusals, Timestamp};

use super::{
    block::{Block, Unspent, is_same},
    blocks::Blocks,
    reply::{self, Said},
};
use crate::sync::unpoisoned;

/// The blocks of a node.
#[derive(Debug)]
pub(super) struct Leases {
    blocks: Blocks,
    /// For how long a block is waited for before another is asked for.
    patience: Duration,
    places: Box<[Mutex<LeaseSlot>]>,
}

/// What a request does about blocks when it goes to the store.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// How large a block it asks for of each limit; none at all, if this is empty.
    pub(super) wanted: Vec<u64>,
    /// What is to be given back before.
    pub(super) ended: Vec<Unspent>,
}

/// Who keeps the blocks that come with a reply.
#[derive(Debug)]
pub(super) struct Lessee {
    pub(super) leases: Arc<Leases>,
    pub(super) asks: Vec<ChargeRequest>,
    pub(super) wanted: Vec<u64>,
}

impl Lessee {
    /// Takes note of what was said.
    pub(super) fn learn(&self, said: &Said) {
        self.leases.learn(self, said);
    }
}

impl Leases {
    pub(super) fn new(blocks: Blocks, deadline: Duration) -> Self {
        let places = (0..PLACES).map(|_| Mutex::default()).collect();
        Self { blocks, patience: 2 * deadline, places }
    }

    /// How long a lease is.
    pub(super) const fn lease(&self) -> Duration {
        self.blocks.lease
    }

    /// Pays all of these out of blocks, or none.
    pub(super) fn pay(&self, asks: &[ChargeRequest], now: Timestamp) -> Option<Vec<ChargeReply>> {
        let mut places = self.lock_all(asks)?;
        if !places.iter().all(|(index, place)| place.can_pay(&asks[*index], now)) {
            return None;
        }
        let mut replies = vec![ChargeReply::default(); asks.len()];
        for (index, place) in &mut places {
            if let Some(block) = &mut place.block {
                replies[*index] = block.pay(&asks[*index], now);
            }
        }
        Some(replies)
    }

    /// What to do about blocks for a request that they do not pay for.
    pub(super) fn plan(&self, asks: &[ChargeRequest], now: Timestamp) -> Plan {
        let Some(mut places) = self.lock_all(asks) else { return Plan::default() };
        let mut plan = Plan::default();
        for (index, place) in &mut places {
            plan.ended.extend(place.give_up(&asks[*index], now));
        }
        let is_ready = |(index, place): &(usize, MutexGuard<'_, LeaseSlot>)| {
            let ask = &asks[*index];
            can_be_leased(ask) && (place.can_pay(ask, now) || place.wants(ask, now, self.lease()))
        };
        // One limit that has to be asked about in any case would leave the blocks of all others
        // unspent.
        if places.iter().all(is_ready) {
            plan.wanted = vec![0; asks.len()];
        }
        for (index, place) in &mut places {
            if let Some(wanted) = plan.wanted.get_mut(*index)
                && place.block.is_none()
            {
                *wanted = self.blocks.largest;
                place.wanted_until = now + self.patience;
            }
            place.asked(&asks[*index], now);
        }
        plan
    }

    /// What is left of the blocks of these, taken out of them.
    pub(super) fn withdraw<'a>(
        &self,
        asks: impl Iterator<Item = &'a ChargeRequest>,
    ) -> Vec<Unspent> {
        let withdraw = |ask| self.place(ask).take_if(|block| block.is_for(ask));
        asks.filter_map(withdraw).collect()
    }

    /// What is left of all blocks whose leases have ended, taken out of them.
    pub(super) fn ended(&self, now: Timestamp) -> Vec<Unspent> {
        let take = |place| lock(place).take_if(|block| !block.is_live(now));
        self.places.iter().filter_map(take).collect()
    }

    /// How much can be spent of a limit without asking.
    pub(super) fn left(&self, ask: &ChargeRequest, now: Timestamp) -> u64 {
        let place = self.place(ask);
        let block = place.block.as_ref().filter(|block| block.is_for(ask) && block.is_live(now));
        block.map_or(0, Block::left)
    }

    /// Keeps the blocks that came with a reply. If the caller has stopped waiting for one and another
    /// has come meanwhile, it stays charged, as everything does that is answered too late.
    fn learn(&self, lessee: &Lessee, said: &Said) {
        let Ok(told) = reply::decode_all(&lessee.asks, said) else { return };
        for (index, (ask, told)) in lessee.asks.iter().zip(&told).enumerate() {
            let mut place = self.place(ask);
            if !place.is_for(ask) {
                continue;
            }
            if lessee.wanted.get(index).is_some_and(|&wanted| wanted > 0) {
                place.wanted_until = Timestamp::ZERO;
            }
            if let (None, Some(decision), Some(charge)) =
                (&place.block, told.reply.decision, told.block)
            {
                let ask = ask.clone();
                place.block = Some(Block::new(ask, charge, &decision, said, self.lease()));
            } else if let (Some(block), Some(decision)) = (&mut place.block, told.reply.decision) {
                block.hear(&decision, said);
            }
        }
    }

    /// The places of these, in the order of the places, so that nobody waits for each other; nothing,
    /// if two would share one.
    fn lock_all(&self, asks: &[ChargeRequest]) -> Option<Vec<(usize, MutexGuard<'_, LeaseSlot>)>> {
        let mut order: Vec<_> = asks.iter().map(|ask| self.index(ask)).enumerate().collect();
        order.sort_unstable_by_key(|&(_, place)| place);
        if order.windows(2).any(|pair| pair[0].1 == pair[1].1) {
            return None;
        }
        Some(order.into_iter().map(|(ask, place)| (ask, lock(&self.places[place]))).collect())
    }

    fn place(&self, ask: &ChargeRequest) -> MutexGuard<'_, LeaseSlot> {
        lock(&self.places[self.index(ask)])
    }

    /// The same for all tiers of a key, so that they have one block in all.
    fn index(&self, ask: &ChargeRequest) -> usize {
        let name = KeyHasher::shared([0, 0]).hash(ask.policy.name()).as_u64();
        let index = (ask.key.as_u64() ^ name) % self.places.len() as u64;
        usize::try_from(index).expect("it is smaller than a length")
    }
}

/// What a node knows of a key.
#[derive(Debug, Default)]
struct LeaseSlot {
    /// How it was asked about, and when it last was.
    ask: Option<ChargeRequest>,
    asked_at: Timestamp,
    /// Until then a block may be on its way.
    wanted_until: Timestamp,
    block: Option<Block>,
}

impl LeaseSlot {
    fn is_for(&self, ask: &ChargeRequest) -> bool {
        self.ask.as_ref().is_some_and(|known| is_same(known, ask))
    }

    fn can_pay(&self, ask: &ChargeRequest, now: Timestamp) -> bool {
        self.block.as_ref().is_some_and(|block| block.is_for(ask) && block.can_pay(ask.cost, now))
    }

    /// Whether it would use a block, and none is on its way.
    fn wants(&self, ask: &ChargeRequest, now: Timestamp, lease: Duration) -> bool {
        let is_often = self.is_for(ask) && now < self.asked_at + lease;
        is_often && ask.cost > 0 && self.block.is_none() && self.wanted_until <= now
    }

    /// Takes note of a question to the store. Who has a block here, or waits for one, stays.
    fn asked(&mut self, ask: &ChargeRequest, now: Timestamp) {
        if self.is_for(ask) {
            self.asked_at = now;
        } else if self.block.is_none() && self.wanted_until <= now {
            *self = Self { ask: Some(ask.clone()), asked_at: now, ..Self::default() };
        }
    }

    /// Takes out a block that has ended, or that cannot pay for its own key.
    fn give_up(&mut self, ask: &ChargeRequest, now: Timestamp) -> Option<Unspent> {
        self.take_if(|block| {
            !block.is_live(now) || (block.is_for(ask) && !block.can_pay(ask.cost, now))
        })
    }

    fn take_if(&mut self, test: impl FnOnce(&Block) -> bool) -> Option<Unspent> {
        self.block.take_if(|block| test(block)).and_then(Block::into_unspent)
    }
}

/// Whether it means the same to be charged now and to spend later.
fn can_be_leased(ask: &ChargeRequest) -> bool {
    let counts_refusals = Algorithm::SlidingLog(Refusals::Count);
    ![Algorithm::LeakyQueue, counts_refusals].contains(&ask.policy.algorithm())
}

fn lock(place: &Mutex<LeaseSlot>) -> MutexGuard<'_, LeaseSlot> {
    unpoisoned(place.lock())
}

/// So many keys have a block at most.
const PLACES: usize = 1 << 12;
