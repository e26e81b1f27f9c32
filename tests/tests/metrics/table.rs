//! The table of `docs/metrics.md`, and all that has to agree with it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    process::Command,
    sync::Mutex,
};

use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
    with_local_recorder,
};
use metrics_opentelemetry::{
    OpenTelemetryMetrics, OpenTelemetryRecorder, opentelemetry::metrics::MeterProvider,
};
use opentelemetry_otlp::{MetricExporter, WithExportConfig};
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use tests::{
    Collector, Manner, MetricRow, documented_metrics as documented, installed, ledger_metrics,
    workspace,
};
use waiting_room_doubles::assert_documented;

use crate::everything::everything;

/// Keeps what it is told of metrics.
#[derive(Default)]
pub(crate) struct Told(Mutex<BTreeMap<String, MetricRow>>);

impl Told {
    /// Compares what this was told with a table of the page.
    pub(crate) fn assert_documented(self, table: &str) {
        let mut rows = "|name|kind|unit|labels|meaning|\n|-|-|-|-|-|\n".to_owned();
        for (name, MetricRow { kind, unit, labels, meaning }) in self.0.into_inner().unwrap() {
            let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
            let unit = if unit == "count" { "" } else { &*unit };
            writeln!(rows, "|`{name}`|{kind}|{unit}|{}|{meaning}|", labels.join(", ")).unwrap();
        }
        assert_documented("metrics.md", table, &rows);
    }

    fn describe(&self, name: &KeyName, kind: &str, unit: Option<Unit>, meaning: &SharedString) {
        let mut rows = self.0.lock().unwrap();
        let row = rows.entry(name.as_str().to_owned()).or_default();
        row.kind = kind.to_owned();
        row.unit = unit.unwrap().as_str().to_owned();
        row.meaning = meaning.to_string();
    }

    fn register(&self, key: &Key) {
        let mut rows = self.0.lock().unwrap();
        let row = rows.entry(key.name().to_owned()).or_default();
        row.labels.extend(key.labels().map(|label| label.key().to_owned()));
    }
}

impl Recorder for Told {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, meaning: SharedString) {
        self.describe(&name, "counter", unit, &meaning);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, meaning: SharedString) {
        self.describe(&name, "gauge", unit, &meaning);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, meaning: SharedString) {
        self.describe(&name, "histogram", unit, &meaning);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        self.register(key);
        Counter::noop()
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        self.register(key);
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        self.register(key);
        Histogram::noop()
    }
}

#[test]
fn the_table_matches_the_recorders_and_every_metric_is_observed() {
    let told = Told::default();
    with_local_recorder(&told, everything);
    told.assert_documented("metrics of a layer");
}

#[test]
fn a_collector_gets_exactly_the_table_by_otlp() {
    let collector = Collector::start(Manner::Accepts);
    let url = format!("{}/v1/metrics", collector.origin());
    let exporter = MetricExporter::builder().with_http().with_endpoint(url).build().unwrap();
    let reader = PeriodicReader::builder(exporter).build();
    let provider = SdkMeterProvider::builder().with_reader(reader).build();
    let recorder = OpenTelemetryRecorder::new(OpenTelemetryMetrics::new(provider.meter("shop")));
    with_local_recorder(&recorder, everything);
    provider.force_flush().unwrap();
    let exported = collector.exported().into_iter().map(|(name, metric)| (name, metric.row));
    let exported = exported.collect::<BTreeMap<_, _>>();
    let documented = documented();
    for (name, row) in &exported {
        assert_eq!(documented.get(name), Some(row), "{name}");
    }
    assert_eq!(documented.keys().collect::<Vec<_>>(), exported.keys().collect::<Vec<_>>());
}

/// The names of metrics in a text, each without the suffix that Prometheus adds for histograms.
fn names(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c: char| !is_part(c)).filter(|word| word.starts_with("waiting_room_"));
    let documented = documented();
    words
        .map(|word| {
            let suffixes = ["_bucket", "_count", "_sum"];
            let base = suffixes.iter().find_map(|suffix| word.strip_suffix(suffix));
            let is_histogram =
                |name: &&str| documented.get(*name).is_some_and(|row| row.kind == "histogram");
            base.filter(is_histogram).unwrap_or(word).to_owned()
        })
        .collect()
}

#[test]
fn promtool_accepts_the_alerts() {
    let mut promtool = Command::new(installed("promtool"));
    let output = promtool.args(["check", "rules"]).arg(workspace("deploy/alerts.yml")).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The expressions of the panels in `deploy/grafana.json`.
fn panels() -> String {
    let dashboard = fs::read_to_string(workspace("deploy/grafana.json")).unwrap();
    let board: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    let panels = board["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let exprs: Vec<_> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    exprs.join("\n")
}

/// The part of an expression that leaves out nodes which do not reach the store.
const REACHES_THE_STORE: &str = " and on (job, instance, room) waiting_room_store_up == 1)";

#[test]
fn figures_of_the_room_are_taken_from_nodes_that_reach_the_store() {
    const OF_A_NODE: [&str; 3] =
        ["waiting_room_push_streams", "waiting_room_rules_file_outdated", "waiting_room_store_up"];
    let gauges = documented().into_iter().filter(|(name, row)| {
        row.kind == "gauge" && !row.labels.contains("gate") && !OF_A_NODE.contains(&&**name)
    });
    let gauges: Vec<_> = gauges.map(|(name, _)| name).collect();
    let alerts = fs::read_to_string(workspace("deploy/alerts.yml")).unwrap();
    let mut used = 0;
    for line in alerts.lines().chain(panels().lines()) {
        // The part before each filter ends with the selector of a gauge.
        let parts: Vec<_> = line.split(REACHES_THE_STORE).collect();
        for (index, part) in parts.iter().enumerate() {
            let words = part.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let figures = words.filter(|word| gauges.iter().any(|gauge| gauge == word)).count();
            assert_eq!(figures, usize::from(index + 1 < parts.len()), "{line}");
            used += figures;
        }
    }
    assert!(used > gauges.len(), "{used}");
}

#[test]
fn alerts_and_the_dashboard_use_only_metrics_of_the_table() {
    let documented = documented().into_keys().chain(ledger_metrics().into_keys());
    let documented = documented.collect::<BTreeSet<_>>();
    let alerts = fs::read_to_string(workspace("deploy/alerts.yml")).unwrap();
    let exprs = panels();
    for (what, text) in [("alerts.yml", &alerts), ("grafana.json", &exprs)] {
        let used = names(text);
        let unknown: Vec<_> = used.difference(&documented).collect();
        assert!(unknown.is_empty() && used.len() > 10, "{what} uses {unknown:?}");
    }
    // The dashboard shows every metric.
    let shown = names(&exprs);
    assert_eq!(documented.difference(&shown).collect::<Vec<_>>(), Vec::<&String>::new());
}
