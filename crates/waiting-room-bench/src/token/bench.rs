//! The table: differences of requests, and the ciphers beside them.

use anyhow::Result;

use super::{
    ciphers::CIPHERS,
    requests::{TICKETS, TOKENS},
};
use crate::{
    case::Group,
    effort::Effort,
    measure::{Counting, Counts, Samples, count, time},
    report::{Bar, NONE, Report, figure, range},
};

/// Measures, and prints.
pub(crate) fn run(effort: Effort, counting: Counting) -> Result<()> {
    let tokens = Measured::of(TOKENS, effort, counting)?;
    let ciphers = Measured::of(CIPHERS, effort, counting)?;
    let mut report = Report::new("A token", "token", effort, &COLUMNS);

    let open = tokens.over(WITH_TICKETS, A_PASS, TICKETS);
    let bar = Bar::at_most("ns", 450.0, open.0.median()).to_string();
    row(&mut report, "find, decode and open one token", &open, bar);
    let seal = tokens.over(OF_AN_OLD_KEY, A_PASS, 1);
    row(
        &mut report,
        "find out about a renewal, seal a pass, set the cookie",
        &seal,
        NONE.to_owned(),
    );
    for (index, case) in CIPHERS.cases().iter().enumerate() {
        row(&mut report, case.name, &ciphers.alone(index), NONE.to_owned());
    }

    report.note(
        "One token: a request with three tickets (147 characters) before the pass less one with \
         the pass alone, by three. Nothing of the request is in it but the longer Cookie header; \
         a pass is 126 characters, so the figure is a little too high.",
    );
    report.note(
        "Sealing: a request with a renewed pass of an old key less one with a pass of the new, \
         with everything that hands out the fresh pass.",
    );
    counting.excuse().into_iter().for_each(|excuse| report.note(excuse));
    println!("{report}");
    Ok(())
}

/// A figure for each round, and a count.
type Figure = (Samples, Option<f64>);

fn row(report: &mut Report, name: &str, (ns, instructions): &Figure, bar: String) {
    let instructions = instructions.map_or(NONE.to_owned(), figure);
    report.row([name.to_owned(), figure(ns.median()), range(ns), instructions, bar]);
}

/// A group, measured.
struct Measured {
    times: Vec<Samples>,
    counts: Vec<Option<Counts>>,
}

impl Measured {
    fn of(group: Group, effort: Effort, counting: Counting) -> Result<Self> {
        Ok(Self { times: time(group.cases(), effort), counts: count(group, effort, counting)? })
    }

    fn alone(&self, case: usize) -> Figure {
        (self.times[case].clone(), self.counts[case].map(|counts| counts.instructions))
    }

    /// What one case takes more than another, for each of `parts` equal things.
    fn over(&self, case: usize, floor: usize, parts: usize) -> Figure {
        let parts = u32::try_from(parts).map_or(f64::NAN, f64::from);
        let times = self.times[case].with(&self.times[floor], |more, less| (more - less) / parts);
        let counts = self.counts[case].zip(self.counts[floor]);
        (times, counts.map(|(more, less)| (more.instructions - less.instructions) / parts))
    }
}

const COLUMNS: [&str; 5] = ["what", "ns/op", "min..max", "instr/op", "bar"];

/// Where the requests stand in their group.
const A_PASS: usize = 0;
const WITH_TICKETS: usize = 1;
const OF_AN_OLD_KEY: usize = 2;
