//! The effort of a measurement: how long, how often, and with how many items.

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
    /// For a quick look.
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

    /// The number of items whose memory is measured.
    pub(crate) const fn items(self) -> u32 {
        match self {
            Self::Full | Self::Quick => 100_000,
            Self::Smoke => 2_000,
        }
    }

    /// The numbers of visitors of crowded rooms.
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

    /// The option on the command line for this effort.
    pub(crate) const fn option(self) -> &'static str {
        match self {
            Self::Full => " --full",
            Self::Quick => "",
            Self::Smoke => " --smoke",
        }
    }
}
