//! The blocks that a node has leased, and the requests that they pay for.
//!
//! ```text
//!           charged twice         requested with             pays for requests
//!           within a lease        the next charge                ┌─────┐
//!  key ───► wanted ─────────────► on its way ──────────────────► block ┴──► given back:
//!                                                      the lease has ended, or the block
//!                                                      cannot pay for the next request
//! ```
//!
//! The number of slots is fixed, and the hash of a key determines its slot. If the block of another
//! key occupies the slot, the store decides the requests of the key, so collisions cost round trips
//! but never accuracy.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use waiting_room_core::{
    Timestamp,
    rate::{Algorithm, ChargeReply, ChargeRequest, KeyHasher, Refusals},
};

use super::{
    block::{Block, Unspent, is_same},
    blocks::Blocks,
    reply::{self, ChargeNumbers},
};
use crate::sync::unpoisoned;

/// The leased blocks of a node.
///
/// Each slot has its own lock, so requests with different keys hardly ever wait for each other.
#[derive(Debug)]
pub(super) struct Leases {
    blocks: Blocks,
    /// The time to wait for a requested block before another block is requested.
    patience: Duration,
    /// The slots, whose number is [`PLACES`].
    places: Box<[Mutex<LeaseSlot>]>,
}

/// The blocks to request and to give back together with a charge by the store.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The size of the block to request for each limit, or 0 for no block. The list is empty if no
    /// block is requested.
    pub(super) wanted: Vec<u64>,
    /// The units to give back before the charge.
    pub(super) ended: Vec<Unspent>,
}

/// The receiver of the blocks that come with the reply to one charge.
///
/// A lessee lives as long as its call, even if the caller is gone. Otherwise, a block that is
/// charged after the caller has gone would be lost until the passage of time restores its units.
#[derive(Debug)]
pub(super) struct Lessee {
    pub(super) leases: Arc<Leases>,
    pub(super) asks: Vec<ChargeRequest>,
    /// The sizes of the blocks that were requested, as in [`Plan::wanted`].
    pub(super) wanted: Vec<u64>,
}

impl Lessee {
    /// Stores the blocks in the reply to its charge.
    pub(super) fn learn(&self, said: &ChargeNumbers) {
        self.leases.learn(self, said);
    }
}

impl Leases {
    pub(super) fn new(blocks: Blocks, deadline: Duration) -> Self {
        let places = (0..PLACES).map(|_| Mutex::default()).collect();
        Self { blocks, patience: 2 * deadline, places }
    }

    /// The length of a lease.
    pub(super) const fn lease(&self) -> Duration {
        self.blocks.lease
    }

    /// Pays for all limits of a request from blocks. Returns `None` and spends nothing if one of
    /// the limits has no block that can pay.
    pub(super) fn pay(&self, asks: &[ChargeRequest], now: Timestamp) -> Option<Vec<ChargeReply>> {
        // All slots stay locked from the check to the payment, so a request on another thread
        // cannot spend the same units in between.
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

    /// Decides which blocks a request to the store gives back, and for which limits it requests new
    /// blocks.
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
        // If one limit of a request has no block, the request goes to the store, and the blocks of
        // its other limits stay unspent. Blocks are therefore requested for all limits or for none.
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

    /// Takes the blocks of the given limits out of their slots, so that they can be given back.
    pub(super) fn withdraw<'a>(
        &self,
        asks: impl Iterator<Item = &'a ChargeRequest>,
    ) -> Vec<Unspent> {
        let withdraw = |ask| self.place(ask).take_if(|block| block.is_for(ask));
        asks.filter_map(withdraw).collect()
    }

    /// Takes all blocks whose leases have ended out of their slots, so that they can be given back.
    pub(super) fn ended(&self, now: Timestamp) -> Vec<Unspent> {
        let take = |place| lock(place).take_if(|block| !block.is_live(now));
        self.places.iter().filter_map(take).collect()
    }

    /// Returns the number of units of a limit that this node can spend without a round trip.
    pub(super) fn left(&self, ask: &ChargeRequest, now: Timestamp) -> u64 {
        let place = self.place(ask);
        let block = place.block.as_ref().filter(|block| block.is_for(ask) && block.is_live(now));
        block.map_or(0, Block::left)
    }

