//! A draw that is committed to before the prequeue, and that anyone can recompute afterwards.
//!
//! ```text
//!   before the prequeue            at the start                       afterwards, by anyone
//!  ┌─────────┐ commitment()     ┌─────────┐ reveal(entrants) ┌────────┐ verify(commitment)
//!  │ Lottery │ ───────────────► │ Lottery │ ───────────────► │ Reveal │ ─────────► Shuffle
//!  └─────────┘  is published    └─────────┘   is published   └────────┘            place_of(entrant)
//! ```
//!
//! Both hashes are of plain text, so that they can be checked with common tools:
//!
//! ```text
//!  waiting-room lottery 1: commitment        waiting-room lottery 1: draw
//!  room: shop                                room: shop
//!  event: doors                              event: doors
//!  beacon: drand quicknet round 28150000     beacon: drand quicknet round 28150000
//!  seed: 4f1c…                               seed: 4f1c…
//!                                            value: 9b07…
//!                                            entrants: 48211
//! ```
//!
//! Each line ends with a line feed. The lines `beacon` and `value` exist only if there is a beacon.
//! The commitment is the SHA-256 digest of the first text. The digest of the second text is the key
//! of the [`Shuffle`].

use std::{fmt, str::FromStr};

use sha2::{Digest, Sha256};

use crate::{
    ConfigError,
    error::ConfigErrorKind,
    room::{
        event::{
            commitment::{Commitment, read_hex, write_hex},
            shuffle::Shuffle,
        },
        rules::check_name,
    },
};

/// The secret from which the order of a draw is derived: 256 random bits, used for one event.
///
/// All nodes of a room use the same seed. The seed is kept secret until the start of the event, so
/// its [`Debug`](fmt::Debug) form does not contain it. A seed can be parsed from 64 hexadecimal
/// digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Seed([u8; 32]);

/// The draw of one event, before it takes place.
///
/// ```
/// use waiting_room_core::room::event::{Lottery, Seed};
///
/// // Before the prequeue, the operator publishes the commitment.
/// let lottery = Lottery::new("shop", "doors", Seed::new([7; 32]))?;
/// let commitment = lottery.commitment();
///
/// // After the start, the operator publishes the seed and the number of entrants.
/// let reveal = lottery.reveal(1_000, None)?;
///
/// // Every entrant can compute its place, here the entrant with number 42.
/// let shuffle = reveal.verify(&commitment)?;
/// let place = shuffle.place_of(42).unwrap();
/// assert_eq!(shuffle.entrant_at(place), Some(42));
///
/// // Another seed does not have the same commitment.
/// let other = Lottery::new("shop", "doors", Seed::new([8; 32]))?;
/// assert!(other.reveal(1_000, None)?.verify(&commitment).is_err());
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lottery {
    room: String,
    event: String,
    seed: Seed,
    /// The description of a public random value that is not known before the start.
    beacon: Option<String>,
}

/// Everything that is published about a draw that has taken place.
///
/// The [`Display`](fmt::Display) form is the text whose digest is the key of the draw. This text
/// contains the seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reveal {
    lottery: Lottery,
    /// The public random value, if the lottery has a beacon.
    value: Option<String>,
    entrants: u32,
}

impl Seed {
    /// Creates a seed from random bits, which the caller takes from a secure source.
    #[must_use]
    pub const fn new(bits: [u8; 32]) -> Self {
        Self(bits)
    }

    /// Returns the seed as 64 hexadecimal digits.
    pub(super) fn digits(&self) -> String {
        let mut digits = String::with_capacity(64);
        // Writing to a string cannot fail.
        _ = write_hex(&mut digits, &self.0);
        digits
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(…)")
    }
}

impl FromStr for Seed {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        // The error must not contain the text, because most of it may be the secret.
        read_hex(text).map(Self).ok_or_else(|| {
            let given = format!("a text of {} bytes", text.len());
            let expected = "64 hexadecimal digits";
            ConfigError::new(ConfigErrorKind::Malformed, "seed", given, expected)
        })
    }
}

impl Lottery {
    /// The maximum length of the description of a beacon, and of its value, in bytes.
    pub const MAX_BEACON_LEN: usize = 256;

    /// Creates the draw for an event of a room.
    ///
    /// # Errors
    ///
    /// Returns an error if one of the names is not the valid name of a room or an event.
    pub fn new(
        room: impl Into<String>,
        event: impl Into<String>,
        seed: Seed,
    ) -> Result<Self, ConfigError> {
        let room = room.into();
        let event = event.into();
        check_name(&room)?;
        check_name(&event)?;
        Ok(Self { room, event, seed, beacon: None })
    }

