//! The faults that can be injected, and the promises that hold under each.

use std::time::Duration;

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

/// The durations of a run, long enough for a hundred admissions before, during and after the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    /// The duration of the fault.
    pub(crate) lasts: Duration,
    /// The time over which visitors arrive.
    pub(crate) over: Duration,
    /// The time that the line has to empty after the last arrival.
    pub(crate) drain: Duration,
}

impl Fault {
    /// The durations of a run with this fault, unless others are given.
    pub(crate) const fn timing(self) -> Timing {
        let (lasts, over, drain) = match self {
            // Visitors are admitted during the fault, and nodes are killed one after the other.
            Self::None | Self::Nodes => (25, 48, 20),
            // After a loss of state, the room admits no newcomers for a minute.
            Self::StoreKept | Self::StoreLost | Self::Failover | Self::Flush => (3, 45, 75),
            // The outage is shorter than a session.
            Self::StorePaused | Self::Cut | Self::HalfOpen | Self::Slow => (3, 40, 5),
        };
        Timing {
            lasts: Duration::from_secs(lasts),
            over: Duration::from_secs(over),
            drain: Duration::from_secs(drain),
        }
    }

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
        if matches!(self, Self::StoreKept) { Persistence::Always } else { Persistence::Never }
    }

    /// The name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
