//! Writes the parts of an encoded message, and reads them without trusting the sender.

use std::{error::Error, fmt, time::Duration};

use waiting_room_core::Timestamp;

/// The reason why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireError {
    /// The message is followed by more bytes.
    Longer,
    /// The message ends too early.
    Shorter,
    /// A value is impossible, or not encoded in the shortest form.
    Value {
        /// The name of the value.
        field: &'static str,
    },
    /// The sender uses another version of the encoding.
    Version {
        /// The version of the sender.
        given: u8,
        /// The version of this crate.
        expected: u8,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Longer => f.write_str("the message is followed by more bytes"),
            Self::Shorter => f.write_str("the message ends too early"),
            Self::Value { field } => write!(f, "{field} is not a valid value"),
            Self::Version { given, expected } => {
                write!(f, "the version of the message is {given}, expected {expected}")
            }
        }
    }
}

impl Error for WireError {}

/// A message that is being written.
#[derive(Debug, Default)]
pub(in crate::escrow) struct Writer(Vec<u8>);

impl Writer {
    pub(in crate::escrow) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(in crate::escrow) fn byte(&mut self, byte: u8) -> &mut Self {
        self.0.push(byte);
        self
    }

    /// Writes a count with seven bits in each byte, the least significant bits first.
    pub(in crate::escrow) fn count(&mut self, mut count: u64) -> &mut Self {
        while count >= 0x80 {
            // The value is below 0x80 after the mask.
            let low = u8::try_from(count & 0x7f).unwrap_or(0);
            self.0.push(low | 0x80);
            count >>= 7;
        }
        self.byte(u8::try_from(count).unwrap_or(0))
    }

    pub(in crate::escrow) fn bits(&mut self, bits: u64) -> &mut Self {
        self.0.extend(bits.to_be_bytes());
        self
    }

    pub(in crate::escrow) fn wide_bits(&mut self, bits: u128) -> &mut Self {
        self.0.extend(bits.to_be_bytes());
        self
    }

    pub(in crate::escrow) fn time(&mut self, time: Timestamp) -> &mut Self {
        self.bits(time.as_nanos())
    }

    pub(in crate::escrow) fn duration(&mut self, duration: Duration) -> &mut Self {
        self.bits(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }

    pub(in crate::escrow) fn flag(&mut self, flag: bool) -> &mut Self {
        self.byte(flag.into())
    }

    pub(in crate::escrow) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// The rest of a message that is being read.
#[derive(Debug)]
pub(in crate::escrow) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(in crate::escrow) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(in crate::escrow) fn byte(&mut self) -> Result<u8, WireError> {
        let (&byte, rest) = self.0.split_first().ok_or(WireError::Shorter)?;
        self.0 = rest;
        Ok(byte)
    }

    /// A count of at most `most`.
    pub(in crate::escrow) fn count(
        &mut self,
        field: &'static str,
        most: u64,
    ) -> Result<u64, WireError> {
        let invalid = WireError::Value { field };
        let mut count = 0_u64;
        for place in 0..MAX_VARINT_LEN {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            let shifted = bits << (7 * place);
            if shifted >> (7 * place) != bits {
                return Err(invalid);
            }
            count |= shifted;
            if byte < 0x80 {
                // Only the encoding of zero ends with a zero.
                let is_shortest = byte != 0 || place == 0;
                return if is_shortest && count <= most { Ok(count) } else { Err(invalid) };
            }
        }
        Err(invalid)
    }

    pub(in crate::escrow) fn bits(&mut self) -> Result<u64, WireError> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    pub(in crate::escrow) fn wide_bits(&mut self) -> Result<u128, WireError> {
        Ok(u128::from_be_bytes(self.array()?))
    }

    pub(in crate::escrow) fn time(&mut self) -> Result<Timestamp, WireError> {
        Ok(Timestamp::from_nanos(self.bits()?))
    }

    pub(in crate::escrow) fn duration(&mut self) -> Result<Duration, WireError> {
        Ok(Duration::from_nanos(self.bits()?))
    }

    pub(in crate::escrow) fn flag(&mut self, field: &'static str) -> Result<bool, WireError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(WireError::Value { field }),
        }
    }

    /// The end of the message.
    pub(in crate::escrow) const fn end(&self) -> Result<(), WireError> {
        if self.0.is_empty() { Ok(()) } else { Err(WireError::Longer) }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (&array, rest) = self.0.split_first_chunk().ok_or(WireError::Shorter)?;
        self.0 = rest;
        Ok(array)
    }
}

/// The maximum length of a count in bytes.
const MAX_VARINT_LEN: u32 = 10;
