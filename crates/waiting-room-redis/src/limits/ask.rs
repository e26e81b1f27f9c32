//! The keys and arguments of calls to the script that charges limits.
//!
//! In this module, an `ask` is one charge request ([`ChargeRequest`]): one limit, for one client
//! key.
//!
//! ```text
//!  charge   1, the number of charge requests, then each request
//!  settle   2, a charge request with the corrected cost, the charged cost, the two marks
//!  request  meter, limit, period, per_us, highest, version, cost, is_soft, largest block
//! ```
//!
//! Each charge request has one key, `{prefix:group}:limits:<limit>:<kind>:<hash>`. A client key is
//! only ever stored as its hash. Every charge request contains its quota, so the server needs no
//! configuration, and a limit whose quota changes keeps the state of its clients.

use std::iter;

use waiting_room_core::rate::{Charge, ChargeRequest};

use super::{
    block::Unspent,
    meter::{ScriptMeter, whole},
};

/// One or more calls of a node, encoded for the script.
///
/// The calls of different requests are independent, and the script processes any number of requests
/// in sequence.
#[derive(Debug, Default)]
pub(super) struct Request {
    /// The keys on the server, one for each charge request.
    pub(super) keys: Vec<String>,
    pub(super) arguments: Vec<i64>,
}

impl Request {
    /// Encodes a charge against either all of the given limits or none of them.
    ///
    /// For each charge request, `blocks` contains the size of the largest block that the script may
    /// charge in addition. A charge request without a size gets no block.
    pub(super) fn charge_all(group: &str, asks: &[ChargeRequest], blocks: &[u64]) -> Self {
        let mut request = Self::default();
        request.arguments.extend([CHARGE, whole(asks.len() as u64)]);
        let blocks = blocks.iter().copied().chain(iter::repeat(0));
        for (ask, block) in asks.iter().zip(blocks) {
            // A cost above the limit is always refused, so its exact value does not matter. The
            // cost is capped here, so that Lua can represent it exactly.
            let most = ask.quota().capacity().saturating_add(1);
            request.ask(group, ask, ask.cost.min(most), block);
        }
        request
    }

    /// Encodes the correction of a charge to the given cost.
    pub(super) fn settle(group: &str, ask: &ChargeRequest, charge: &Charge, cost: u64) -> Self {
        let mut request = Self::default();
        request.correct(group, ask, charge, cost);
        request
    }

    /// Encodes the return of units that were charged but not spent.
    pub(super) fn give_back(group: &str, unspent: &[Unspent]) -> Self {
        let mut request = Self::default();
        unspent.iter().for_each(|unspent| request.correct(group, &unspent.ask, &unspent.charge, 0));
        request
    }

    /// Appends the correction of one charge.
    ///
    /// The marks identify the position of the charge in the key's state. With the marks, the script
    /// returns only those units that the passage of time has not already restored.
    fn correct(&mut self, group: &str, ask: &ChargeRequest, charge: &Charge, cost: u64) {
        self.arguments.push(SETTLE);
        self.ask(group, ask, cost, 0);
        let meter = ScriptMeter::of(&ask.policy, ask.tier);
        let (first, second) = meter.marks(charge.mark);
        self.arguments.extend([whole(charge.cost), first, second]);
    }

    /// Appends one charge request and its key. The order of the arguments is that of `read_ask` in
    /// `lua/charge.lua`.
    fn ask(&mut self, group: &str, ask: &ChargeRequest, cost: u64, block: u64) {
        let meter = ScriptMeter::of(&ask.policy, ask.tier);
        let name = ask.policy.name();
        let key = ask.key;
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

/// The first argument of a charge.
const CHARGE: i64 = 1;
/// The first argument of a correction.
const SETTLE: i64 = 2;
