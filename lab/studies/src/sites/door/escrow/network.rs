//! Messages between ledgers, and the times at which ledgers have to be woken.

use std::{cmp::Reverse, collections::BinaryHeap};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustc_hash::FxHashMap;
use waiting_room_core::Timestamp;
use waiting_room_ledger::model::{Outgoing, ToGlobal};

use crate::sites::clock::millis;

/// The messages under way, in the order of arrival.
#[derive(Debug)]
pub(super) struct Network {
    under_way: BinaryHeap<Reverse<(u32, u64, Message)>>,
    sent: u64,
    messages: u64,
    /// The time of the next wake-up of each ledger.
    wakes: FxHashMap<(Limit, u16), u32>,
    rtt_ms: [u32; 2],
    rng: Pcg64Mcg,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Message {
    Down(Limit, Outgoing),
    Tick(Limit, u16),
    Up(Limit, ToGlobal),
}

/// The limit that a ledger keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Limit {
    Active,
    New,
}

impl Network {
    pub(super) fn new(rtt_ms: [u32; 2], seed: u64) -> Self {
        Self {
            under_way: BinaryHeap::new(),
            sent: 0,
            messages: 0,
            wakes: FxHashMap::default(),
            rtt_ms,
            rng: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    pub(super) fn up(&mut self, limit: Limit, message: ToGlobal, now: u32) {
        let at = now + self.one_way();
        self.messages += 1;
        self.push(at, Message::Up(limit, message));
    }

    pub(super) fn down(&mut self, limit: Limit, outgoing: Outgoing, now: u32) {
        let at = now + self.one_way();
        self.messages += 1;
        self.push(at, Message::Down(limit, outgoing));
    }

    /// Schedules a wake-up of a ledger at `next`, but at least a millisecond after `now`.
    pub(super) fn wake(&mut self, limit: Limit, site: u16, next: Timestamp, now: u32) {
        // Rounded up, because a millisecond earlier there would be nothing to do.
        let next = millis(next + std::time::Duration::from_nanos(999_999)).max(now + 1);
        let key = (limit, site);
        if self.wakes.get(&key).is_none_or(|known| next < *known || *known <= now) {
            self.wakes.insert(key, next);
            self.push(next, Message::Tick(limit, site));
        }
    }

    /// The number of messages sent between ledgers.
    pub(super) const fn messages(&self) -> u64 {
        self.messages
    }

    /// The time at which the next message arrives.
    pub(super) fn next(&self) -> Option<u32> {
        self.under_way.peek().map(|Reverse((at, ..))| *at)
    }

    /// Removes the next message that has arrived by `now`.
    pub(super) fn pop(&mut self, now: u32) -> Option<Message> {
        self.next().filter(|at| *at <= now)?;
        self.under_way.pop().map(|Reverse((.., message))| message)
    }

    fn push(&mut self, at: u32, message: Message) {
        self.sent += 1;
        self.under_way.push(Reverse((at, self.sent, message)));
    }

    fn one_way(&mut self) -> u32 {
        let [least, most] = self.rtt_ms;
        self.rng.random_range(least..=most) / 2
    }
}

impl Limit {
    pub(super) const fn index(self) -> usize {
        match self {
            Self::Active => 0,
            Self::New => 1,
        }
    }
}
