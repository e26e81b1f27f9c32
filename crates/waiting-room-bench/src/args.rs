//! The command line.

use clap::{Parser, Subcommand};

use crate::{
    answers::LoadKind,
    effort::EffortArgs,
    gate::{Contender, Work},
    valgrind::Counting,
};

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
    /// What sends the requests of `answers`; by default wrk if it is installed.
    #[arg(long, global = true, value_enum)]
    pub(crate) load: Option<LoadKind>,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum What {
    /// All of it.
    All,
    /// Answers a second to those who wait, over loopback.
    Answers,
    /// The gate: overload over loopback, a permit beside tokio's, and what a waiter weighs.
    Gate,
    /// Rate limits: the check of a key, a request that is admitted, and one that is refused.
    Limits,
    /// One store for many nodes: a decision, and a long line, on Redis and on Valkey.
    Nodes,
    /// The cost of the layer for a visitor with a valid pass.
    Pass,
    /// Requests for paths that were made to be costly.
    Paths,
    /// Runs one case, for valgrind to count.
    #[command(hide = true)]
    Repeat {
        /// The group of the case.
        group: String,
        /// The name of the case.
        case: String,
        /// How often, uncounted, before.
        first: u64,
        /// How often, counted.
        then: u64,
    },
    /// The verbs of the room, and its memory.
    Room,
    /// Serves what `answers` asks, until its standard input ends.
    #[command(hide = true)]
    Serve,
    /// Serves what `gate` asks, until its standard input ends.
    #[command(hide = true)]
    ServeGated {
        /// What stands before the service.
        contender: Contender,
        /// What the service does.
        work: Work,
    },
    /// To find, decode and open a token, and to seal one.
    Token,
}
