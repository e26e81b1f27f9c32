//! Decodes the replies of the scripts from the values of the Redis protocol.
//!
//! ```text
//!  [ [now, since, version, present, per_second, dispersion, losses],   the head
//!    [ [ … ], [ … ], … ] ]                                             the fields, per visitor
//!  []                                                                  there is no room
//! ```
//!
//! The protocol converts Lua numbers to integers, which truncates fractions, so the two floats in
//! the head are strings.

use redis::Value;
use waiting_room_core::{StoreError, Timestamp, error::StoreErrorKind};

use crate::clock::from_micros;

/// The head of every reply, which describes the room after the script has run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// The instant at which the script ran, on the clock of the room.
    pub(crate) now: Timestamp,
    /// The time at which the room's memory begins. The room may not know about passes that were
    /// issued earlier.
    pub(crate) since: Timestamp,
    /// The version of the current rules.
    pub(crate) version: u64,
    /// The number of present visitors in the line.
    pub(crate) present: u32,
    /// The number of admissions per second over the last three minutes, or the configured rate
    /// until 30 s have been measured.
    pub(crate) per_second: f64,
    /// The variance of the number of admissions in equal spans of time, divided by the mean of that
    /// number. The quotient is at least 1.
    pub(crate) dispersion: f64,
    /// The number of times that the room has lost keys since it was opened.
    pub(crate) losses: u64,
}

/// The values of one part of a reply, which are read from front to back.
///
/// Each method takes the next value, and returns an error if there is no value left, or if the
/// value does not have the expected type.
#[derive(Debug)]
pub(crate) struct ReplyFields(std::vec::IntoIter<Value>);

impl ReplyFields {
    /// Reads the elements of an array.
    pub(crate) fn of(value: Value) -> Result<Self, StoreError> {
        if let Value::Array(values) = value {
            Ok(Self(values.into_iter()))
        } else {
            Err(unexpected(&value))
        }
    }

    /// Returns whether no value is left.
    #[cfg(feature = "sites")]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    pub(crate) fn next(&mut self) -> Result<Value, StoreError> {
        self.0.next().ok_or_else(|| unexpected(&Value::Nil))
    }

    /// Takes the next value, or returns `None` at the end.
    pub(crate) fn next_if_any(&mut self) -> Option<Value> {
        self.0.next()
    }

    /// Takes a string, which need not be UTF-8.
    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>, StoreError> {
        let value = self.next()?;
        if let Value::BulkString(bytes) = value {
            Ok(bytes)
        } else if let Value::SimpleString(text) = value {
            Ok(text.into_bytes())
        } else {
            Err(unexpected(&value))
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, StoreError> {
        String::from_utf8(self.bytes()?).map_err(|error| malformed(error.to_string()))
    }

    /// Takes 1 or 0.
    #[cfg(feature = "sites")]
    pub(crate) fn flag(&mut self) -> Result<bool, StoreError> {
        Ok(self.signed()? == 1)
    }

    pub(crate) fn signed(&mut self) -> Result<i64, StoreError> {
        let value = self.next()?;
        if let Value::Int(number) = value { Ok(number) } else { Err(unexpected(&value)) }
    }

    /// Takes a number that fits into `T`. A count, for example, must not be negative.
    pub(crate) fn number<T: TryFrom<i64>>(&mut self) -> Result<T, StoreError> {
        let number = self.signed()?;
        T::try_from(number).map_err(|_| malformed(format!("{number} is out of range")))
    }

    /// Takes a number that fits into `T`, or returns `None` at the end.
    pub(crate) fn next_number_if_any<T: TryFrom<i64>>(&mut self) -> Result<Option<T>, StoreError> {
        match self.0.len() {
            0 => Ok(None),
            _ => self.number().map(Some),
        }
    }

    /// Takes an array of values.
    pub(crate) fn fields(&mut self) -> Result<Self, StoreError> {
        Self::of(self.next()?)
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

    /// Takes a number that a script has written as a string to preserve its fraction.
    fn float(&mut self) -> Result<f64, StoreError> {
        let text = self.text()?;
        text.parse().map_err(|_| malformed(format!("{text:?} is not a number")))
    }
}

/// Decodes a whole reply into its head and the fields for each visitor. Returns `None` if there is
/// no room.
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

/// Decodes a glance: a copy of the reply of `snapshot.lua`. The script leaves this copy in the
/// room, for nodes that poll within the next second.
///
/// A glance is a line of numbers, separated by spaces. The result has the same layout as the reply
/// of `snapshot`, so that the same code can read glances and replies.
///
/// # Errors
///
/// Returns an error if `glance` has too few numbers, or a value that is not a number.
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
    // A glance omits the last values of a reply. The first says whether more entries have to be
    // swept, which is the task of the node that ran the snapshot. The next two are the numbers of
    // first tickets and of abandoned places, which the watch task ignores. The schedule and the
    // draw belong to the rules, and the last values are the entrants of the draw so far, and what one
    // network holds.
    said.extend([Value::Int(0), Value::Int(0), Value::Int(0)]);
    said.extend([Value::BulkString(Vec::new()), Value::Array(Vec::new())]);
    said.extend([Value::Int(0), Value::Int(0), Value::Int(0), Value::Int(0)]);
    let reply = [Value::Array(head), Value::Array(vec![Value::Array(said)])];
    let parsed = parse(Value::Array(reply.into()))?;
    parsed.and_then(|(head, each)| Some((head, each.into_iter().next()?))).ok_or_else(unreadable)
}

/// The number of values in a head.
const HEAD: usize = 7;
/// The indices of the first and the last float in a head.
const FIRST_FLOAT: usize = 4;
const LAST_FLOAT: usize = 5;
/// The number of values in the reply of a snapshot that precede its rules.
const NUMBERS: usize = 4;

/// Returns the error for a reply that cannot be decoded. `what` describes the unexpected part.
pub(crate) fn malformed(what: String) -> StoreError {
    let what = format!("cannot decode the reply of a script: {what}");
    StoreError::new(StoreErrorKind::Unavailable).with_source(what)
}

fn unexpected(value: &Value) -> StoreError {
    malformed(format!("{value:?} is unexpected"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glance_restores_the_numbers_of_its_snapshot() {
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
