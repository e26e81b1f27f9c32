//! The effort of a measurement: how long, how often, and with how many clients.

use std::time::Duration;

use clap::Args;

/// The choice on the command line.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct EffortArgs {
    /// Measures for longer, for figures that are published.
    #[arg(long, global = true)]
    full: bool,
    /// Runs everything once, to check that it works.
    #[arg(long, global = true, hide = true, conflicts_with = "full")]
    smoke: bool,
}

impl EffortArgs {
    pub(crate) const fn chosen(self) -> Effort {
        match self {
            Self { full: true, .. } => Effort::Full,
            Self { smoke: true, .. } => Effort::Smoke,
            Self { .. } => Effort::Quick,
        }
    }
}

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// For figures that are published.
    Full,
    /// For a quick look: everything in about five minutes.
    Quick,
    /// To check that everything works.
    Smoke,
}

impl Effort {
    /// The number of rounds of all cases of a table.
    pub(crate) const fn rounds(self) -> usize {
        match self {
            Self::Full => 101,
            Self::Quick => 31,
            Self::Smoke => 2,
        }
    }

    /// How long one case runs in one round.
    pub(crate) const fn sample(self) -> Duration {
        match self {
            Self::Full => Duration::from_millis(20),
            Self::Quick => Duration::from_millis(8),
            Self::Smoke => Duration::from_micros(50),
        }
    }

    /// Two numbers of repetitions; the counts are the difference between them.
    pub(crate) const fn counted(self) -> (u64, u64) {
        match self {
            Self::Full => (1_000, 11_000),
            Self::Quick => (200, 1_200),
            Self::Smoke => (10, 30),
        }
    }

    /// The number of rounds of all requests over loopback.
    pub(crate) const fn load_rounds(self) -> usize {
        match self {
            Self::Full => 9,
            Self::Quick => 3,
            Self::Smoke => 1,
        }
    }

    /// How long one kind of request is sent in one round. `wrk` uses whole seconds.
    pub(crate) const fn load(self) -> Duration {
        match self {
            Self::Full => Duration::from_secs(4),
            Self::Quick => Duration::from_secs(1),
            Self::Smoke => Duration::from_millis(50),
        }
    }

    /// The loads of a service, as multiples of its capacity.
    pub(crate) const fn overloads(self) -> &'static [f64] {
        match self {
            Self::Full => &[0.5, 0.9, 1.2, 2.0, 5.0],
            Self::Quick => &[0.5, 2.0],
            Self::Smoke => &[2.0],
        }
    }

    /// How long a load lasts before the measurement, so that queues reach their full length, and
    /// how long the measurement lasts.
    pub(crate) const fn overload(self) -> (Duration, Duration) {
        match self {
            Self::Full => (Duration::from_secs(2), Duration::from_secs(6)),
            Self::Quick => (Duration::from_secs(2), Duration::from_secs(2)),
            Self::Smoke => (Duration::from_millis(20), Duration::from_millis(50)),
        }
    }

    /// The number of waiting clients whose connections are weighed.
    pub(crate) const fn connections(self) -> u32 {
        match self {
            Self::Full | Self::Quick => 1_000,
            Self::Smoke => 50,
        }
    }

    /// The number of visitors of a crowded room.
    pub(crate) const fn crowd(self) -> u64 {
        match self {
            Self::Full | Self::Quick => 100_000,
            Self::Smoke => 2_000,
        }
    }

    /// The numbers of visitors of rooms whose longest verbs are measured.
    pub(crate) const fn crowds(self) -> &'static [u32] {
        match self {
            Self::Full | Self::Quick => &[1_000, 10_000, 100_000, 1_000_000],
            Self::Smoke => &[500, 1_000],
        }
    }

    /// The number of rounds of measurements that take seconds to prepare.
    pub(crate) const fn prepared_rounds(self) -> u32 {
        match self {
            Self::Full => 5,
            Self::Quick => 2,
            Self::Smoke => 1,
        }
    }

    /// The number of keys of a limiter whose memory is weighed.
    pub(crate) const fn keys(self) -> u64 {
        match self {
            Self::Full | Self::Quick => 1_000_000,
            Self::Smoke => 2_000,
        }
    }

    /// The option on the command line for this effort.
    pub(crate) const fn option(self) -> &'static str {
        match self {
            Self::Full => " --full",
            Self::Quick => "",
            Self::Smoke => " --smoke",
        }
    }
}
