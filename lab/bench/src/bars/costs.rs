//! A row of the table: the cost of some work, that of its peer, and the bars.

use crate::{
    figure::{Bar, NONE, figure},
    report::Report,
    valgrind::Counts,
};

/// The figures of one case. Those that were not measured are `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    pub(super) instructions: Option<f64>,
    pub(super) allocations: Option<f64>,
    pub(super) ns: Option<f64>,
}

impl Cost {
    pub(super) fn counted(counts: Counts) -> Self {
        let instructions = Some(counts.instructions);
        let allocations = Some(counts.allocations);
        Self { instructions, allocations, ns: None }
    }

    pub(super) fn timed(ns: f64) -> Self {
        Self { ns: Some(ns), ..Self::default() }
    }

    /// The additional cost, compared with another case.
    pub(super) fn over(self, floor: Self) -> Self {
        let over = |this: Option<f64>, floor: Option<f64>| Some(this? - floor?);
        Self {
            instructions: over(self.instructions, floor.instructions),
            allocations: over(self.allocations, floor.allocations),
            ns: over(self.ns, floor.ns),
        }
    }

    fn cells(self, sign: &str) -> [String; 3] {
        let cell = |found: Option<f64>| found.map(|found| format!("{sign}{}", figure(found)));
        [self.instructions, self.allocations, self.ns]
            .map(|found| cell(found).unwrap_or_else(|| NONE.to_owned()))
    }
}

/// One row.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) work: &'static str,
    /// Whether the figures are those over a layer that only forwards.
    pub(super) is_added: bool,
    pub(super) cost: Cost,
    pub(super) peer: Option<(&'static str, Cost)>,
    /// The ratio to the peer.
    pub(super) ratio: Option<f64>,
    pub(super) bars: Vec<Bar>,
}

impl Line {
    /// Whether the row has a bar that is not known to be met.
    pub(super) fn is_missed(&self) -> bool {
        self.bars.iter().any(|bar| bar.is_met() != Some(true))
    }

    pub(super) fn write(&self, report: &mut Report) {
        let sign = if self.is_added { "+" } else { "" };
        let [instructions, allocations, ns] = self.cost.cells(sign);
        let (peer, cost) = self.peer.unwrap_or((NONE, Cost::default()));
        let [peer_instructions, peer_allocations, peer_ns] = cost.cells(sign);
        let conditions: Vec<String> = self.bars.iter().map(Bar::condition).collect();
        let verdict = match self.bars.iter().map(Bar::is_met).min() {
            None => NONE,
            Some(None) => "not measured",
            Some(Some(false)) => "MISSED",
            Some(Some(true)) => "met",
        };
        report.row([
            self.work.to_owned(),
            instructions,
            allocations,
            ns,
            peer.trim_start_matches("+ ").to_owned(),
            peer_instructions,
            peer_allocations,
            peer_ns,
            self.ratio.map_or(NONE.to_owned(), figure),
            if conditions.is_empty() { NONE.to_owned() } else { conditions.join(", ") },
            verdict.to_owned(),
        ]);
    }
}

/// The columns of [`Line::write`].
pub(super) const COLUMNS: [&str; 11] = [
    "work",
    "instructions",
    "allocations",
    "ns",
    "peer",
    "its instructions",
    "its allocations",
    "its ns",
    "ratio",
    "bar",
    "verdict",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn line(bars: Vec<Bar>) -> Line {
        let cost = Cost::timed(40.0);
        let peer = Some(("+ theirs", Cost::timed(20.0)));
        let ratio = None;
        Line { work: "work", is_added: true, cost, peer, ratio, bars }
    }

    #[test]
    fn a_row_is_missed_unless_all_its_bars_are_met() {
        let met = Bar::at_most("ns", 50.0, 40.0);
        let missed = Bar::at_most("allocations", 1.0, 2.0);
        let unknown = Bar::at_most("instructions", 1.0, None);
        assert!(!line(vec![]).is_missed() && !line(vec![met.clone()]).is_missed());
        assert!(line(vec![met.clone(), missed]).is_missed());
        assert!(line(vec![met, unknown]).is_missed(), "it is not known to be met");
    }

    #[test]
    fn a_cost_that_was_not_measured_has_no_difference() {
        let both = Cost { instructions: Some(7.0), ..Cost::timed(5.0) };
        let one = Cost::timed(3.0);
        assert_eq!(both.over(one).cells("+"), [NONE, NONE, "+2.00"]);
    }
}
