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
//! The number of slots is fixed, and a key has exactly one of them, by its hash. A key whose slot
//! is taken by the block of another is decided by the store, so crowding costs round trips and
//! never accuracy.

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

/// The blocks of a node.
///
/// Each slot has its own lock, so requests of different keys hardly ever wait for each other.
#[derive(Debug)]
pub(super) struct Leases {
    blocks: Blocks,
    /// How long a requested block is expected before another one is requested.
    patience: Duration,
    /// One slot for each hash, see [`PLACES`].
    places: Box<[Mutex<LeaseSlot>]>,
}

/// What a charge that goes to the store does about blocks.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The size of the block to request of each limit, 0 for none; empty if none is requested.
    pub(super) wanted: Vec<u64>,
    /// The units to give back first.
    pub(super) ended: Vec<Unspent>,
}

/// Receives the blocks that come with the reply to one charge.
///
/// It belongs to the call, not to its caller: a block that is charged for a caller who has gone
/// would otherwise be lost until time gives it back.
#[derive(Debug)]
pub(super) struct Lessee {
    pub(super) leases: Arc<Leases>,
    pub(super) asks: Vec<ChargeRequest>,
    /// The sizes of the blocks that were requested, as in [`Plan::wanted`].
    pub(super) wanted: Vec<u64>,
}

impl Lessee {
    /// Learns from the reply to its charge.
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

    /// Pays for all limits of a request from blocks; `None`, and nothing is spent, if one of them
    /// has no block that can pay.
    pub(super) fn pay(&self, asks: &[ChargeRequest], now: Timestamp) -> Option<Vec<ChargeReply>> {
        // All slots stay locked from the check to the payment: a request on another thread cannot
        // spend the same units in between.
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

    /// Decides what a request that goes to the store does about blocks: which to give back, and of
    /// which limits to request new ones.
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
        // A request that has one limit without a block goes to the store, and leaves the blocks of
        // its other limits unspent. So blocks are requested for all limits or for none.
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

    /// Takes the blocks of these limits out of their slots, to be given back.
    pub(super) fn withdraw<'a>(
        &self,
        asks: impl Iterator<Item = &'a ChargeRequest>,
    ) -> Vec<Unspent> {
        let withdraw = |ask| self.place(ask).take_if(|block| block.is_for(ask));
        asks.filter_map(withdraw).collect()
    }

    /// Takes all blocks whose leases have ended out of their slots, to be given back.
    pub(super) fn ended(&self, now: Timestamp) -> Vec<Unspent> {
        let take = |place| lock(place).take_if(|block| !block.is_live(now));
        self.places.iter().filter_map(take).collect()
    }

    /// Returns how many units of a limit this node can spend without a round trip.
    pub(super) fn left(&self, ask: &ChargeRequest, now: Timestamp) -> u64 {
        let place = self.place(ask);
        let block = place.block.as_ref().filter(|block| block.is_for(ask) && block.is_live(now));
        block.map_or(0, Block::left)
    }

