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
    };
    let each = Fields::of(reply.next()?)?.0.map(Fields::of).collect::<Result<_, _>>()?;
    Ok(Some((head, each)))
}

pub(crate) fn malformed(what: String) -> StoreError {
    let what = format!("the reply of a script is not understood: {what}");
    StoreError::new(StoreErrorKind::Unavailable).with_source(what)
}

fn unexpected(value: &Value) -> StoreError {
    malformed(format!("{value:?} is not expected"))
}
