//! The replies of the scripts, decoded from the values of the protocol.
//!
//! ```text
//!  [ [now, since, version, present, per_second, dispersion, losses],   the head
//!    [ [ … ], [ … ], … ] ]                                             the fields, per visitor
//!  []                                                                  there is no room
//! ```
//!
//! Lua numbers become integers of the protocol and lose their fraction on the way, so the two
//! floats of the head are strings.

use redis::Value;
use waiting_room_core::{StoreError, Timestamp, error::StoreErrorKind};

use crate::clock::from_micros;

/// The first part of every reply: the state of the room after the script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// The instant at which the script ran, in the time of the room.
    pub(crate) now: Timestamp,
    /// The start of the room's memory: passes issued earlier may be unknown to it.
    pub(crate) since: Timestamp,
    /// The version of the rules in force.
    pub(crate) version: u64,
    /// The number of visitors in the line who are present.
    pub(crate) present: u32,
    /// Admissions per second over the last three minutes; the configured rate until 30 s have been
    /// measured.
    pub(crate) per_second: f64,
    /// The variance of the admissions in equal times over their mean; at least 1.
    pub(crate) dispersion: f64,
    /// How often the room has lost keys since it was opened.
    pub(crate) losses: u64,
}

/// The values of one part of a reply, read from front to back.
///
/// Each method takes the next value. It returns an error if there is none, or if the value has
/// another type.
#[derive(Debug)]
pub(crate) struct ReplyFields(std::vec::IntoIter<Value>);

impl ReplyFields {
    /// Reads the elements of an array.
    pub(crate) fn of(value: Value) -> Result<Self, StoreError> {
        match value {
            Value::Array(values) => Ok(Self(values.into_iter())),
            other => Err(unexpected(&other)),
        }
    }

    pub(crate) fn next(&mut self) -> Result<Value, StoreError> {
        self.0.next().ok_or_else(|| unexpected(&Value::Nil))
    }

