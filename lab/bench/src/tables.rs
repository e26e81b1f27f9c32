//! The table of a group.

use anyhow::Result;

use crate::{
    case::{Case, Figures, Group},
    effort::Effort,
    figure::{NONE, figure, range},
    memory,
    report::Report,
    rounds::{Samples, time, time_by_wall},
    valgrind::{Counting, Counts, count},
};

/// Measures the cases of a group. Times are compared with those of the first case.
pub(crate) fn table(group: Group, effort: Effort, counting: Counting) -> Result<Report> {
    match group.figures() {
        Figures::Costs => {
            let mut report = times(group, effort, counting, time)?;
            counting.excuse().into_iter().for_each(|excuse| report.note(excuse));
            Ok(report)
        }
        Figures::Memory => memory::table(group, effort, counting),
        Figures::Times => times(group, effort, Counting::Off, time),
        Figures::WallTimes => {
            let mut report = times(group, effort, Counting::Off, time_by_wall)?;
            report.note("Wall time, on which other work on the machine has influence.");
            Ok(report)
        }
    }
}

fn times(
    group: Group,
    effort: Effort,
    counting: Counting,
    time: fn(&[Case], Effort) -> Vec<Samples>,
) -> Result<Report> {
    let cases = group.cases();
    let times = time(cases, effort);
    let counts = count(group, effort, counting)?;
    let mut report = Report::of_group(group, effort, &COLUMNS);
    for ((case, ns), counts) in cases.iter().zip(&times).zip(&counts) {
        let count = |of: fn(&Counts) -> f64| {
            counts.as_ref().map_or(NONE.to_owned(), |counts| figure(of(counts)))
        };
        report.row([
            case.name.to_owned(),
            figure(ns.median()),
            range(ns),
            figure(ns.ratio_to(&times[0]).median()),
            figure(ns.over(&times[0]).median()),
            count(|counts| counts.instructions),
            count(|counts| counts.allocations),
            count(|counts| counts.bytes),
        ]);
    }
    Ok(report)
}

const COLUMNS: [&str; 8] =
    ["case", "ns/op", "min..max", "x first", "ns over first", "instr/op", "allocs/op", "bytes/op"];
