//! The outcome of the runs: as a table, and judged.

use comfy_table::{CellAlignment, Table, presets};

use crate::{
    cli::{Plan, Way},
    run::Run,
};

/// All runs, and the requirements on them.
#[derive(Debug)]
pub(crate) struct Report {
    /// The share of the CPU that a run with a gate has to reach, in percent.
    pub(crate) cpu: u32,
    pub(crate) clients: u32,
    pub(crate) runs: Vec<Run>,
}

impl Report {
    pub(crate) fn new(plan: &Plan, runs: Vec<Run>) -> Self {
        Self { cpu: plan.cpu, clients: plan.clients, runs }
    }

    /// A table with one column for each run.
    pub(crate) fn table(&self) -> Table {
        table(&self.runs)
    }

    /// Returns whether all requirements were met.
    pub(crate) fn is_met(&self) -> bool {
        self.missed().is_empty()
    }

    /// The verdict in words.
    pub(crate) fn verdict(&self) -> String {
        match self.missed().as_slice() {
            [] => "every bar was met".to_owned(),
            missed => format!("MISSED: {}", missed.join("; ")),
        }
    }

    fn missed(&self) -> Vec<String> {
        self.runs.iter().flat_map(|run| missed(run, self.cpu)).collect()
    }
}

/// The requirements that a run missed. `cpu` is the requested share in percent.
fn missed(run: &Run, cpu: u32) -> Vec<String> {
    let server = run.curve.server();
    let cpu = f64::from(cpu);
    let (least, most) = match run.way {
        Way::Adaptive | Way::Fixed => (cpu - TOLERANCE, cpu + TOLERANCE),
        Way::Ungated => (WITHOUT_A_GATE, f64::INFINITY),
    };
    let mut missed = Vec::new();
    let mut bar = |is_met: bool, what: String| {
        if !is_met {
            missed.push(format!("{}: {what}", run.way.name()));
        }
    };
    bar((least..=most).contains(&server), format!("CPU at {server:.1} %"));
    bar(run.seen.served() > 0, "no client served".to_owned());
    let unserved = run.seen.unserved;
    bar(unserved == 0, format!("{unserved} never served"));
    let troubles = run.seen.troubles;
    bar(troubles == 0, format!("{troubles} without an answer"));
    let overtaken = run.let_in.overtaken;
    bar(overtaken == 0, format!("{overtaken} let in out of order"));
    missed
}

/// The minimum CPU usage without a gate, in percent.
const WITHOUT_A_GATE: f64 = 95.0;

/// The maximum distance between the mean and the requested share with a gate, in percent of all
/// cores.
const TOLERANCE: f64 = 5.0;

/// A table with one column for each run.
fn table(runs: &[Run]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let names = runs.iter().map(|run| run.way.name().to_owned());
    table.set_header(std::iter::once(String::new()).chain(names));
    for (name, value) in ROWS {
        table.add_row(std::iter::once((*name).to_owned()).chain(runs.iter().map(value)));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn fewest_and_most(run: &Run) -> String {
    let (fewest, most) = run.seen.fewest_and_most();
    format!("{fewest} to {most}")
}

type Row = (&'static str, fn(&Run) -> String);

const ROWS: &[Row] = &[
    ("CPU of the server", |run| format!("{:.1} %", run.curve.server())),
    ("CPU of others", |run| {
        run.curve.others().map_or_else(|| "–".to_owned(), |others| format!("{others:.1} %"))
    }),
    ("pictures", |run| run.seen.served().to_string()),
    ("pictures for each client", fewest_and_most),
    ("wait, half of them", |run| format!("{:.0} ms", run.seen.waits().p50_ms)),
    ("wait, 99 in 100", |run| format!("{:.0} ms", run.seen.waits().p99_ms)),
    ("let in out of order", |run| run.let_in.overtaken.to_string()),
    ("finished behind later ones, at most", |run| run.finished.by_at_most.to_string()),
    ("refused (429)", |run| run.seen.refused.to_string()),
    ("timed out (504)", |run| run.seen.timed_out.to_string()),
    ("never served", |run| run.seen.unserved.to_string()),
    ("/healthz, half of them", |run| format!("{:.1} ms", run.seen.health().p50_ms)),
    ("/healthz, 99 in 100", |run| format!("{:.1} ms", run.seen.health().p99_ms)),
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        cpu::Used,
        order::Overtaking,
        run::{Curve, START},
        seen::Seen,
    };

    fn run(way: Way, server: f64) -> Run {
        let used = |over, server| Used { over, server, others: None };
        let none = Overtaking { overtaken: 0, by_at_most: 0 };
        Run {
            way,
            curve: Curve(vec![used(START, 0.0), used(Duration::from_secs(1), server)]),
            seen: Seen::of_one_served(),
            let_in: none,
            finished: none,
        }
    }

    #[test]
    fn a_run_is_judged_by_the_cpu_that_its_way_is_meant_to_use() {
        for (way, server, is_met) in [
            (Way::Ungated, 94.9, false),
            (Way::Ungated, 95.1, true),
            (Way::Fixed, 64.9, false),
            (Way::Fixed, 65.1, true),
            (Way::Fixed, 74.9, true),
            (Way::Adaptive, 75.1, false),
        ] {
            assert_eq!(missed(&run(way, server), 70).is_empty(), is_met, "{way:?} {server}");
        }
        assert!(missed(&run(Way::Fixed, 40.0), 40).is_empty());
    }

    #[test]
    fn a_run_has_to_serve_every_request_and_in_order() {
        let spoilt = |spoil: &dyn Fn(&mut Run)| {
            let mut run = run(Way::Fixed, 70.0);
            spoil(&mut run);
            missed(&run, 70)
        };
        assert_eq!(spoilt(&|_| ()), [""; 0]);
        assert_eq!(spoilt(&|run| run.seen.unserved = 2), ["fixed limit: 2 never served"]);
        assert_eq!(spoilt(&|run| run.seen.troubles = 1), ["fixed limit: 1 without an answer"]);
        assert_eq!(spoilt(&|run| run.seen = Seen::default()), ["fixed limit: no client served"]);
        let out_of_order = spoilt(&|run| run.let_in.overtaken = 3);
        assert_eq!(out_of_order, ["fixed limit: 3 let in out of order"]);
    }
}
