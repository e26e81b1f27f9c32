//! An operator's link, which carries one order to the holder of a room.

use std::{error::Error, fmt, io, time::Duration};

use crate::{
    holder::Order,
    link::dial::{Dial, open},
    wire::{FrameError, Purpose, SharedKeys, write_order},
};

/// The time in which a ledger has to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// The maximum length of an answer in bytes: the status of 65 536 sites.
const MAX_ANSWER_LEN: usize = 8 * 1024 * 1024;

/// Gives orders to the holder of a room, at any of several addresses.
#[derive(Clone, Debug)]
pub struct OperatorLink<D> {
    dial: D,
    addresses: Vec<String>,
    room: String,
    keys: SharedKeys,
}

/// The reason why an order has no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum OperatorError {
    /// The holder has refused the order, with this sentence.
    Refused(String),
    /// No address has answered as the holder. The last error of each address is listed.
    Unreachable(Vec<(String, io::Error)>),
}

impl<D: Dial> OperatorLink<D> {
    /// Creates a link to the ledgers at these addresses, with the keys of operators.
    #[must_use]
    pub fn new(
        dial: D,
        addresses: impl IntoIterator<Item = String>,
        room: impl Into<String>,
        keys: SharedKeys,
    ) -> Self {
        Self { dial, addresses: addresses.into_iter().collect(), room: room.into(), keys }
    }

    /// Gives an order, and returns its result as text. The addresses are tried one after the other;
    /// each ledger has 10 s for its greeting, and 10 s for its answer.
    ///
    /// # Errors
    ///
    /// Returns the sentence of the holder, or the errors of all addresses if none is the holder.
    ///
    /// # Cancel safety
    ///
    /// The order may be carried out even if the future is dropped.
    pub async fn order(&self, order: Order) -> Result<String, OperatorError> {
        let mut errors = Vec::new();
        for address in &self.addresses {
            match self.order_at(address, order).await {
                Ok(result) => return result.map_err(OperatorError::Refused),
                Err(error) => errors.push((address.clone(), error)),
            }
        }
        Err(OperatorError::Unreachable(errors))
    }

    async fn order_at(&self, address: &str, order: Order) -> io::Result<Result<String, String>> {
        let dial = &self.dial;
        let room = &self.room;
        let purpose = Purpose::Operator;
        let mut stream = open(dial, address, room, purpose, &self.keys, ANSWER_WITHIN).await?;
        let text = write_order(order);
        stream.writer.write(&mut stream.sealer, text.as_bytes()).await?;
        let answer = tokio::time::timeout(ANSWER_WITHIN, async {
            let mut answer = Vec::new();
            loop {
                let chunk = stream.reader.next(&mut stream.opener).await?;
                if chunk.is_empty() {
                    return Ok(answer);
                }
                let given = answer.len() + chunk.len();
                if given > MAX_ANSWER_LEN {
                    return Err(FrameError::TooLong { given, most: MAX_ANSWER_LEN });
                }
                answer.extend_from_slice(&chunk);
            }
        });
        let answer = answer.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        let text = String::from_utf8_lossy(answer.get(1..).unwrap_or_default()).into_owned();
        match answer.first() {
            Some(b'+') => Ok(Ok(text)),
            Some(b'-') => Ok(Err(text)),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is malformed")),
        }
    }
}

impl fmt::Display for OperatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(sentence) => f.write_str(sentence),
            Self::Unreachable(errors) => {
                f.write_str("none of the addresses leads to the holder")?;
                errors.iter().try_for_each(|(address, error)| write!(f, "; {address}: {error}"))
            }
        }
    }
}

impl Error for OperatorError {}
