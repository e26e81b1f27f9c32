//! What the script says, as replies and as what a node learns from it.

use std::time::Duration;

use redis::Value;
use waiting_room_core::{Charge, ChargeReply, ChargeRequest, Decision, StoreError, Timestamp};

use super::meter::Meter;
use crate::{clock::from_micros, reply::malformed};

/// A whole reply of the script.
pub(super) enum Reply {
    /// The keys of this group are hashed with another secret.
    OtherSecret(String),
    /// When it was decided, and the numbers of each ask.
    Said(u64, Vec<i64>),
}

/// What was said to some requests, one after the other.
#[derive(Debug)]
pub(super) struct Said {
    /// By the clock of the server.
    pub(super) now_us: u64,
    /// By that of this node, when it was asked and when it was answered.
    pub(super) sent: Timestamp,
    pub(super) received: Timestamp,
    pub(super) numbers: Vec<i64>,
}

/// So many numbers are said to an ask.
pub(super) const PER_ASK: usize = 8;

/// Reads a reply.
pub(super) fn parse(value: Value) -> Result<Reply, StoreError> {
    let Value::Array(values) = value else { return Err(unexpected(&value)) };
    match values.as_slice() {
        [Value::BulkString(secret)] => {
            let secret = String::from_utf8_lossy(secret).into_owned();
            Ok(Reply::OtherSecret(secret))
        }
        [now, said @ ..] => {
            let said = said.iter().map(integer).collect::<Result<_, _>>()?;
            Ok(Reply::Said(positive(integer(now)?)?, said))
        }
        [] => Err(malformed("nothing is said".to_owned())),
    }
}

/// What was said to one ask.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) reply: ChargeReply,
    /// The receipt for a block that was charged besides.
    pub(super) block: Option<Charge>,
}

/// What was said to these asks.
pub(super) fn decode_all(asks: &[ChargeRequest], said: &Said) -> Result<Vec<Told>, StoreError> {
    let each = asks.iter().zip(said.numbers.chunks(PER_ASK));
    let mut told = each
        .map(|(ask, numbers)| decode(ask, said.now_us, numbers))
        .collect::<Result<Vec<_>, _>>()?;
    let is_refused =
        |(ask, told): (&ChargeRequest, &Told)| !ask.is_soft && told.reply.charge.is_none();
    if asks.iter().zip(&told).any(is_refused) {
        told.iter_mut().for_each(|told| told.reply.charge = None);
    }
    Ok(told)
}

/// What was said to one ask at this time.
fn decode(ask: &ChargeRequest, now_us: u64, said: &[i64]) -> Result<Told, StoreError> {
    let [status, remaining, reset_us, retry_us, delay_us, first, second, block] = *said else {
        return Err(malformed(format!("{} numbers for an ask", said.len())));
    };
    if status < 0 {
        return Ok(Told { reply: ChargeReply::default(), block: None });
    }
    let micros = |us| positive(us).map(Duration::from_micros);
    let retry_after = if retry_us < 0 { None } else { Some(micros(retry_us)?) };
    let limit = ask.quota().capacity();
    let decision = Decision::new(limit, positive(remaining)?, micros(reset_us)?, retry_after)
        .with_delay(micros(delay_us)?);
    if decision.allowed != (status == 1) {
        return Err(malformed(format!("status {status} with {decision:?}")));
    }
    let block = positive(block)?;
    let cost = ask.cost.saturating_add(block);
    let mark = match cost {
        0 => 0,
        _ => Meter::of(&ask.policy, ask.tier).mark(positive(first)?, positive(second)?),
    };
    let all = Charge::new(cost, from_micros(now_us), mark);
    // The request has spent first, and the block stands upon it.
    let (own, block) = match block {
        0 => (all, None),
        _ => (ask.settled(&all, ask.cost), Some(Charge::new(block, all.at, mark))),
    };
    Ok(Told { reply: ChargeReply::new(decision, decision.allowed.then_some(own)), block })
}

fn integer(value: &Value) -> Result<i64, StoreError> {
    match value {
        Value::Int(number) => Ok(*number),
        other => Err(unexpected(other)),
    }
}

fn positive(number: i64) -> Result<u64, StoreError> {
    u64::try_from(number).map_err(|_| malformed(format!("{number} is out of range")))
}

fn unexpected(value: &Value) -> StoreError {
    malformed(format!("{value:?} is not expected"))
}
