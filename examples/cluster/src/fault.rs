//! What may go wrong, and what is promised all the same.

use clap::ValueEnum;
use waiting_room_engines::Persistence;

/// Something that goes wrong while a crowd is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// The nodes are killed and started again, one after the other.
    Nodes,
    /// The store is killed and started again, with everything that it had acknowledged.
    StoreKept,
    /// The store is killed and started again, empty.
    StoreLost,
    /// The store is stopped in the middle of what it does, and goes on later.
    StorePaused,
    /// The connections between the nodes and the store are closed, and new ones too.
    Cut,
    /// What nodes and store send each other vanishes, and nobody is told.
    HalfOpen,
    /// What nodes and store send each other comes later than a decision may take.
    Slow,
    /// The store is killed, and a replica takes over that has not heard of the last seconds.
    Failover,
    /// Somebody deletes everything in the store.
    Flush,
}

impl Fault {
    /// Whether the limits are promised of a room that holds after a loss, or does not.
    pub(crate) const fn keeps_limits(self, holds: bool) -> bool {
        holds || !self.forgets()
    }

    /// Whether the store cannot be asked, or what it says does not arrive.
    pub(crate) const fn takes_store(self) -> bool {
        !matches!(self, Self::None | Self::Nodes)
    }

    /// Whether the room may have forgotten what it knew. A server that was started again may have,
    /// as far as the nodes can tell.
    pub(crate) const fn forgets(self) -> bool {
        matches!(self, Self::Failover | Self::Flush | Self::StoreKept | Self::StoreLost)
    }

    /// What the store is to keep.
    pub(crate) const fn persistence(self) -> Persistence {
        match self {
            Self::StoreKept => Persistence::Always,
            _ => Persistence::Never,
        }
    }

    /// The name as on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
