//! The table of metrics in `docs/metrics.md`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use crate::workspace;

/// A row of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricRow {
    /// `counter`, `gauge` or `histogram`.
    pub kind: String,
    /// The unit, in the words of the `metrics` facade.
    pub unit: String,
    /// The names of the labels.
    pub labels: BTreeSet<String>,
    /// The description.
    pub meaning: String,
}

/// The part of the names of a ledger's metrics that those of a layer lack.
const OF_LEDGER: &str = "waiting_room_ledger_";

/// Reads the table of a layer's metrics, by name.
#[must_use]
pub fn documented_metrics() -> BTreeMap<String, MetricRow> {
    all_metrics().into_iter().filter(|(name, _)| !name.starts_with(OF_LEDGER)).collect()
}

/// Reads the table of a ledger's metrics, by name.
#[must_use]
pub fn ledger_metrics() -> BTreeMap<String, MetricRow> {
    all_metrics().into_iter().filter(|(name, _)| name.starts_with(OF_LEDGER)).collect()
}

fn all_metrics() -> BTreeMap<String, MetricRow> {
    let page = fs::read_to_string(workspace("docs/metrics.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("|`waiting_room_"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').skip(1).take(5).collect();
        let [name, kind, unit, labels, meaning] = cells[..] else { panic!("{line}") };
        let labels = labels.split(", ").filter(|label| !label.is_empty());
        let labels = labels.map(|label| label.trim_matches('`').to_owned()).collect();
        // A metric counts unless the table names a unit.
        let unit = if unit.is_empty() { "count" } else { unit };
        let [kind, unit, meaning] = [kind, unit, meaning].map(str::to_owned);
        (name.trim_matches('`').to_owned(), MetricRow { kind, unit, labels, meaning })
    };
    rows.map(row).collect()
}
