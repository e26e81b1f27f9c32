//! The tables of runs: one row for all runs of the same kind, with the worst of them.

use comfy_table::{CellAlignment, Table, presets};

use crate::record::Record;

/// The tables of runs, in the order of the first run of each kind: those without a fault, and those
/// with one.
pub(crate) fn tables(records: &[Record]) -> String {
    let (calm, faults): (Vec<_>, Vec<_>) = grouped(records).into_iter().partition(|group| {
        let [first, ..] = group.as_slice() else { return false };
        first.is_calm()
    });
    let tables = [table(&CALM, &calm), table(&FAULTS, &faults)];
    tables.into_iter().flatten().map(|table| table.to_string()).collect::<Vec<_>>().join("\n\n")
}

/// The runs of each kind.
fn grouped(records: &[Record]) -> Vec<Vec<&Record>> {
    let mut groups: Vec<Vec<&Record>> = Vec::new();
    for record in records {
        match groups.iter_mut().find(|group| group[0].kind() == record.kind()) {
            Some(group) => group.push(record),
            None => groups.push(vec![record]),
        }
    }
    groups
}

fn table(columns: &[Column], groups: &[Vec<&Record>]) -> Option<Table> {
    if groups.is_empty() {
        return None;
    }
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(columns.iter().map(|(head, _)| *head));
    for group in groups {
        table.add_row(columns.iter().map(|(_, cell)| cell(group)));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    Some(table)
}

/// The head of a column, and its cell for the runs of one kind.
type Column = (&'static str, fn(&[&Record]) -> String);

/// The columns of runs without a fault.
const CALM: [Column; 14] = [
    ("policy, load", |runs| format!("{}, {}", runs[0].policy, runs[0].load)),
    ("admitted", |runs| range(runs, |run| run.visitors)),
    ("most active", active),
    ("most new in 60 s", new_in_60s),
    ("early", |runs| most(runs, |run| run.early)),
    ("admitted late by, s", |runs| longest(runs, |run| Some(run.out_of_order_s))),
    ("store calls, with a pass", |runs| dearest(runs, |run| Some(run.calls_with_pass))),
    ("store calls, new visitor", |runs| dearest(runs, |run| Some(run.calls_of_newcomer))),
    ("scripts of the stores / admission", |runs| dearest(runs, |run| run.scripts)),
    ("messages for a slot / admission", |runs| dearest(runs, |run| Some(run.asking))),
    ("messages to ledgers / admission", |runs| dearest(runs, |run| Some(run.messages))),
    ("renewals late", renewals_late),
    ("p99 with a pass, ms", |runs| longest(runs, |run| Some(run.pass_p99_ms[0]))),
    ("kept", kept),
];

/// The columns of runs with a fault.
const FAULTS: [Column; 13] = [
    ("fault", |runs| format!("`{}`", runs[0].fault)),
    ("admitted before / during / after", |runs| {
        [0, 1, 2].map(|phase| least(runs, |run| run.admitted[phase])).join(" / ")
    }),
    ("most active", active),
    ("most new in 60 s", new_in_60s),
    ("places lost", |runs| most(runs, |run| run.places_lost)),
    ("valid passes kept out", |runs| most(runs, |run| run.passes_kept_out)),
    ("renewals late", renewals_late),
    ("renewals without a lease", |runs| most(runs, |run| run.renewals_refused)),
    ("p99 with a pass, ms: calm / during", |runs| {
        [0, 1].map(|phase| longest(runs, |run| Some(run.pass_p99_ms[phase]))).join(" / ")
    }),
    ("without a ledger, s", |runs| longest(runs, |run| run.without_ledger_s)),
    ("messages of the old term", |runs| {
        let said = runs.iter().filter_map(|run| run.said_too_late).max();
        said.map_or_else(none, |count| count.to_string())
    }),
    ("no answer", |runs| most(runs, |run| run.unanswered)),
    ("kept", kept),
];

fn active(runs: &[&Record]) -> String {
    format!("{} / {}", most(runs, |run| run.active.most), runs[0].active.limit)
}

fn new_in_60s(runs: &[&Record]) -> String {
    format!("{} / {}", most(runs, |run| run.new_in_60s.most), runs[0].new_in_60s.limit)
}

/// The renewals of the run with the most late ones, of all its renewals.
fn renewals_late(runs: &[&Record]) -> String {
    let worst = runs.iter().max_by_key(|run| run.renewals_late);
    worst.map_or_else(none, |run| format!("{} of {}", run.renewals_late, run.renewals))
}

/// The number of runs that have kept all promises, and the promises that others have broken.
fn kept(runs: &[&Record]) -> String {
    let kept = runs.iter().filter(|run| run.broken.is_empty()).count();
    let mut broken: Vec<_> = runs.iter().flat_map(|run| &run.broken).map(String::as_str).collect();
    broken.sort_unstable();
    broken.dedup();
    match broken.as_slice() {
        [] => format!("{kept} of {}", runs.len()),
        broken => format!("**{kept} of {}: {}**", runs.len(), broken.join(", ")),
    }
}

fn most(runs: &[&Record], figure: impl Fn(&Record) -> u64) -> String {
    runs.iter().map(|run| figure(run)).max().map_or_else(none, |most| most.to_string())
}

fn least(runs: &[&Record], figure: impl Fn(&Record) -> u64) -> String {
    runs.iter().map(|run| figure(run)).min().map_or_else(none, |least| least.to_string())
}

fn range(runs: &[&Record], figure: impl Fn(&Record) -> u64) -> String {
    match [least(runs, &figure), most(runs, &figure)] {
        [least, most] if least == most => most,
        [least, most] => format!("{least}–{most}"),
    }
}

fn longest(runs: &[&Record], figure: impl Fn(&Record) -> Option<f64>) -> String {
    greatest(runs, figure).map_or_else(none, |most| format!("{most:.1}"))
}

fn dearest(runs: &[&Record], figure: impl Fn(&Record) -> Option<f64>) -> String {
    greatest(runs, figure).map_or_else(none, |most| format!("{most:.2}"))
}

fn greatest(runs: &[&Record], figure: impl Fn(&Record) -> Option<f64>) -> Option<f64> {
    runs.iter().filter_map(|run| figure(run)).max_by(f64::total_cmp)
}

/// The text for a figure that no run has.
fn none() -> String {
    "–".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Bounded;

    fn record(fault: &str, seed: u64) -> Record {
        Record {
            fault: fault.to_owned(),
            load: "full".to_owned(),
            policy: "escrow".to_owned(),
            engine: "redis".to_owned(),
            seed,
            admitted: [100 + seed, 200, 300 - seed],
            visitors: 600 + seed,
            active: Bounded { most: 470 + seed, limit: 480 },
            new_in_60s: Bounded { most: 10, limit: 20 },
            early: 0,
            out_of_order_s: 1.0,
            places_lost: 0,
            passes_kept_out: 0,
            renewals: 50,
            renewals_late: seed,
            renewals_refused: 0,
            calls_with_pass: 0.0,
            calls_of_newcomer: 1.0,
            scripts: Some(2.5),
            asking: 0.25,
            messages: 0.75,
            pass_p99_ms: [1.0, 2.0],
            without_ledger_s: None,
            said_too_late: None,
            unanswered: 0,
            broken: Vec::new(),
        }
    }

    fn rows(table: &str, name: &str) -> Vec<String> {
        let row = table.lines().find(|line| line.contains(name)).unwrap();
        row.split('|').map(|cell| cell.trim().to_owned()).filter(|cell| !cell.is_empty()).collect()
    }

    #[test]
    fn a_row_has_the_worst_of_all_runs_of_its_fault() {
        let mut last = record("cut", 7);
        last.broken = vec!["places_lost".to_owned()];
        last.said_too_late = Some(4);
        let tables = tables(&[record("cut", 1), record("jitter", 2), last]);
        let cut = rows(&tables, "`cut`");
        assert_eq!(cut[1], "101 / 200 / 293");
        assert_eq!(cut[2], "477 / 480");
        assert_eq!(cut[6], "7 of 50");
        assert_eq!(cut[10], "4");
        assert_eq!(cut[12], "**1 of 2: places_lost**");
        let jitter = rows(&tables, "`jitter`");
        assert_eq!((jitter[1].as_str(), jitter[12].as_str()), ("102 / 200 / 298", "1 of 1"));
        assert!(!tables.contains("policy, load"), "there is no run without a fault");
    }

    #[test]
    fn runs_without_a_fault_have_a_table_of_their_own() {
        let tables = tables(&[record("none", 1), record("none", 3), record("cut", 1)]);
        let calm = rows(&tables, "escrow, full");
        assert_eq!(calm[1], "601–603");
        assert_eq!(calm[6..11], ["0.00", "1.00", "2.50", "0.25", "0.75"]);
        assert_eq!(tables.split("\n\n").count(), 2);
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let records = [record("none", 1), record("cut", 2)];
        for record in &records {
            record.append(file.path()).unwrap();
        }
        assert_eq!(Record::read(file.path()).unwrap(), records);
        std::fs::write(file.path(), "{}\n").unwrap();
        let error = Record::read(file.path()).unwrap_err().to_string();
        assert!(error.ends_with(", line 1"), "{error}");
    }
}
