//! The commitment to the seed of a draw, the number of an entrant, and 256-bit values in hexadecimal.

use std::{fmt, str::FromStr};

use crate::{ConfigError, error::ConfigErrorKind};

/// A SHA-256 digest that binds an operator to the seed of a draw.
///
/// The commitment is published before the prequeue. It does not reveal the seed, but no other seed
/// has the same commitment, so the operator can no longer choose among seeds.
///
/// A commitment is written as 64 hexadecimal digits:
///
/// ```
/// use waiting_room_core::room::event::Commitment;
///
/// let digits = "3f".repeat(32);
/// let commitment: Commitment = digits.parse()?;
/// assert_eq!(commitment.to_string(), digits);
/// assert!("3f".parse::<Commitment>().is_err());
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Commitment([u8; 32]);

/// The number of a visitor in the draw of an event and, after the draw, its place.
///
/// A ticket contains the number, so the number survives a restart of the room. With the number, the
/// visitor can recompute its place from what is published after the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entrant {
    /// The number of the entrant, counted from 1.
    pub number: u32,
    /// The place in the drawn order, counted from 1; `None` before the start.
    pub place: Option<u32>,
    /// The number of entrants; `None` before the start.
    pub entrants: Option<u32>,
    /// The first 32 bits of the commitment under which the number was assigned.
    pub draw: u32,
}

impl Commitment {
    /// Creates a commitment from a digest.
    #[must_use]
    pub const fn new(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// Returns the digest.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the first 32 bits, which identify the draw in tickets, see
    /// [`Entrant::draw`](super::Entrant::draw).
    #[must_use]
    pub const fn tag(&self) -> u32 {
        let [a, b, c, d, ..] = self.0;
        u32::from_be_bytes([a, b, c, d])
    }
}

impl Entrant {
    /// Creates an entrant with this number, in the draw whose commitment begins with these bits.
    #[must_use]
    pub const fn new(number: u32, draw: u32) -> Self {
        Self { number, place: None, entrants: None, draw }
    }
}

impl fmt::Display for Commitment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

impl fmt::Debug for Commitment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Commitment({self})")
    }
}

impl FromStr for Commitment {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let given = || format!("{:?}", text.chars().take(80).collect::<String>());
        let malformed = || {
            let kind = ConfigErrorKind::Malformed;
            ConfigError::new(kind, "shuffle_at_start", given(), "64 hexadecimal digits")
        };
        read_hex(text).map(Self).ok_or_else(malformed)
    }
}

/// Writes bytes as lower-case hexadecimal digits.
pub(super) fn write_hex(f: &mut impl fmt::Write, bytes: &[u8; 32]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

/// Reads exactly 64 hexadecimal digits, in lower or upper case.
pub(super) fn read_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
        *byte = u8::try_from(high? << 4 | low?).ok()?;
    }
    Some(bytes)
}
