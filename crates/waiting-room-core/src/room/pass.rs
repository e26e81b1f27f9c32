//! The identity of a visitor, the proof that it was admitted, and the site that issued the proof.

use std::{fmt, num::NonZeroU16};

use crate::Timestamp;

/// The identity of a visitor: 128 random bits, which the caller generates at the first touch.
///
/// The room itself generates no random numbers. Jitter and lottery ranks are derived from the id,
/// so ids must be unpredictable and must not be shown to the client.
///
/// An id can contain the [network](Self::of_network) of the visitor in 48 of its bits. In that
/// case, only the other 80 bits are random. The network bits are neither the highest bits, which
/// break ties in the line, nor the lowest bits. Sharing a network therefore affects neither how
/// ties are broken nor how ids are spread over tables.
///
/// ```text
///  127     112 111    96 95     80 79     64 63                0
/// ├─ random ──┼─ wide ──┼─ middle ┼─ narrow ┼───── random ──────┤
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VisitorId(u128);

impl VisitorId {
    /// Creates an id from random bits.
    #[must_use]
    pub const fn new(bits: u128) -> Self {
        Self(bits)
    }

    /// Returns this id with the given network in bits 64 to 111. `None` represents an unknown
    /// network.
    ///
    /// ```
    /// use std::num::NonZeroU16;
    /// use waiting_room_core::{VisitorId, room::Network};
    ///
    /// let network = Some(Network::new(NonZeroU16::MIN, 2, 3));
    /// assert_eq!(VisitorId::new(u128::MAX).of_network(network).network(), network);
    /// assert_eq!(VisitorId::new(u128::MAX).of_network(None).network(), None);
    /// ```
    #[must_use]
    pub const fn of_network(self, network: Option<Network>) -> Self {
        let bits = match network {
            Some(network) => network.levels()[0] & Self::NETWORK,
            None => 0,
        };
        let others = self.0 & !((Self::NETWORK as u128) << Self::SHIFT);
        Self(others | (bits as u128) << Self::SHIFT)
    }

    /// Returns the network of the visitor, or `None` if the network is unknown.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the network is in these bits")]
    pub const fn network(self) -> Option<Network> {
        let narrow = (self.0 >> Self::SHIFT) as u16;
        let middle = (self.0 >> (Self::SHIFT + 16)) as u16;
        match NonZeroU16::new((self.0 >> (Self::SHIFT + 32)) as u16) {
            Some(wide) => Some(Network { wide, middle, narrow }),
            None => None,
        }
    }

    /// Returns the bits of the id, for use in a token. The bits must be sealed before they are sent
    /// to a client.
    #[must_use]
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// Derives 64 well-mixed bits from this id and `salt`. The same id and `salt` always yield the
    /// same bits.
    ///
    /// A room uses the derived bits in place of random numbers. Clients do not know their ids, so
    /// they can neither predict nor choose the bits.
    #[must_use]
    pub fn draw(self, salt: u64) -> u64 {
        let bytes = self.0.to_le_bytes();
        let (low, high) = bytes.split_at(8);
        let half =
            |part: &[u8]| part.iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
        mix(half(low) ^ mix(half(high) ^ mix(salt)))
    }

    /// The mask for the bits of a network, before they are shifted to their position.
    const NETWORK: u64 = (1 << 48) - 1;
    /// The position of the lowest network bit in the id.
    const SHIFT: u32 = 64;
}

/// The network of a visitor, which consists of three nested networks.
///
/// The caller of the room defines the levels. For the layer, the narrow network is an IPv4 address
/// or an IPv6 /64, the middle one is the /24 or the /48 around it, and the wide one is the /16 or
/// the /32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    wide: NonZeroU16,
    middle: u16,
    narrow: u16,
}

impl Network {
    /// Creates a network from a number for each level.
    ///
    /// The number should be a hash of the whole prefix at that level, keyed with a secret.
    /// Otherwise, an attacker could look for a network with the same number as another network, and
    /// use up the share of both.
    #[must_use]
    pub const fn new(wide: NonZeroU16, middle: u16, narrow: u16) -> Self {
        Self { wide, middle, narrow }
    }

    /// Returns a key for each level, the narrow one first. Two visitors have the same key if they
    /// share the network at that level.
    #[must_use]
    pub const fn levels(self) -> [u64; 3] {
        let wide = self.wide.get() as u64;
        let middle = wide << 16 | self.middle as u64;
        let narrow = middle << 16 | self.narrow as u64;
        [narrow, 1 << 48 | middle, 2 << 48 | wide]
    }
}

impl fmt::Debug for VisitorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A log must not reveal the id, because the visitor's lots can be predicted from the id.
        write!(f, "{:08x}…", self.draw(0) >> 32)
    }
}

/// Applies the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Proof that a visitor was admitted.
///
/// The room identifies its active visitors by [`id`](Self::id). With the other fields, a node can
/// check a pass without a call to the room, and a session can continue after the room has lost its
/// state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pass {
    /// The visitor that holds the pass.
    pub id: VisitorId,
    /// The minute of arrival, as a count of minutes since the Unix epoch.
    pub bucket: u32,
    /// The time at which the visitor was admitted.
    pub accepted_at: Timestamp,
    /// The time at which the pass was issued or last renewed.
    pub last_check_in: Timestamp,
    /// The time from which the pass is void. The slot is held exactly until that time.
    pub expires_at: Timestamp,
    /// The site whose room issued the pass, and whose clock its times refer to; `None` in a room
    /// that does not share a limit with the rooms of other sites.
    pub home: Option<PassHome>,
}

impl Pass {
    /// Creates a pass with the given contents. A room uses this function to issue a pass, and a
    /// layer uses it to unseal one.
    #[must_use]
    pub const fn new(
        id: VisitorId,
        bucket: u32,
        accepted_at: Timestamp,
        last_check_in: Timestamp,
        expires_at: Timestamp,
    ) -> Self {
        Self { id, bucket, accepted_at, last_check_in, expires_at, home: None }
    }

    /// Returns this pass with the given home. A layer calls this method when it seals a pass, see
    /// [`Store::home`](crate::Store::home).
    #[must_use]
    pub const fn with_home(mut self, home: Option<PassHome>) -> Self {
        self.home = home;
        self
    }
}

/// The site whose room has issued a pass, and the account of the site at that time.
///
/// The times of a pass refer to the clock of its home. Another site has a different clock, so it
/// does not rely on these times, and gives the visitor one of its own slots, see
/// [`Ticket::moving`](crate::Ticket::moving).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PassHome {
    /// The number of the site.
    pub site: u16,
    /// The term of the global ledger in which the account of the site began.
    pub term: u32,
    /// The number of the account in its term.
    pub count: u32,
}

impl PassHome {
    /// Creates the home for the passes that a site issues under the account with these numbers. For
    /// a site without an account, `term` and `count` are zero.
    #[must_use]
    pub const fn new(site: u16, term: u32, count: u32) -> Self {
        Self { site, term, count }
    }
}
