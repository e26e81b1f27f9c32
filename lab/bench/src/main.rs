//! The cost of the waiting room, measured in one run together with its alternatives.
//!
//! ```text
//! cargo lab waiting-room-bench -- bars            the bars of all kinds of requests, in one table
//! cargo lab waiting-room-bench -- cases           all cases, group by group; `--full` takes longer
//! cargo lab waiting-room-bench -- cases paths     one group: paths that are made to be expensive
//! cargo lab waiting-room-bench -- worst           the dearest header that a client can choose
//! cargo lab waiting-room-bench -- room            the longest operations of crowded rooms
//! ```
//!
//! # How it measures
//!
//! *Times* are CPU times of the thread, so that other work on the machine has little influence. The
//! cases of a table take turns in short samples, round after round. Ratios and differences are
//! computed within a round, and the tables show their medians over all rounds. Compare those and
//! not the nanoseconds: the speed of a machine differs from one hour to the next.
//!
//! *Instructions* and *allocations* are counted by `valgrind` (callgrind and DHAT) in child
//! processes that run this program with one case, after it has warmed up. A counting global
//! allocator would add a good part to the time of every row, so this program has none; a test has
//! one. Without `valgrind` these columns are empty, and the table has a note.
//!
//! *Memory* is that by which a child process grows.

mod answers;
mod args;
mod bars;
mod browsers;
mod case;
mod effort;
mod figure;
mod gate;
mod groups;
mod limits;
mod memory;
mod pass;
mod paths;
mod report;
mod requests;
mod room;
mod rounds;
mod services;
mod tables;
mod valgrind;
mod visitors;
mod worst;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use crate::{
    args::{Args, What},
    case::Group,
    groups::GROUPS,
};

fn main() -> Result<ExitCode> {
    let Args { what, effort, counting } = Args::parse();
    let effort = effort.chosen();
    match what {
        What::Bars { counted_only } => {
            return bars::run(bars::Rows::of(counted_only), effort, counting);
        }
        What::Cases { groups } => {
            let groups = if groups.is_empty() { GROUPS } else { &groups };
            for group in groups {
                println!("{}", tables::table(*group, effort, counting)?);
            }
        }
        What::Repeat { group, case, first, then } => repeat(group, &case, first, then)?,
        What::Room => room::run(effort),
        What::Worst { seed, tries } => {
            let seed = seed.unwrap_or_else(worst::fresh_seed);
            return worst::run(seed, tries, effort, counting);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs one case in this process, and prints the resident bytes after it.
fn repeat(group: Group, name: &str, first: u64, then: u64) -> Result<()> {
    let case = group.case(name);
    let case = case.with_context(|| format!("there is no case {name:?} in {:?}", group.name()))?;
    let mut repeat = (case.set_up)();
    if first > 0 {
        repeat.run(first);
    }
    repeat.counted(then);
    println!("{}", memory::resident_bytes()?);
    Ok(())
}
