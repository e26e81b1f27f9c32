//! The faults that can be injected, and the promises that hold under each.

use clap::ValueEnum;
use waiting_room_engines::Persistence;

/// A fault that is injected while the crowd is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    /// No fault.
    None,
    /// The nodes are killed and restarted, one after the other.
    Nodes,
    /// The store is killed, and restarted with everything that it had acknowledged.
    StoreKept,
    /// The store is killed, and restarted empty.
    StoreLost,
    /// The store is stopped by SIGSTOP, and continues later.
    StorePaused,
    /// The connections between the nodes and the store are closed, and new ones too.
    Cut,
    /// Packets between the nodes and the store vanish without an error.
    HalfOpen,
    /// Packets between the nodes and the store take longer than the deadline of a decision.
    Slow,
    /// The store is killed, and a replica takes over that has not received the last seconds.
    Failover,
    /// The store is emptied by FLUSHALL.
    Flush,
}

impl Fault {
    /// Returns whether the room must keep its limits under this fault. `holds` is true if its
    /// recovery is `Pause`.
    pub(crate) const fn keeps_limits(self, holds: bool) -> bool {
        holds || !self.forgets()
    }

    /// Returns whether the store cannot be called, or its replies do not arrive.
    pub(crate) const fn takes_store(self) -> bool {
        !matches!(self, Self::None | Self::Nodes)
    }

    /// Returns whether the room may have lost state. This includes a store that is restarted with
    /// its data, because the nodes cannot know that nothing was lost.
    pub(crate) const fn forgets(self) -> bool {
        matches!(self, Self::Failover | Self::Flush | Self::StoreKept | Self::StoreLost)
    }

    /// The persistence that the store is started with.
    pub(crate) const fn persistence(self) -> Persistence {
        match self {
            Self::StoreKept => Persistence::Always,
            _ => Persistence::Never,
        }
    }

    /// The name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
