//! The bars: the most that each kind of request may cost, beside its peer, in one table. A second
//! table has the ceilings, which are the last known counts.

mod costs;
mod counted;
mod timed;

use std::process::ExitCode;

use anyhow::{Result, bail};

pub(crate) use self::counted::TOGETHER;

use self::{
    costs::{COLUMNS, Cost, Line},
    counted::{FORWARDING, PEERS, Place, ROWS, Row},
};
use crate::{
    effort::Effort,
    figure::{Bar, NONE, figure},
    report::{Report, build},
    valgrind::{Counting, count_each},
};

/// The rows to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rows {
    /// All rows, compared with the bars.
    All,
    /// The rows with instructions and allocations, compared with their last known values.
    Counted,
}

impl Rows {
    /// Returns the rows for the choice on the command line.
    pub(crate) const fn of(counted_only: bool) -> Self {
        if counted_only { Self::Counted } else { Self::All }
    }
}

/// Measures the rows, prints the table, and returns failure if a bar is missed or a ceiling exceeded.
pub(crate) fn run(rows: Rows, effort: Effort, counting: Counting) -> Result<ExitCode> {
    match rows {
        Rows::All => bars(effort, counting),
        Rows::Counted => ceilings(effort, counting),
    }
}

fn bars(effort: Effort, counting: Counting) -> Result<ExitCode> {
    let peers = ROWS.iter().filter_map(|row| row.peer);
    let cases = ROWS.iter().chain(PEERS).map(|row| row.case);
    let costs = Costs::of(cases.chain(peers).chain([FORWARDING]), counting)?;
    let counted = ROWS.iter().map(|row| line(row, &costs));
    let lines: Vec<Line> = counted
        .chain(timed::lines(effort))
        .chain(PEERS.iter().map(|row| line(row, &costs)))
        .collect();
    let mut report = Report::new("The bars", "bars", effort, &COLUMNS);
    lines.iter().for_each(|line| line.write(&mut report));
    report.note(
        "Through axum's Router::layer, except for the checks. Rows with + are the cost over a \
         layer that only forwards. The ratio is that of the instructions, or of the times in the \
         same rounds.",
    );
    report.note(
        "Made-up Accept: 4 096 clients take turns, each with headers as long as the layer reads.",
    );
    report.note(format!("{} The instructions depend on the compiler, not on other work.", build()));
    counting.excuse().into_iter().for_each(|excuse| report.note(excuse));
    println!("{report}");
    let missed = lines.iter().filter(|line| line.is_missed()).count();
    println!("{missed} of {} rows miss their bar.", lines.len() - PEERS.len());
    Ok(success_if(missed == 0))
}

/// Compares a counted row with its bar.
fn line(row: &Row, costs: &Costs) -> Line {
    let cost = costs.of_row(row);
    let peer = row.peer.map(|peer| (peer.1, costs.of_case(peer, row.is_added)));
    let ratio = peer.and_then(|(_, peer)| Some(cost.instructions? / peer.instructions?));
    let mut bars = Vec::new();
    if let Some((instructions, allocations)) = row.bar {
        bars.push(Bar::at_most("instructions", instructions, cost.instructions));
        bars.extend(allocations.map(|limit| Bar::at_most("allocations", limit, cost.allocations)));
    }
    Line { work: row.work, is_added: row.is_added, cost, peer, ratio, bars }
}

fn ceilings(effort: Effort, counting: Counting) -> Result<ExitCode> {
    if let Some(excuse) = counting.excuse() {
        bail!("{excuse}");
    }
    let costs = Costs::of(ROWS.iter().map(|row| row.case).chain([FORWARDING]), counting)?;
    let columns = ["work", "instructions", "last known", "allocations", "last known", "verdict"];
    let mut report = Report::new("The ceilings", "bars --counted-only", effort, &columns);
    let mut exceeded = 0;
    for row in ROWS {
        let Cost { instructions, allocations, .. } = costs.of_row(row);
        let (known_instructions, known_allocations) = row.today;
        let growth = instructions.map(|found| found / known_instructions);
        let bars = [
            Bar::at_most("instructions", known_instructions * (1.0 + SLACK), instructions),
            Bar::at_most("allocations", known_allocations + PART, allocations),
        ];
        let is_held = bars.iter().all(|bar| bar.is_met() == Some(true));
        exceeded += usize::from(!is_held);
        let verdict = match growth {
            _ if !is_held => "EXCEEDED",
            Some(growth) if growth < 1.0 - SLACK => "held; lower the ceiling",
            _ => "held",
        };
        report.row([
            row.work.to_owned(),
            instructions.map_or(NONE.to_owned(), figure),
            figure(known_instructions),
            allocations.map_or(NONE.to_owned(), figure),
            figure(known_allocations),
            verdict.to_owned(),
        ]);
    }
    report.note(
        "A figure may exceed its last known value by 10 %, and by no whole allocation. \
         The bars are not compared.",
    );
    report.note(build());
    println!("{report}");
    println!("{exceeded} of {} rows exceed their ceiling.", ROWS.len());
    Ok(success_if(exceeded == 0))
}

const fn success_if(is_met: bool) -> ExitCode {
    if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The counts of all cases of a table.
struct Costs(Vec<(Place, Cost)>);

impl Costs {
    /// Counts each case once. Without counting, every cost is unknown.
    fn of(cases: impl Iterator<Item = Place>, counting: Counting) -> Result<Self> {
        let mut places: Vec<Place> = Vec::new();
        for place in cases {
            if !places.iter().any(|other| is_same(*other, place)) {
                places.push(place);
            }
        }
        let costs = match counting.excuse() {
            None => count_each(&places, REPETITIONS)?.into_iter().map(Cost::counted).collect(),
            Some(_) => vec![Cost::default(); places.len()],
        };
        Ok(Self(places.into_iter().zip(costs).collect()))
    }

    fn of_row(&self, row: &Row) -> Cost {
        self.of_case(row.case, row.is_added)
    }

    /// Returns the cost of a case, or that over a layer that forwards.
    fn of_case(&self, place: Place, is_added: bool) -> Cost {
        let alone = |place| {
            let found = self.0.iter().find(|(other, _)| is_same(*other, place));
            found.map_or_else(Cost::default, |(_, cost)| *cost)
        };
        if is_added { alone(place).over(alone(FORWARDING)) } else { alone(place) }
    }
}

fn is_same(one: Place, other: Place) -> bool {
    one.0.name() == other.0.name() && one.1 == other.1
}

/// The part by which a figure may exceed its last known value. The counts of one machine differ by
/// 0.3 % from run to run, and those of different processors by several percent.
const SLACK: f64 = 0.10;

/// The part of an allocation by which a figure may exceed its last known value, because a table
/// grows now and then.
const PART: f64 = 0.5;

/// Two numbers of repetitions, both multiples of the dozen browsers; the counts are the difference
/// between them.
const REPETITIONS: (u64, u64) = (60, 240);
