//! The treatment of the bytes on a link.

use std::{net::SocketAddr, time::Duration};

use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

/// The treatment of the bytes on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Weather {
    /// They are carried.
    Clear,
    /// Existing and new connections are closed.
    Cut,
    /// They vanish without an error. A connection that exists in this weather stays dead, as if a
    /// firewall on the way had dropped its state; a connection that is made later works.
    Deaf,
    /// They vanish in one direction, also on connections that are made meanwhile.
    DeafOneWay(Direction),
    /// They are carried with this additional delay in each direction.
    Slow(Duration),
    /// They are carried with an additional delay between these two, which depends on the number of
    /// the piece. They stay in order.
    Jitter(Duration, Duration),
    /// They are held back.
    Still,
}

/// A direction on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Direction {
    /// From clients to the server.
    There,
    /// From the server to clients.
    Back,
}

/// The state of a link, which may change at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) target: SocketAddr,
    /// The delay of each byte in one direction, in clear weather.
    pub(super) delay: Duration,
    pub(super) weather: Weather,
}

impl Weather {
    /// The additional delay of the piece with this number.
    pub(super) fn delay(self, number: u64) -> Duration {
        match self {
            Self::Slow(late) => late,
            Self::Jitter(least, most) => {
                Xoshiro256PlusPlus::seed_from_u64(number).random_range(least..=most)
            }
            Self::Clear | Self::Cut | Self::Deaf | Self::DeafOneWay(_) | Self::Still => {
                Duration::ZERO
            }
        }
    }
}