    /// Stores the blocks that have come with a reply, and records what the limits have left.
    ///
    /// A block that comes so late that another one is in its slot is not stored. It stays charged
    /// until time gives it back, as any charge whose reply is too late.
    fn learn(&self, lessee: &Lessee, said: &ChargeNumbers) {
        let Ok(told) = reply::decode_all(&lessee.asks, said) else { return };
        for (index, (ask, told)) in lessee.asks.iter().zip(&told).enumerate() {
            // The slot may belong to another key by now.
            let mut place = self.place(ask);
            if !place.is_for(ask) {
                continue;
            }
            // Whatever the reply is, no block is on its way any more.
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

    /// Locks the slots of these asks; `None` if two of them share a slot.
    ///
    /// The locks are taken in the order of the slots, so two requests with the same limits cannot
    /// deadlock. One request with two asks in one slot would deadlock with itself, and goes to the
    /// store instead. The numbers are the indices of the asks.
    fn lock_all(&self, asks: &[ChargeRequest]) -> Option<Vec<(usize, MutexGuard<'_, LeaseSlot>)>> {
        let mut order: Vec<_> = asks.iter().map(|ask| self.index(ask)).enumerate().collect();
        order.sort_unstable_by_key(|&(_, place)| place);
        if order.windows(2).any(|pair| pair[0].1 == pair[1].1) {
            return None;
        }
        Some(order.into_iter().map(|(ask, place)| (ask, lock(&self.places[place]))).collect())
    }

    /// Locks the slot of one ask. The caller must hold no other slot.
    fn place(&self, ask: &ChargeRequest) -> MutexGuard<'_, LeaseSlot> {
        lock(&self.places[self.index(ask)])
    }

    /// Returns the slot of a limit and a key. All tiers of a key have the same one, so a key has at
    /// most one block on a node.
    fn index(&self, ask: &ChargeRequest) -> usize {
        // The hash of the key has a secret already, so that of the name needs none.
        let name = KeyHasher::shared([0, 0]).hash(ask.policy.name()).as_u64();
        let index = (ask.key.as_u64() ^ name) % self.places.len() as u64;
        usize::try_from(index).expect("it is smaller than a length")
    }
}

/// What a node knows of the key that has this slot.
///
/// Times are those of this node's own clock.
#[derive(Debug, Default)]
struct LeaseSlot {
    /// The limit, the key and the tier that have the slot.
    ask: Option<ChargeRequest>,
    /// When the store was last asked about them.
    asked_at: Timestamp,
    /// The time until which a requested block may be on its way.
    wanted_until: Timestamp,
    block: Option<Block>,
}

impl LeaseSlot {
    /// Whether the slot belongs to this limit, key and tier.
    fn is_for(&self, ask: &ChargeRequest) -> bool {
        self.ask.as_ref().is_some_and(|known| is_same(known, ask))
    }

    fn can_pay(&self, ask: &ChargeRequest, now: Timestamp) -> bool {
        self.block.as_ref().is_some_and(|block| block.is_for(ask) && block.can_pay(ask.cost, now))
    }

    /// Whether a block is worth requesting: the key was charged within the last lease, and has no
    /// block, neither here nor on its way.
    fn wants(&self, ask: &ChargeRequest, now: Timestamp, lease: Duration) -> bool {
        let is_often = self.is_for(ask) && now < self.asked_at + lease;
        is_often && ask.cost > 0 && self.block.is_none() && self.wanted_until <= now
    }

    /// Records a charge that goes to the store. Its key takes over the slot, unless another one has
    /// a block in it or expects one.
    fn asked(&mut self, ask: &ChargeRequest, now: Timestamp) {
        if self.is_for(ask) {
            self.asked_at = now;
        } else if self.block.is_none() && self.wanted_until <= now {
            *self = Self { ask: Some(ask.clone()), asked_at: now, ..Self::default() };
        }
    }

    /// Takes out a block whose lease has ended, or that cannot pay for this ask although it is for
    /// it.
    fn give_up(&mut self, ask: &ChargeRequest, now: Timestamp) -> Option<Unspent> {
        self.take_if(|block| {
            !block.is_live(now) || (block.is_for(ask) && !block.can_pay(ask.cost, now))
        })
    }

    /// Takes out the block if the test holds for it; `None` if no units are left in it.
    fn take_if(&mut self, test: impl FnOnce(&Block) -> bool) -> Option<Unspent> {
        self.block.take_if(|block| test(block)).and_then(Block::into_unspent)
    }
}

/// Whether a unit of the limit may be charged now and spent later.
///
/// It may not in a leaky queue, which assigns each charge its own departure. Nor in a log that
/// counts refusals: a refusal that is due to another node's block would count against the client.
fn can_be_leased(ask: &ChargeRequest) -> bool {
    let counts_refusals = Algorithm::SlidingLog(Refusals::Count);
    ![Algorithm::LeakyQueue, counts_refusals].contains(&ask.policy.algorithm())
}

fn lock(place: &Mutex<LeaseSlot>) -> MutexGuard<'_, LeaseSlot> {
    unpoisoned(place.lock())
}

/// The number of slots, and so the most blocks that a node can have.
const PLACES: usize = 1 << 12;
