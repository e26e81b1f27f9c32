//! What the scripts say.

use redis::Value;
use waiting_room_core::{StoreError, StoreErrorKind, Timestamp};

use crate::clock::from_micros;

/// What every reply begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// When it was decided.
    pub(crate) now: Timestamp,
    /// Since when the server remembers passes.
    pub(crate) since: Timestamp,
    /// The version of the rules in force.
    pub(crate) version: u64,
    /// How many visitors of the line are present.
    pub(crate) present: u32,
    /// Admissions per second.
    pub(crate) per_second: f64,
    /// Their variance over their mean.
    pub(crate) dispersion: f64,
    /// How often the room has missed keys.
    pub(crate) losses: u64,
}

/// The values of one part of a reply, one after the other.
#[derive(Debug)]
pub(crate) struct Fields(std::vec::IntoIter<Value>);

impl Fields {
    /// The elements of an array.
    pub(crate) fn of(value: Value) -> Result<Self, StoreError> {
        match value {
            Value::Array(values) => Ok(Self(values.into_iter())),
            other => Err(unexpected(&other)),
        }
    }

    pub(crate) fn next(&mut self) -> Result<Value, StoreError> {
        self.0.next().ok_or_else(|| unexpected(&Value::Nil))
    }

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

    /// A count, or another number that is not negative.
    pub(crate) fn number<T: TryFrom<i64>>(&mut self) -> Result<T, StoreError> {
        let number = self.signed()?;
        T::try_from(number).map_err(|_| malformed(format!("{number} is out of range")))
    }

    pub(crate) fn time(&mut self) -> Result<Timestamp, StoreError> {
        self.number().map(from_micros)
    }

    /// An array of times.
    pub(crate) fn times(&mut self) -> Result<Vec<Timestamp>, StoreError> {
        let mut times = Self::of(self.next()?)?;
        (0..times.0.len()).map(|_| times.time()).collect()
    }

    fn float(&mut self) -> Result<f64, StoreError> {
        let text = self.text()?;
        text.parse().map_err(|_| malformed(format!("{text:?} is no number")))
    }
}

/// A whole reply: its head, and what is said to each; `None` if there is no room.
pub(crate) fn parse(value: Value) -> Result<Option<(Head, Vec<Fields>)>, StoreError> {
    let mut reply = Fields::of(value)?;
    if reply.0.len() == 0 {
        return Ok(None);
    }
    let mut head = Fields::of(reply.next()?)?;
    let head = Head {
        now: head.time()?,
        since: head.time()?,
        version: head.number()?,
        present: head.number()?,
        per_second: head.float()?,
        dispersion: head.float()?,
        losses: head.number()?,
    };
    let each = Fields::of(reply.next()?)?.0.map(Fields::of).collect::<Result<_, _>>()?;
    Ok(Some((head, each)))
}

/// What a snapshot has left for the nodes that look soon after it, as the reply that it was itself.
pub(crate) fn revive(glance: &str) -> Result<(Head, Fields), StoreError> {
    let unreadable = || malformed(format!("{glance:?} is no glance"));
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
    // What is swept and who came first is for those who ask for a snapshot.
    said.extend([Value::Int(0), Value::Int(0)]);
    let reply = [Value::Array(head), Value::Array(vec![Value::Array(said)])];
    let parsed = parse(Value::Array(reply.into()))?;
    parsed.and_then(|(head, each)| Some((head, each.into_iter().next()?))).ok_or_else(unreadable)
}

/// What a head has, and where two numbers of it stand that are not whole.
const HEAD: usize = 7;
const FIRST_FLOAT: usize = 4;
const LAST_FLOAT: usize = 5;
/// How many numbers of a snapshot stand before its rules.
const NUMBERS: usize = 4;

pub(crate) fn malformed(what: String) -> StoreError {
    let what = format!("the reply of a script is not understood: {what}");
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
