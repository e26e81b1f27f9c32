//! How long to measure.

use std::time::Duration;

use clap::Args;

/// The choice on the command line.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct EffortArgs {
    /// Measures for longer, for figures to be published.
    #[arg(long, global = true)]
    full: bool,
    /// Runs everything once, to see that it runs.
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
    /// For figures to be published.
    Full,
    /// For a look: everything in some five minutes.
    Quick,
    /// To see that it runs.
    Smoke,
}

impl Effort {
    /// Rounds of all cases of a table.
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

    /// The two numbers of repetitions whose difference is counted.
    pub(crate) const fn counted(self) -> (u64, u64) {
        match self {
            Self::Full => (1_000, 11_000),
            Self::Quick => (200, 1_200),
            Self::Smoke => (10, 30),
        }
    }

    /// Rounds of all requests over loopback.
    pub(crate) const fn load_rounds(self) -> usize {
        match self {
            Self::Full => 9,
            Self::Quick => 3,
            Self::Smoke => 1,
        }
    }

    /// How long one kind of request is sent in one round. `wrk` takes whole seconds.
    pub(crate) const fn load(self) -> Duration {
        match self {
            Self::Full => Duration::from_secs(4),
            Self::Quick => Duration::from_secs(1),
            Self::Smoke => Duration::from_millis(50),
        }
    }

    /// How many times its capacity a service is asked for.
    pub(crate) const fn overloads(self) -> &'static [f64] {
        match self {
            Self::Full => &[0.5, 0.9, 1.2, 2.0, 5.0],
            Self::Quick => &[0.5, 2.0],
            Self::Smoke => &[2.0],
        }
    }

    /// How long it is asked before anything counts, so that queues are as long as they get, and
    /// how long after that.
    pub(crate) const fn overload(self) -> (Duration, Duration) {
        match self {
            Self::Full => (Duration::from_secs(2), Duration::from_secs(6)),
            Self::Quick => (Duration::from_secs(2), Duration::from_secs(2)),
            Self::Smoke => (Duration::from_millis(20), Duration::from_millis(50)),
        }
    }

    /// How many clients wait whose connections are weighed.
    pub(crate) const fn connections(self) -> u32 {
        match self {
            Self::Full | Self::Quick => 1_000,
            Self::Smoke => 50,
        }
    }

    /// How many visitors stand in a crowded room.
    pub(crate) const fn crowd(self) -> u64 {
        match self {
            Self::Full | Self::Quick => 100_000,
            Self::Smoke => 2_000,
        }
    }

    /// How many keys a limiter has whose memory is weighed.
    pub(crate) const fn keys(self) -> u64 {
        match self {
            Self::Full | Self::Quick => 1_000_000,
            Self::Smoke => 2_000,
        }
    }

    /// The option that chooses it.
    pub(crate) const fn option(self) -> &'static str {
        match self {
            Self::Full => " --full",
            Self::Quick => "",
            Self::Smoke => " --smoke",
        }
    }
}
