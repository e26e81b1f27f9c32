//! The two tables: verbs, and memory.

use anyhow::Result;

use super::{memory::MEMORY, verbs::VERBS};
use crate::{
    effort::Effort,
    measure::{Counting, Weight, weigh},
    report::{NONE, Report, figure},
};

/// Measures, and prints.
pub(crate) fn run(effort: Effort, counting: Counting) -> Result<()> {
    println!("{}", verbs(effort, counting)?);
    println!("{}", memory(effort, counting)?);
    Ok(())
}

fn verbs(effort: Effort, counting: Counting) -> Result<Report> {
    let columns = ["verb", "ns/op", "min..max", "instr/op", "allocs/op", "bytes/op"];
    let mut report = Report::new("The verbs of a room", "room", effort, &columns);
    report.costs(VERBS, effort, counting)?;
    report
        .note("Without the lock of the store, and with the time given: what the lock is held for.");
    Ok(report)
}

fn memory(effort: Effort, counting: Counting) -> Result<Report> {
    let columns = ["what", "heap bytes", "at the worst", "resident bytes", "allocations"];
    let mut report = Report::new("What a visitor weighs", "room", effort, &columns);
    let visitors = effort.crowd();
    for case in MEMORY.cases() {
        let Weight { resident, heap } = weigh(MEMORY, case.name, visitors, counting)?;
        let [kept, peak, allocations] = heap.map_or([NONE; 3].map(str::to_owned), |heap| {
            [heap.kept, heap.peak, heap.allocations].map(figure)
        });
        report.row([case.name.to_owned(), kept, peak, figure(resident), allocations]);
    }
    report.note(format!("Of {visitors} that came one after another; tables grow by doubling."));
    counting.excuse().into_iter().for_each(|excuse| report.note(excuse));
    Ok(report)
}
