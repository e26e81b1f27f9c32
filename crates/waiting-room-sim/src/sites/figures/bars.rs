//! What the article says of its policies, and what ours has to reach, with each seed.

use super::study::Study;
use crate::sheets::{Bar, Bound};

/// All bars of a study.
pub(super) fn bars(study: &Study) -> Vec<Bar> {
    let bar = |sheet: &str, column: &str, line: &'static str, bound: Bound| {
        let sheet = study.sheet(sheet).expect("a table of every study");
        Bar::of(sheet, column, move |name: &str| name.starts_with(line), bound)
    };
    // "Usually", says the article of its first policy; with a seed it may be a little more or less.
    let usual = |column: &str, bound: Bound| {
        let sheet = study.sheet("first-queue").expect("a table of every study");
        Bar::of_mean(sheet, column, |name| name == "Even", bound)
    };
    [
        usual("nodes alike %", Bound::AtLeast(65.0)),
        usual("nodes alike %", Bound::AtMost(80.0)),
        usual("skew 0.5 %", Bound::AtLeast(65.0)),
        usual("skew 0.5 %", Bound::AtMost(80.0)),
        bar("spike", "highest active %", "Curve, factor 1", Bound::AtLeast(130.0)),
        bar("first-queue", "nodes alike %", "Counters", Bound::AtLeast(88.0)),
        bar("delay", "of the bound", "Counters", Bound::AtMost(1.0)),
        bar("spike", "highest active %", "Escrow", Bound::AtMost(100.0)),
        bar("delay", "too early", "Escrow", Bound::AtMost(0.0)),
        bar("delay", "highest active %", "Escrow", Bound::AtMost(100.0)),
        bar("dead-site", "too early", "Escrow", Bound::AtMost(0.0)),
        bar("dead-site", "highest active %", "Escrow", Bound::AtMost(100.0)),
    ]
    .concat()
}