    /// Stores the blocks in a reply, and records the remaining units of the limits.
    ///
    /// A block that arrives when another block is already in its slot is not stored. The unstored
    /// block stays charged until the passage of time restores its units, like any charge whose
    /// reply arrives too late.
    fn learn(&self, lessee: &Lessee, said: &ChargeNumbers) {
        let Ok(told) = reply::decode_all(&lessee.asks, said) else { return };
        for (index, (ask, told)) in lessee.asks.iter().zip(&told).enumerate() {
            // The slot may now belong to another key.
            let mut place = self.place(ask);
            if !place.is_for(ask) {
                continue;
            }
            // Whatever the reply contains, no requested block is still outstanding.
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

    /// Locks the slots of the given charge requests, and returns the locked slots with the indices
    /// of their charge requests. Returns `None` if two charge requests share a slot.
    ///
    /// The locks are taken in the order of the slots, so two requests with the same limits cannot
    /// deadlock. A request with two limits in the same slot would deadlock with itself, so it goes
    /// to the store instead.
    fn lock_all(&self, asks: &[ChargeRequest]) -> Option<Vec<(usize, MutexGuard<'_, LeaseSlot>)>> {
        let mut order: Vec<_> = asks.iter().map(|ask| self.index(ask)).enumerate().collect();
        order.sort_unstable_by_key(|&(_, place)| place);
        if order.windows(2).any(|pair| pair[0].1 == pair[1].1) {
            return None;
        }
        Some(order.into_iter().map(|(ask, place)| (ask, lock(&self.places[place]))).collect())
    }

    /// Locks the slot of one charge request. The caller must not have locked another slot.
    fn place(&self, ask: &ChargeRequest) -> MutexGuard<'_, LeaseSlot> {
        lock(&self.places[self.index(ask)])
    }

    /// Returns the index of the slot for a limit and a key. All tiers of a key have the same slot,
    /// so a key has at most one block on a node.
    fn index(&self, ask: &ChargeRequest) -> usize {
        // The hash of the key already includes a secret, so the hash of the name needs no secret.
        let name = KeyHasher::shared([0, 0]).hash(ask.policy.name()).as_u64();
        let index = (ask.key.as_u64() ^ name) % self.places.len() as u64;
        usize::try_from(index).expect("the index is smaller than a length")
    }
}

/// The state of one slot, with the limit and the key that currently use it.
///
/// All times are on this node's own clock.
#[derive(Debug, Default)]
struct LeaseSlot {
    /// The limit, the key and the tier that currently use the slot.
    ask: Option<ChargeRequest>,
    /// The time at which the store was last asked to charge this key.
    asked_at: Timestamp,
    /// The time until which a requested block may still arrive.
    wanted_until: Timestamp,
    block: Option<Block>,
}

impl LeaseSlot {
    /// Returns whether the slot belongs to this limit, key and tier.
    fn is_for(&self, ask: &ChargeRequest) -> bool {
        self.ask.as_ref().is_some_and(|known| is_same(known, ask))
    }

    fn can_pay(&self, ask: &ChargeRequest, now: Timestamp) -> bool {
        self.block.as_ref().is_some_and(|block| block.is_for(ask) && block.can_pay(ask.cost, now))
    }

    /// Returns whether a block is worth requesting, because the key was charged within the length
    /// of a lease, has no block, and no requested block is outstanding.
    fn wants(&self, ask: &ChargeRequest, now: Timestamp, lease: Duration) -> bool {
        let is_often = self.is_for(ask) && now < self.asked_at + lease;
        is_often && ask.cost > 0 && self.block.is_none() && self.wanted_until <= now
    }

    /// Records a charge that goes to the store. Its key takes over the slot, unless another key has
    /// a block in the slot or is waiting for a block.
    fn asked(&mut self, ask: &ChargeRequest, now: Timestamp) {
        if self.is_for(ask) {
            self.asked_at = now;
        } else if self.block.is_none() && self.wanted_until <= now {
            *self = Self { ask: Some(ask.clone()), asked_at: now, ..Self::default() };
        }
    }

    /// Takes out a block whose lease has ended, or which belongs to `ask` but cannot pay for it.
    fn give_up(&mut self, ask: &ChargeRequest, now: Timestamp) -> Option<Unspent> {
        self.take_if(|block| {
            !block.is_live(now) || (block.is_for(ask) && !block.can_pay(ask.cost, now))
        })
    }

    /// Takes out the block if it passes the test. Returns its unspent units, or `None` if there are
    /// none.
    fn take_if(&mut self, test: impl FnOnce(&Block) -> bool) -> Option<Unspent> {
        self.block.take_if(|block| test(block)).and_then(Block::into_unspent)
    }
}

/// Returns whether a unit of the limit may be charged now and spent later.
///
/// Units of a leaky queue cannot be spent later, because the queue assigns a departure time to each
/// charge. Neither can units of a log that counts refusals, because a refusal caused by another
/// node's block would count against the client.
fn can_be_leased(ask: &ChargeRequest) -> bool {
    let counts_refusals = Algorithm::SlidingLog(Refusals::Count);
    ![Algorithm::LeakyQueue, counts_refusals].contains(&ask.policy.algorithm())
}

fn lock(place: &Mutex<LeaseSlot>) -> MutexGuard<'_, LeaseSlot> {
    unpoisoned(place.lock())
}

/// The number of slots, and thus the maximum number of blocks on a node.
const PLACES: usize = 1 << 12;