    /// Takes a string, which need not be UTF-8.
    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>, StoreError> {
        match self.next()? {
            Value::BulkString(bytes) => Ok(bytes),
            Value::SimpleString(text) => Ok(text.into_bytes()),
            other => Err(unexpected(&other)),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, StoreError> {
        String::from_utf8(self.bytes()?).map_err(|error| malformed(error.to_string()))
    }

    pub(crate) fn signed(&mut self) -> Result<i64, StoreError> {
        match self.next()? {
            Value::Int(number) => Ok(number),
            other => Err(unexpected(&other)),
        }
    }

    /// Takes a number that fits into `T`, such as a count, which must not be negative.
    pub(crate) fn number<T: TryFrom<i64>>(&mut self) -> Result<T, StoreError> {
        let number = self.signed()?;
        T::try_from(number).map_err(|_| malformed(format!("{number} is out of range")))
    }

    /// Takes a time in microseconds since the Unix epoch.
    pub(crate) fn time(&mut self) -> Result<Timestamp, StoreError> {
        self.number().map(from_micros)
    }

    /// Takes an array of times.
    pub(crate) fn times(&mut self) -> Result<Vec<Timestamp>, StoreError> {
        let mut times = Self::of(self.next()?)?;
        (0..times.0.len()).map(|_| times.time()).collect()
    }

    /// Takes a number that a script has written as a string, to keep its fraction.
    fn float(&mut self) -> Result<f64, StoreError> {
        let text = self.text()?;
        text.parse().map_err(|_| malformed(format!("{text:?} is not a number")))
    }
}

/// Decodes a whole reply into its head and the fields for each visitor; `None` if there is no room.
pub(crate) fn parse(value: Value) -> Result<Option<(Head, Vec<ReplyFields>)>, StoreError> {
    let mut reply = ReplyFields::of(value)?;
    if reply.0.len() == 0 {
        return Ok(None);
    }
    let mut head = ReplyFields::of(reply.next()?)?;
    let head = Head {
        now: head.time()?,
        since: head.time()?,
        version: head.number()?,
        present: head.number()?,
        per_second: head.float()?,
        dispersion: head.float()?,
        losses: head.number()?,
    };
    let each = ReplyFields::of(reply.next()?)?.0.map(ReplyFields::of).collect::<Result<_, _>>()?;
    Ok(Some((head, each)))
}

/// Decodes a glance: the copy of a snapshot's reply that `snapshot.lua` leaves in the room for
/// nodes that need one within the next second.
///
/// A glance is a line of numbers, separated by spaces. The result has the layout of the reply of
/// `snapshot`, so that both are read by the same code.
///
/// # Errors
///
/// The text has too few numbers, or something else in the place of one.
pub(crate) fn revive(glance: &str) -> Result<(Head, ReplyFields), StoreError> {
    let unreadable = || malformed(format!("{glance:?} is not a glance"));
    let mut values = glance.split(' ').enumerate().map(|(index, text)| match index {
        FIRST_FLOAT..=LAST_FLOAT => Some(Value::BulkString(text.into())),
        _ => text.parse().ok().map(Value::Int),
    });
    let mut take = |count| values.by_ref().take(count).collect::<Option<Vec<_>>>();
    let head = take(HEAD).ok_or_else(unreadable)?;
    let mut said = take(NUMBERS).ok_or_else(unreadable)?;
    said.push(Value::BulkString(Vec::new()));
    said.extend(take(1).ok_or_else(unreadable)?);
    said.push(Value::Array(take(usize::MAX).ok_or_else(unreadable)?));
    // A glance leaves out the last two values: whether there is more to sweep, which is the task of
    // the node that ran the snapshot, and the number of first tickets, which the watch ignores.
    said.extend([Value::Int(0), Value::Int(0)]);
    let reply = [Value::Array(head), Value::Array(vec![Value::Array(said)])];
    let parsed = parse(Value::Array(reply.into()))?;
    parsed.and_then(|(head, each)| Some((head, each.into_iter().next()?))).ok_or_else(unreadable)
}

/// The number of values in a head.
const HEAD: usize = 7;
/// The first and the last value of a head that are floats.
const FIRST_FLOAT: usize = 4;
const LAST_FLOAT: usize = 5;
/// The number of values in the reply of a snapshot that precede its rules.
const NUMBERS: usize = 4;

/// Returns the error for a reply that cannot be decoded; `what` names the unexpected part.
pub(crate) fn malformed(what: String) -> StoreError {
    let what = format!("cannot decode the reply of a script: {what}");
    StoreError::new(StoreErrorKind::Unavailable).with_source(what)
}

fn unexpected(value: &Value) -> StoreError {
    malformed(format!("{value:?} is not expected"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glance_says_what_the_snapshot_said_that_has_left_it() {
        let glance = "1700000000000000 1 9 3 0.5 1.25 2 40 7 3 1690000000000000 5 10 20 30";
        let (head, mut said) = revive(glance).unwrap();
        assert_eq!(head.now, from_micros(1_700_000_000_000_000));
        assert_eq!((head.version, head.present, head.losses), (9, 3, 2));
        assert!(head.per_second > 0.49 && head.dispersion > 1.24);
        let numbers: [u32; 3] = [(); 3].map(|()| said.number().unwrap());
        assert_eq!(numbers, [40, 7, 3]);
        assert_eq!(said.signed().unwrap(), 1_690_000_000_000_000);
        assert!(said.bytes().unwrap().is_empty());
        assert_eq!(said.signed().unwrap(), 5);
        assert_eq!(said.times().unwrap(), [10, 20, 30].map(from_micros));
        assert_eq!(said.signed().unwrap(), 0);
    }

    #[test]
    fn a_glance_that_cannot_be_read_is_an_error() {
        for glance in ["", "1 2", "a b c d e f g h i j k l", "1 1 9 3 x 1 2 40 7 3 1 5"] {
            assert!(revive(glance).is_err(), "{glance}");
        }
    }
}
