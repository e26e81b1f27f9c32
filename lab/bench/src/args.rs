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
    /// The group of measurements.
    #[command(subcommand)]
    pub(crate) what: What,
    /// How long to measure.
    #[command(flatten)]
    pub(crate) effort: EffortArgs,
    /// Whether to count instructions and allocations, which takes most of the time.
    #[arg(long, global = true, value_enum, default_value_t)]
    pub(crate) counting: Counting,
    /// The load generator of `answers`; by default wrk if it is installed.
    #[arg(long, global = true, value_enum)]
    pub(crate) load: Option<LoadKind>,
}

/// The group of measurements.
#[derive(Debug, Subcommand)]
pub(crate) enum What {
    /// Everything.
    All,
    /// Answers per second to waiting visitors, over loopback.
    Answers,
    /// The bars: the most that each kind of request may cost, beside its peer, in one table. The
    /// exit status is 1 if a bar is missed.
    Bars {
        /// Counts instructions and allocations only, and compares them with their last known values
        /// and not with the bars. The exit status is 1 if one of them has grown by more than 2 %.
        #[arg(long)]
        counted_only: bool,
    },
    /// The operator's dashboard with one page open, in a busy room. The exit status is 1 if it takes
    /// more than 1 % of a core or 16 MiB.
    Dashboard,
    /// The gate: overload over loopback, permits compared with tokio's, and the size of a waiter.
    Gate,
    /// The process of the global ledger with many sites, and PostgreSQL. The exit status is 1 if a bar
    /// is missed.
    Ledger {
        /// The number of full sites.
        #[arg(long, default_value_t = 1_000)]
        sites: u16,
    },
    /// Rate limits: the check of a key, an admitted request, and a refused one.
    Limits,
    /// One store for many nodes: a decision, and a long line, on Redis and on Valkey.
    Nodes,
    /// The cost of the layer for a visitor with a valid pass.
    Pass,
    /// Requests for paths that are made to be expensive.
    Paths,
    /// A long line whose visitors poll: the CPU time of a poll, and how long it takes.
    Polls,
    /// Push streams that are held open: their memory and CPU time.
    Push,
    /// Runs one case, for valgrind to count.
    #[command(hide = true)]
    Repeat {
        /// The group of the case.
        group: String,
        /// The name of the case.
        case: String,
        /// The repetitions before counting begins.
        first: u64,
        /// The repetitions that are counted.
        then: u64,
    },
    /// The verbs of the room, and its memory.
    Room,
    /// A part of `room`: the longest verbs, and a steady state, with up to a million visitors.
    RoomCrowded,
    /// Serves the requests of `answers`, until its standard input ends.
    #[command(hide = true)]
    Serve,
    /// Serves a busy room for `dashboard`, until its standard input ends.
    #[command(hide = true)]
    ServeDashboard {
        /// Whether the process has a dashboard.
        #[arg(long)]
        mounted: bool,
    },
    /// Serves the requests of `gate`, until its standard input ends.
    #[command(hide = true)]
    ServeGated {
        /// The gate in front of the service.
        contender: Contender,
        /// The work of the service.
        work: Work,
    },
    /// Serves the requests of `ledger`, until its standard input ends.
    #[command(hide = true)]
    ServeLedger {
        /// The URL of the database.
        database: String,
        /// The number of sites.
        sites: u16,
    },
    /// Finding, decoding and opening a token, and sealing one.
    Token,
}
