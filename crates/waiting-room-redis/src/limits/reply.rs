//! The replies of the script that charges limits.
//!
//! ```text
//!  now_us, then for each charge request:
//!    status        1 allowed, 0 refused, -1 not decided
//!    remaining, reset_us, retry_us or -1, delay_us
//!    two marks     the position in the state after the charge, for the receipt
//!    block         the units that were charged in addition
//! ```
//!
//! A correction has no numbers in the reply. If the node has hashed the keys with a different
//! secret than the other nodes, the reply contains only the correct secret, and the script has
//! changed nothing.

use std::time::Duration;

use redis::Value;
use waiting_room_core::{
    StoreError, Timestamp,
    rate::{Charge, ChargeReply, ChargeRequest, Decision},
};

use super::meter::ScriptMeter;
use crate::{clock::from_micros, reply::malformed};

/// A whole reply of the script.
pub(super) enum ScriptReply {
    /// The secret with which the keys of the group are hashed, sent because the node used another
    /// secret.
    OtherSecret(String),
    /// The time of the decision in microseconds, and the numbers for all charge requests.
    Numbers(u64, Vec<i64>),
}

/// The reply to one or more charges, with the times between which the script ran.
#[derive(Debug)]
pub(super) struct ChargeNumbers {
    /// The time of the decision on the server's clock, in microseconds since the Unix epoch.
    pub(super) now_us: u64,
    /// The time at which the script was sent, on this node's own clock.
    pub(super) sent: Timestamp,
    /// The time at which the reply arrived, on this node's own clock.
    pub(super) received: Timestamp,
    /// The numbers in the reply, [`PER_ASK`] for each charge request.
    pub(super) numbers: Vec<i64>,
}

/// The number of values in the reply to one charge request.
pub(super) const PER_ASK: usize = 8;

/// Decodes a reply of the script.
///
/// # Errors
///
/// Returns an error if the value is not an array, or if an element has an unexpected type.
pub(super) fn parse(value: Value) -> Result<ScriptReply, StoreError> {
    let Value::Array(values) = value else { return Err(unexpected(&value)) };
    match values.as_slice() {
        // A reply to a probe also has only one element, but that element is a number.
        [Value::BulkString(secret)] => {
            let secret = String::from_utf8_lossy(secret).into_owned();
            Ok(ScriptReply::OtherSecret(secret))
        }
        [now, said @ ..] => {
            let said = said.iter().map(integer).collect::<Result<_, _>>()?;
            Ok(ScriptReply::Numbers(positive(integer(now)?)?, said))
        }
        [] => Err(malformed("the reply is empty".to_owned())),
    }
}

/// The decoded reply to one charge request.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecodedReply {
    pub(super) reply: ChargeReply,
    /// The receipt for the block that was charged in addition, if a block was charged.
    pub(super) block: Option<Charge>,
}

/// Decodes the reply to one charge of several limits.
///
/// # Errors
///
/// Returns an error if numbers are missing, out of range, or contradict each other.
pub(super) fn decode_all(
    asks: &[ChargeRequest],
    said: &ChargeNumbers,
) -> Result<Vec<DecodedReply>, StoreError> {
    let each = asks.iter().zip(said.numbers.chunks(PER_ASK));
    let mut told = each
        .map(|(ask, numbers)| decode(ask, said.now_us, numbers))
        .collect::<Result<Vec<_>, _>>()?;
    // Either all limits are charged or none. If a hard limit has refused the request, the limits
    // that would have allowed it were not charged, and must not return receipts.
    let is_refused =
        |(ask, told): (&ChargeRequest, &DecodedReply)| !ask.is_soft && told.reply.charge.is_none();
    if asks.iter().zip(&told).any(is_refused) {
        told.iter_mut().for_each(|told| told.reply.charge = None);
    }
    Ok(told)
}

/// Decodes the reply to one charge request, for a decision at `now_us`.
fn decode(ask: &ChargeRequest, now_us: u64, said: &[i64]) -> Result<DecodedReply, StoreError> {
    let [status, remaining, reset_us, retry_us, delay_us, first, second, block] = *said else {
        return Err(malformed(format!("{} numbers for a charge", said.len())));
    };
    // A soft limit makes no decision if a hard limit has refused the request.
    if status < 0 {
        return Ok(DecodedReply { reply: ChargeReply::default(), block: None });
    }
    let micros = |us| positive(us).map(Duration::from_micros);
    let retry_after = if retry_us < 0 { None } else { Some(micros(retry_us)?) };
    let limit = ask.quota().capacity();
    let decision = Decision::new(limit, positive(remaining)?, micros(reset_us)?, retry_after)
        .with_delay(micros(delay_us)?);
    if decision.allowed != (status == 1) {
        return Err(malformed(format!("status {status} contradicts {decision:?}")));
    }
    let block = positive(block)?;
    let cost = ask.cost.saturating_add(block);
    let mark = match cost {
        0 => 0,
        _ => ScriptMeter::of(&ask.policy, ask.tier).mark(positive(first)?, positive(second)?),
    };
    let all = Charge::new(cost, from_micros(now_us), mark);
    // One charge covered both the request and the block. The request gets the lower units, and the
    // block gets the higher units, with the mark of the whole charge.
    let (own, block) = match block {
        0 => (all, None),
        _ => (ask.settled(&all, ask.cost), Some(Charge::new(block, all.at, mark))),
    };
    Ok(DecodedReply { reply: ChargeReply::new(decision, decision.allowed.then_some(own)), block })
}

fn integer(value: &Value) -> Result<i64, StoreError> {
    if let Value::Int(number) = value { Ok(*number) } else { Err(unexpected(value)) }
}

/// Checks that a number is not negative.
fn positive(number: i64) -> Result<u64, StoreError> {
    u64::try_from(number).map_err(|_| malformed(format!("{number} is out of range")))
}

fn unexpected(value: &Value) -> StoreError {
    malformed(format!("{value:?} is unexpected"))
}