    /// Mixes in a public random value that becomes known only at the start or later, such as a
    /// future round of a randomness beacon; none by default.
    ///
    /// Without a beacon, the operator knows the place of each number in advance, and could assign a
    /// good number to a favored visitor or add entrants until the order suits. With a beacon, the
    /// order is unknown to everyone while visitors can still enter. The room has to obtain the value
    /// before it can admit the entrants.
    ///
    /// `source` describes which value is used, precisely enough for anyone to look it up. The
    /// description is part of the commitment.
    ///
    /// # Errors
    ///
    /// Returns an error if the description is empty, too long, or contains control characters.
    pub fn beacon(mut self, source: impl Into<String>) -> Result<Self, ConfigError> {
        let source = source.into();
        check_text("beacon", &source)?;
        self.beacon = Some(source);
        Ok(self)
    }

    /// Returns the name of the event.
    #[must_use]
    pub fn event(&self) -> &str {
        &self.event
    }

    /// Returns the name of the room.
    pub(super) fn room(&self) -> &str {
        &self.room
    }

    /// Returns the secret seed.
    #[cfg(feature = "serde")]
    pub(super) const fn seed(&self) -> &Seed {
        &self.seed
    }

    /// Returns the commitment to the seed, which is published before the prequeue.
    #[must_use]
    pub fn commitment(&self) -> Commitment {
        let text = format!("waiting-room lottery 1: commitment\n{}", Lines(self));
        Commitment::new(Sha256::digest(text).into())
    }

    /// Reveals the seed once the number of entrants is final. With a [beacon](Self::beacon),
    /// `value` is the public random value as text.
    ///
    /// # Errors
    ///
    /// Returns an error if the lottery has a beacon but no value is given, or the reverse, or if the
    /// value is empty, too long, or contains control characters.
    pub fn reveal(&self, entrants: u32, value: Option<&str>) -> Result<Reveal, ConfigError> {
        match (&self.beacon, value) {
            (Some(_), Some(value)) => check_text("value", value)?,
            (Some(source), None) => {
                let expected = format_args!("the value of beacon {source:?}");
                return Err(ConfigError::new(
                    ConfigErrorKind::Missing,
                    "value",
                    "absent",
                    expected,
                ));
            }
            (None, Some(value)) => {
                let given = format!("{:?}", shortened(value));
                let expected = "absent, because the lottery has no beacon";
                return Err(ConfigError::new(
                    ConfigErrorKind::Contradicts,
                    "value",
                    given,
                    expected,
                ));
            }
            (None, None) => {}
        }
        Ok(Reveal { lottery: self.clone(), value: value.map(Into::into), entrants })
    }
}

impl Reveal {
    /// Returns the name of the event whose draw took place.
    #[must_use]
    pub fn event(&self) -> &str {
        self.lottery.event()
    }

    /// Returns the name of the room.
    #[must_use]
    pub fn room(&self) -> &str {
        self.lottery.room()
    }

    /// Returns the commitment to the seed.
    #[must_use]
    pub fn commitment(&self) -> Commitment {
        self.lottery.commitment()
    }

    /// Returns the seed, which is public from the start of the event, as 64 hexadecimal digits.
    #[must_use]
    pub fn seed(&self) -> String {
        self.lottery.seed.digits()
    }

    /// Returns the number of entrants.
    #[must_use]
    pub const fn entrants(&self) -> u32 {
        self.entrants
    }

    /// Checks the seed against the commitment that was published before, and returns the order.
    ///
    /// # Errors
    ///
    /// Returns an error if the commitment is to another seed, room, event, or beacon.
    pub fn verify(&self, commitment: &Commitment) -> Result<Shuffle, ConfigError> {
        let given = self.lottery.commitment();
        if given != *commitment {
            return Err(ConfigError::new(
                ConfigErrorKind::Contradicts,
                "seed",
                format_args!("one with the commitment {given}"),
                format_args!("the seed with the commitment {commitment}"),
            ));
        }
        Ok(Shuffle::new(Sha256::digest(self.to_string()).into(), self.entrants))
    }
}

impl fmt::Display for Reveal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waiting-room lottery 1: draw\n{}", Lines(&self.lottery))?;
        if let Some(value) = &self.value {
            writeln!(f, "value: {value}")?;
        }
        writeln!(f, "entrants: {}", self.entrants)
    }
}

/// The lines that the texts of the commitment and of the draw have in common.
struct Lines<'a>(&'a Lottery);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lottery { room, event, seed, beacon } = self.0;
        write!(f, "room: {room}\nevent: {event}\n")?;
        if let Some(source) = beacon {
            writeln!(f, "beacon: {source}")?;
        }
        f.write_str("seed: ")?;
        seed.write(f)?;
        f.write_str("\n")
    }
}

/// Checks a string that becomes one line of the text to hash.
fn check_text(field: &'static str, text: &str) -> Result<(), ConfigError> {
    let is_fine = (1..=Lottery::MAX_BEACON_LEN).contains(&text.len());
    if is_fine && !text.chars().any(char::is_control) {
        return Ok(());
    }
    Err(ConfigError::new(
        ConfigErrorKind::Malformed,
        field,
        format_args!("{:?}", shortened(text)),
        format_args!("1 to {} bytes without control characters", Lottery::MAX_BEACON_LEN),
    ))
}

/// Returns the beginning of a text, for an error.
fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}
