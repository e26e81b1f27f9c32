//! The cost of the waiting room, measured in one run together with its alternatives.
//!
//! ```text
//! cargo lab waiting-room-bench -- pass      a visitor with a valid pass
//! cargo lab waiting-room-bench -- paths     paths that are made to be expensive
//! cargo lab waiting-room-bench -- token     find, decode and open a token; seal one
//! cargo lab waiting-room-bench -- answers   answers to waiting visitors, by loopback
//! cargo lab waiting-room-bench -- limits    rate limits: check, request, refusal
//! cargo lab waiting-room-bench -- gate      the gate: overload, permits, waiters
//! cargo lab waiting-room-bench -- nodes     one store for many nodes, on each engine
//! cargo lab waiting-room-bench -- room      the verbs of the room, and its memory
//! cargo lab waiting-room-bench -- bars      the bars of all of them, in one table
//! cargo lab waiting-room-bench -- dashboard   the operator's page
//! cargo lab waiting-room-bench -- push      push streams that are held open
//! cargo lab waiting-room-bench -- polls     a long line whose visitors poll
//! cargo lab waiting-room-bench -- room-crowded   a part of it: up to 10⁶ visitors
//! cargo lab waiting-room-bench -- ledger    the global ledger of 1 000 sites
//! cargo lab waiting-room-bench -- all       all of them; `--full` takes longer
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
//! *Requests per second* are those of one server process on one core, with the load generator
//! (`wrk`, or else a hyper client) on another. Under overload, requests arrive at times that do not
//! depend on the answers.

mod answers;
mod args;
mod bars;
mod browsers;
mod case;
mod child;
mod dashboard;
mod effort;
mod figure;
mod gate;
mod ledger;
mod limits;
mod nodes;
mod pass;
mod paths;
mod polls;
mod push;
mod report;
mod requests;
mod room;
mod rounds;
mod services;
mod token;
mod usage;
mod valgrind;
mod visitors;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use crate::{
    args::{Args, What},
    case::Group,
};

fn main() -> Result<ExitCode> {
    let Args { what, effort, counting, load } = Args::parse();
    let effort = effort.chosen();
    let done = match what {
        What::All => {
            pass::run(effort, counting)?;
            println!("{}", paths::run(effort));
            token::run(effort, counting)?;
            limits::run(effort, counting)?;
            answers::run_refusals(effort, load)?;
            gate::run(effort, counting)?;
            nodes::run(effort)?;
            room::run(effort, counting)?;
            push::run(effort)?;
            polls::run(effort)?;
            answers::run(effort, counting, load)
        }
        What::Answers => answers::run(effort, counting, load),
        What::Bars { counted_only } => {
            return bars::run(bars::Rows::of(counted_only), effort, counting);
        }
        What::Dashboard => return dashboard::run(effort),
        What::Gate => gate::run(effort, counting),
        What::Ledger { sites } => return ledger::run(sites, effort, counting),
        What::Nodes => nodes::run(effort),
        What::Limits => {
            limits::run(effort, counting)?;
            answers::run_refusals(effort, load)
        }
        What::Pass => pass::run(effort, counting),
        What::Paths => {
            println!("{}", paths::run(effort));
            Ok(())
        }
        What::Polls => polls::run(effort),
        What::Push => push::run(effort),
        What::Repeat { group, case, first, then } => repeat(&group, &case, first, then),
        What::Room => room::run(effort, counting),
        What::RoomCrowded => {
            room::run_crowded(effort);
            Ok(())
        }
        What::Serve => answers::serve(),
        What::ServeDashboard { mounted } => dashboard::serve(mounted),
        What::ServeGated { contender, work } => gate::serve(contender, work),
        What::ServeLedger { database, sites } => ledger::serve(&database, sites),
        What::Token => token::run(effort, counting),
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// Runs one case in this process, and prints the resident bytes after it.
fn repeat(group: &str, name: &str, first: u64, then: u64) -> Result<()> {
    let found = GROUPS.iter().find(|entry| entry.name() == group);
    let found = found.with_context(|| format!("there is no group {group:?}"))?;
    let case =
        found.case(name).with_context(|| format!("there is no case {name:?} in {group:?}"))?;
    let mut repeat = (case.set_up)();
    if first > 0 {
        repeat.run(first);
    }
    repeat.counted(then);
    println!("{}", usage::resident_bytes()?);
    Ok(())
}

/// All groups whose cases a child process can run.
const GROUPS: &[Group] = &[
    answers::ALONE,
    answers::BEHIND_AXUM,
    bars::TOGETHER,
    gate::ADMITTED,
    gate::HANDED_ON,
    gate::PERMITS,
    gate::REFUSED,
    gate::WAITERS,
    ledger::MEMORY,
    limits::ADMITTED,
    limits::ALGORITHMS,
    limits::KEY_MEMORY,
    limits::MILLION,
    limits::ONE,
    limits::REFUSED,
    limits::THOUSAND,
    limits::TWO_THREADS,
    limits::UNSEEN,
    pass::BEHIND_AXUM,
    pass::WITHOUT_AXUM,
    paths::PATHS,
    room::MEMORY,
    room::VERBS,
    token::CIPHERS,
    token::TOKENS,
];
