//! A collector of OpenTelemetry, as far as an exporter of metrics can tell.

use std::{
    collections::BTreeMap,
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use opentelemetry_proto::tonic::{
    collector::metrics::v1::{ExportMetricsServiceRequest, ExportMetricsServiceResponse},
    common::v1::{KeyValue, any_value},
    metrics::v1::{
        AggregationTemporality, HistogramDataPoint, Metric, NumberDataPoint, metric::Data,
        number_data_point,
    },
};
use prost::Message;

use crate::{MetricRow, Process};

/// A server that accepts metrics by OTLP over HTTP, and keeps the latest export.
#[derive(Debug)]
pub struct Collector {
    process: Process,
    received: Arc<Mutex<Received>>,
}

/// The reaction of a collector to an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a collector for tests")]
pub enum Manner {
    /// It accepts it.
    Accepts,
    /// It answers with status 500.
    Fails,
    /// It never answers.
    Stalls,
}

/// A metric of an export.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Exported {
    /// Its kind, unit, labels and meaning, in the words of the table of metrics.
    pub row: MetricRow,
    /// The value of each of its series, named as in the text for Prometheus.
    pub series: BTreeMap<String, f64>,
}

#[derive(Debug, Default)]
struct Received {
    requests: usize,
    latest: ExportMetricsServiceRequest,
}

impl Collector {
    /// Opens a collector on a free port.
    #[must_use]
    pub fn start(manner: Manner) -> Self {
        let received = Arc::<Mutex<Received>>::default();
        let state = (manner, Arc::clone(&received));
        let app = Router::new().route("/v1/metrics", post(export)).with_state(state);
        let process = Process::start(async move |listener| {
            axum::serve(listener, app).await.unwrap();
        });
        Self { process, received }
    }

    /// The address for exporters.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.process.port())
    }

    /// The number of exports so far.
    #[must_use]
    pub fn requests(&self) -> usize {
        lock(&self.received).requests
    }

    /// The metrics of the latest export, by name.
    #[must_use]
    pub fn exported(&self) -> BTreeMap<String, Exported> {
        let latest = lock(&self.received).latest.clone();
        let scopes =
            latest.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
        let metrics = scopes.flat_map(|scope| scope.metrics);
        metrics.map(|metric| (metric.name.clone(), read(metric))).collect()
    }

    /// The values of all series of the latest export, named as in the text for Prometheus.
    #[must_use]
    pub fn series(&self) -> BTreeMap<String, f64> {
        self.exported().into_values().flat_map(|metric| metric.series).collect()
    }
}

/// Reads the values of all series in a text for Prometheus. The labels of each are sorted.
#[must_use]
pub fn prometheus_series(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let series = lines.map(|line| {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.trim_end_matches('}').split_once('{').unwrap_or((series, ""));
        // No value of a label contains a comma.
        let labels = labels.split(',').map(str::to_owned).collect();
        (named(name, labels), value.parse().unwrap())
    });
    series.collect()
}

async fn export(
    State((manner, received)): State<(Manner, Arc<Mutex<Received>>)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    assert_eq!(headers[header::CONTENT_TYPE], PROTOBUF);
    {
        let mut received = lock(&received);
        received.latest = ExportMetricsServiceRequest::decode(body).unwrap();
        received.requests += 1;
    }
    match manner {
        Manner::Accepts => {
            let accepted = ExportMetricsServiceResponse::default().encode_to_vec();
            ([(header::CONTENT_TYPE, PROTOBUF)], accepted).into_response()
        }
        Manner::Fails => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Manner::Stalls => pending().await,
    }
}

fn read(metric: Metric) -> Exported {
    let Metric { name, description, unit, data, .. } = metric;
    let cumulative = AggregationTemporality::Cumulative as i32;
    let mut row = MetricRow { meaning: description, unit: unit_of(&unit), ..MetricRow::default() };
    let mut series = BTreeMap::new();
    let mut add_number = |row: &mut MetricRow, point: NumberDataPoint| {
        let labels = labels(row, &point.attributes);
        series.insert(self::named(&name, labels), number(&point));
    };
    match data {
        Some(Data::Gauge(gauge)) => {
            row.kind = "gauge".to_owned();
            gauge.data_points.into_iter().for_each(|point| add_number(&mut row, point));
        }
        Some(Data::Sum(sum)) if sum.is_monotonic && sum.aggregation_temporality == cumulative => {
            row.kind = "counter".to_owned();
            sum.data_points.into_iter().for_each(|point| add_number(&mut row, point));
        }
        Some(Data::Histogram(it)) if it.aggregation_temporality == cumulative => {
            row.kind = "histogram".to_owned();
            for point in it.data_points {
                let labels = labels(&mut row, &point.attributes);
                series.extend(histogram(&name, &labels, &point));
            }
        }
        other => panic!("{name} is exported as {other:?}"),
    }
    Exported { row, series }
}

/// Returns the series of a histogram: its buckets, its count and its sum.
fn histogram(name: &str, labels: &[String], point: &HistogramDataPoint) -> BTreeMap<String, f64> {
    let count = |count: u64| f64::from(u32::try_from(count).unwrap());
    let ends = point.explicit_bounds.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
    let mut below = 0;
    let buckets = ends.zip(&point.bucket_counts).map(|(end, in_bucket)| {
        below += in_bucket;
        let labels = labels.iter().cloned().chain([format!("le=\"{end}\"")]);
        (named(&format!("{name}_bucket"), labels.collect()), count(below))
    });
    let mut series: BTreeMap<_, _> = buckets.collect();
    series.insert(named(&format!("{name}_count"), labels.to_vec()), count(point.count));
    series.insert(named(&format!("{name}_sum"), labels.to_vec()), point.sum.unwrap());
    series
}

/// Returns the labels of a series, after adding their names to the row.
fn labels(row: &mut MetricRow, attributes: &[KeyValue]) -> Vec<String> {
    let label = |attribute: &KeyValue| {
        row.labels.insert(attribute.key.clone());
        match attribute.value.as_ref().and_then(|value| value.value.as_ref()) {
            Some(any_value::Value::StringValue(value)) => format!("{}=\"{value}\"", attribute.key),
            other => panic!("the value of {} is {other:?}", attribute.key),
        }
    };
    attributes.iter().map(label).collect()
}

fn number(point: &NumberDataPoint) -> f64 {
    match point.value.unwrap() {
        number_data_point::Value::AsDouble(value) => value,
        number_data_point::Value::AsInt(value) => f64::from(i32::try_from(value).unwrap()),
    }
}

/// Returns the name of a series in the text for Prometheus, with sorted labels.
fn named(name: &str, mut labels: Vec<String>) -> String {
    labels.sort();
    match labels.join(",") {
        labels if labels.is_empty() => name.to_owned(),
        labels => format!("{name}{{{labels}}}"),
    }
}

/// Returns the unit in the words of the table of metrics.
fn unit_of(unit: &str) -> String {
    let unit = match unit {
        "1" => "count",
        "1/s" => "count_per_second",
        "s" => "seconds",
        other => other,
    };
    unit.to_owned()
}

fn lock(received: &Mutex<Received>) -> MutexGuard<'_, Received> {
    received.lock().unwrap_or_else(PoisonError::into_inner)
}

const PROTOBUF: &str = "application/x-protobuf";
