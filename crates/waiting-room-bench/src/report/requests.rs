//! A table of requests: each case of a group beside the first.

use anyhow::Result;

use super::{
    bar::Bar,
    figure::{NONE, cell, figure, range},
    table::Report,
};
use crate::{
    case::Group,
    effort::Effort,
    measure::{Counting, Samples, count, time},
};

/// The columns of such a table.
pub(crate) const REQUESTS: [&str; 9] = [
    "case",
    "ns/op",
    "min..max",
    "x floor",
    "ns over floor",
    "instr/op",
    "allocs/op",
    "bytes/op",
    "bar",
];

/// A row for each case of a group beside the first, with a bar by its name, by what it takes more
/// than the first, and by how many times as much.
pub(crate) fn requests(
    report: &mut Report,
    group: Group,
    effort: Effort,
    counting: Counting,
    bar: fn(&str, f64, f64) -> Option<Bar>,
) -> Result<()> {
    let cases = group.cases();
    let (times, counts) = (time(cases, effort), count(group, effort, counting)?);
    for ((case, ns), counted) in cases.iter().zip(&times).zip(&counts) {
        let [added, ratio] =
            [Samples::over, Samples::ratio_to].map(|beside| beside(ns, &times[0]).median());
        report.row([
            case.name.to_owned(),
            figure(ns.median()),
            range(ns),
            figure(ratio),
            figure(added),
            cell(counted, |counts| counts.instructions),
            cell(counted, |counts| counts.allocations),
            cell(counted, |counts| counts.bytes),
            bar(case.name, added, ratio).map_or(NONE.to_owned(), |bar| bar.to_string()),
        ]);
    }
    counting.excuse().into_iter().for_each(|excuse| report.note(excuse));
    Ok(())
}
