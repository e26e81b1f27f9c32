//! What is asked of limits, as the script reads it.

use std::iter;

use waiting_room_core::{Charge, ChargeRequest};

use super::{
    block::Unspent,
    meter::{Meter, whole},
};

/// The keys and the arguments of one request, for the script.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) keys: Vec<String>,
    pub(super) arguments: Vec<i64>,
}

impl Request {
    /// Asks all of these, and for blocks that are no larger than this; for none where nothing is
    /// said of them.
    pub(super) fn charge_all(group: &str, asks: &[ChargeRequest], blocks: &[u64]) -> Self {
        let mut request = Self::default();
        request.arguments.extend([CHARGE, whole(asks.len() as u64)]);
        let blocks = blocks.iter().copied().chain(iter::repeat(0));
        for (ask, block) in asks.iter().zip(blocks) {
            // What is more than the limit is refused, however much more it is.
            let most = ask.quota().capacity().saturating_add(1);
            request.ask(group, ask, ask.cost.min(most), block);
        }
        request
    }

    /// Corrects a charge to this cost.
    pub(super) fn settle(group: &str, ask: &ChargeRequest, charge: &Charge, cost: u64) -> Self {
        let mut request = Self::default();
        request.correct(group, ask, charge, cost);
        request
    }

    /// Gives back what was charged and not spent.
    pub(super) fn give_back(group: &str, unspent: &[Unspent]) -> Self {
        let mut request = Self::default();
        unspent.iter().for_each(|it| request.correct(group, &it.ask, &it.charge, 0));
        request
    }

    fn correct(&mut self, group: &str, ask: &ChargeRequest, charge: &Charge, cost: u64) {
        self.arguments.push(SETTLE);
        self.ask(group, ask, cost, 0);
        let meter = Meter::of(&ask.policy, ask.tier);
        let (first, second) = meter.marks(charge.mark);
        self.arguments.extend([whole(charge.cost), first, second]);
    }

    fn ask(&mut self, group: &str, ask: &ChargeRequest, cost: u64, block: u64) {
        let meter = Meter::of(&ask.policy, ask.tier);
        let (name, key) = (ask.policy.name(), ask.key);
        self.keys.push(format!("{group}:{name}:{}:{key:?}", meter.kind(&ask.policy, ask.tier)));
        self.arguments.extend([
            meter.code,
            whole(ask.quota().capacity()),
            whole(meter.period),
            whole(meter.per_us),
            whole(meter.highest),
            whole(meter.version),
            whole(cost),
            i64::from(ask.is_soft),
            whole(block),
        ]);
    }
}

const CHARGE: i64 = 1;
const SETTLE: i64 = 2;
