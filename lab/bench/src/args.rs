//! The command line.

use clap::{Parser, Subcommand};

use crate::{case::Group, effort::EffortArgs, groups::group, valgrind::Counting};

/// Measures what the waiting room costs.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Args {
    /// What to measure.
    #[command(subcommand)]
    pub(crate) what: What,
    /// How long to measure.
    #[command(flatten)]
    pub(crate) effort: EffortArgs,
    /// Whether to count instructions and allocations, which takes most of the time.
    #[arg(long, global = true, value_enum, default_value_t)]
    pub(crate) counting: Counting,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum What {
    /// The bars: the most that each kind of request may cost, beside its peer, in one table. The
    /// exit status is 1 if a bar is missed.
    Bars {
        /// Counts instructions and allocations only, and compares them with their last known values
        /// and not with the bars. The exit status is 1 if one of them has grown by more than 10 %.
        #[arg(long)]
        counted_only: bool,
    },
    /// All cases of groups, each group in a table.
    Cases {
        /// The names of groups; without any, all groups.
        #[arg(value_parser = group)]
        groups: Vec<Group>,
    },
    /// Runs one case, for valgrind to count.
    #[command(hide = true)]
    Repeat {
        /// The group of the case.
        #[arg(value_parser = group)]
        group: Group,
        /// The name of the case.
        case: String,
        /// The repetitions before counting begins.
        first: u64,
        /// The repetitions that are counted.
        then: u64,
    },
    /// The longest operations of rooms with up to a million visitors, and their steady state.
    Room,
    /// The header of 16 KiB that costs most, for each path of a request. The exit status is 1 if it
    /// costs more than twice an ordinary request, or 8 000 instructions more, whichever is larger.
    Worst {
        /// The seed of the search; without one, a new one, which is printed.
        #[arg(long)]
        seed: Option<u64>,
        /// The number of values that are tried for each header.
        #[arg(long, default_value_t = 60)]
        tries: u32,
    },
}
