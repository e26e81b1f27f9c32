//! The rows with times, all of which are compared with a peer in the same rounds.

use super::costs::{Cost, Line};
use crate::{
    case::{Case, Group},
    effort::Effort,
    figure::Bar,
    limits::{MILLION, THOUSAND, UNSEEN, slowest},
    rounds::{Samples, time},
};

/// A row with times.
#[derive(Clone, Copy, Debug)]
struct Row {
    work: &'static str,
    case: &'static str,
    /// The most that the time may be, as a multiple of the peer's.
    bar: f64,
}

/// Measures all rows.
pub(super) fn lines(effort: Effort) -> Vec<Line> {
    let timed = TABLES.iter().flat_map(|(group, rows)| of_group(*group, rows, effort));
    timed.chain([of_the_slowest(effort)]).collect()
}

fn of_group(group: Group, rows: &[Row], effort: Effort) -> Vec<Line> {
    let names = rows.iter().map(|row| row.case).chain([GOVERNOR]);
    let times = time(&cases(group, names), effort);
    let peer = &times[rows.len()];
    let line = |(row, ns): (&Row, &Samples)| {
        let ratio = ns.ratio_to(peer).median();
        Line {
            work: row.work,
            is_added: false,
            cost: Cost::timed(ns.median()),
            peer: Some((GOVERNOR, Cost::timed(peer.median()))),
            ratio: Some(ratio),
            bars: vec![Bar::at_most("ratio", row.bar, ratio)],
        }
    };
    rows.iter().zip(&times).map(line).collect()
}

/// Compares the time that one check in a thousand exceeds, if each check is the first of its key.
fn of_the_slowest(effort: Effort) -> Line {
    let found = slowest(&cases(UNSEEN, [GIVEN, GOVERNOR].into_iter()), effort);
    Line {
        work: "… p99.9 of such a check",
        is_added: false,
        cost: Cost::timed(found[0]),
        peer: Some((GOVERNOR, Cost::timed(found[1]))),
        ratio: Some(found[0] / found[1]),
        bars: vec![Bar::at_most("ns", 2_000.0, found[0])],
    }
}

fn cases(group: Group, names: impl Iterator<Item = &'static str>) -> Vec<Case> {
    names.map(|name| *group.case(name).expect("a test looks for every case")).collect()
}

const TABLES: [(Group, &[Row]); 3] = [
    (
        THOUSAND,
        &[
            Row { work: "… time of the check", case: GIVEN, bar: 0.65 },
            Row { work: "… through the layer's own clock", case: OWN_CLOCK, bar: 0.8 },
        ],
    ),
    (MILLION, &[Row { work: "… the same, 1 000 000 keys", case: OWN_CLOCK, bar: 0.5 }]),
    (UNSEEN, &[Row { work: "… a key never seen, table full of 1 000 000", case: GIVEN, bar: 1.0 }]),
];

const GIVEN: &str = "Limiter, the time given";
const OWN_CLOCK: &str = "Limiter, SystemClock";
const GOVERNOR: &str = "governor";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_cases() {
        for (group, rows) in TABLES {
            let names = rows.iter().map(|row| row.case).chain([GOVERNOR]);
            assert!(names.into_iter().all(|name| group.case(name).is_some()), "{group:?}");
        }
    }
}
