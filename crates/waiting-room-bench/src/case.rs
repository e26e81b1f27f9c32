//! What is measured: cases, in groups that share a table.
//!
//! A case is set up by its name alone, so that the same one can be timed here and counted in a
//! child process.

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::{answers, gate, limits, measure, pass, room, token};

/// One thing to be measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// Its row in the table.
    pub(crate) name: &'static str,
    /// Prepares everything; what comes back does the thing so many times.
    pub(crate) set_up: fn() -> Repeat,
}

#[cfg(test)]
impl Case {
    /// How many allocations one repetition makes.
    pub(crate) fn allocations(&self) -> u64 {
        const TIMES: u64 = 10;
        let mut repeat = (self.set_up)();
        repeat.run(TIMES);
        allocation_counter::measure(|| repeat.run(TIMES)).count_total / TIMES
    }
}

/// Does a thing so many times.
pub(crate) struct Repeat(Box<dyn FnMut(u64)>);

impl Repeat {
    pub(crate) fn new(repeat: impl FnMut(u64) + 'static) -> Self {
        Self(Box::new(repeat))
    }

    pub(crate) fn run(&mut self, times: u64) {
        (self.0)(times);
    }

    /// The same, for callgrind, which counts inside this function only; so it must be one.
    #[inline(never)]
    pub(crate) fn counted(&mut self, times: u64) {
        self.run(times);
    }
}

/// The cases that share a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    /// Requests that rate limits allow, through an axum router.
    Admitted,
    /// The algorithms of rate limits.
    Algorithms,
    /// Answers of the layer to those who wait.
    Answers,
    /// Requests through an axum router.
    BehindAxum,
    /// Ciphers and codecs by themselves.
    Ciphers,
    /// Requests that a gate admits, through an axum router.
    GateAdmitted,
    /// Requests that a gate refuses, through an axum router.
    GateRefused,
    /// Requests that wait, to be weighed; each repetition is one more.
    GateWaiters,
    /// Permits that are handed from one task to the next.
    HandedOn,
    /// Checks of one key of a million.
    KeyOfMillion,
    /// Checks of one key.
    KeyOfOne,
    /// Checks of one key of a thousand.
    KeyOfThousand,
    /// Keys of a limiter, to be weighed; each repetition is one more.
    KeyMemory,
    /// Checks of keys on two threads.
    KeyOnTwoThreads,
    /// Visitors in a room, to be weighed; each repetition is one more.
    Memory,
    /// Permits that nobody else wants.
    Permits,
    /// Requests that a rate limit refuses, through an axum router.
    Refused,
    /// Requests with tokens of different kinds and numbers.
    Tokens,
    /// The verbs of a room.
    Verbs,
    /// Requests to a service that is always ready.
    WithoutAxum,
}

impl Group {
    pub(crate) const fn cases(self) -> &'static [Case] {
        match self {
            Self::Admitted => limits::ADMITTED,
            Self::Algorithms => limits::ALGORITHMS,
            Self::Answers => answers::ALONE,
            Self::BehindAxum => pass::BEHIND_AXUM,
            Self::Ciphers => token::CIPHERS,
            Self::GateAdmitted => gate::ADMITTED,
            Self::GateRefused => gate::REFUSED,
            Self::GateWaiters => gate::WAITERS,
            Self::HandedOn => gate::HANDED_ON,
            Self::KeyMemory => limits::KEY_MEMORY,
            Self::KeyOfMillion => limits::MILLION,
            Self::KeyOfOne => limits::ONE,
            Self::KeyOfThousand => limits::THOUSAND,
            Self::KeyOnTwoThreads => limits::TWO_THREADS,
            Self::Memory => room::MEMORY,
            Self::Permits => gate::PERMITS,
            Self::Refused => limits::REFUSED,
            Self::Tokens => token::TOKENS,
            Self::Verbs => room::VERBS,
            Self::WithoutAxum => pass::WITHOUT_AXUM,
        }
    }

    /// The name on the command line of a child process.
    pub(crate) fn argument(self) -> String {
        let value = self.to_possible_value().expect("no group is skipped");
        value.get_name().to_owned()
    }
}

/// Runs one case in this process, and says on standard output how many bytes are resident then.
pub(crate) fn repeat(group: Group, name: &str, first: u64, then: u64) -> Result<()> {
    let case = group.cases().iter().find(|case| case.name == name);
    let case = case.with_context(|| format!("there is no case {name:?} in {group:?}"))?;
    let mut repeat = (case.set_up)();
    if first > 0 {
        repeat.run(first);
    }
    repeat.counted(then);
    println!("{}", measure::resident_bytes()?);
    Ok(())
}
