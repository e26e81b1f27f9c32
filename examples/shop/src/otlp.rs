//! Metrics for OpenTelemetry: a collector gets them by OTLP over HTTP.
//!
//! The figures are collected and sent by a thread of their own, so a collector that is away or slow
//! delays no visitor. What cannot be sent is dropped; counters are cumulative, so the next export
//! that succeeds contains it.

use std::{env, error::Error, str::FromStr, thread, time::Duration};

use http::Uri;
use metrics_opentelemetry::{
    OpenTelemetryMetrics, OpenTelemetryRecorder, opentelemetry::metrics::MeterProvider,
};
use opentelemetry_otlp::{MetricExporter, Protocol, WithExportConfig};
use opentelemetry_sdk::{
    Resource,
    metrics::{PeriodicReader, SdkMeterProvider},
};
use tokio::{sync::oneshot, time::timeout};

/// The address of a collector, such as `http://127.0.0.1:4318`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Collector {
    /// The URL that accepts metrics.
    url: String,
}

/// The exports of this process.
#[derive(Debug)]
pub(crate) struct Exports {
    provider: SdkMeterProvider,
}

impl Collector {
    /// The standard variable for the address of a collector. As in the specification, an empty one is not set.
    const VARIABLE: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

    /// Returns the collector of the environment, if there is one.
    pub(crate) fn from_environment() -> Result<Option<Self>, String> {
        let value = env::var_os(Self::VARIABLE).filter(|value| !value.is_empty());
        let Some(value) = value else { return Ok(None) };
        let collector = value.to_str().ok_or(EXPECTED).and_then(str::parse);
        collector
            .map(Some)
            .map_err(|expected| format!("{} is {value:?}, {expected}", Self::VARIABLE))
    }
}

impl FromStr for Collector {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let uri: Uri = text.parse().map_err(|_| EXPECTED)?;
        let has_host = uri.host().is_some_and(|host| !host.is_empty());
        if uri.scheme_str() != Some("http") || !has_host || uri.query().is_some() {
            return Err(EXPECTED);
        }
        Ok(Self { url: format!("{}/v1/metrics", text.trim_end_matches('/')) })
    }
}

impl Exports {
    /// Begins to send what is recorded to the collector: once a minute, or every
    /// `OTEL_METRIC_EXPORT_INTERVAL` milliseconds. The histograms have the given names and buckets.
    ///
    /// Returns the recorder, which has to be installed before the layer is created: OpenTelemetry
    /// needs the unit of an instrument before its first use.
    pub(crate) fn start(
        collector: &Collector,
        histograms: &[(&'static str, &[f64])],
    ) -> Result<(Self, OpenTelemetryRecorder), Box<dyn Error>> {
        let exporter = MetricExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(&collector.url)
            .build()?;
        let provider = SdkMeterProvider::builder()
            .with_resource(Resource::builder().with_service_name("shop").build())
            .with_reader(PeriodicReader::builder(exporter).build())
            .build();
        let metrics = OpenTelemetryMetrics::new(provider.meter("tower-waiting-room"));
        let mut recorder = OpenTelemetryRecorder::new(metrics);
        for (name, buckets) in histograms {
            recorder.set_histogram_bounds_mut([*name].into_iter(), buckets);
        }
        Ok((Self { provider }, recorder))
    }

    /// Sends the latest figures, and waits for at most [`CLOSING`](Self::CLOSING).
    pub(crate) async fn close(self) {
        let (done, closed) = oneshot::channel();
        // The provider may block for longer. Then the process ends without this thread.
        thread::spawn(move || _ = done.send(self.provider.shutdown()));
        match timeout(Self::CLOSING, closed).await {
            Ok(Ok(Ok(()))) => {}
            _ => tracing::warn!("the collector did not accept the latest metrics"),
        }
    }

    /// The longest time for which the end of the process waits for the collector.
    const CLOSING: Duration = Duration::from_secs(2);
}

const EXPECTED: &str =
    "expected http://HOST:PORT: a collector that accepts OTLP over HTTP, without TLS";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_sent_to_their_path_below_an_address_that_is_well_formed() {
        for (given, url) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/metrics"),
            ("http://collector/", "http://collector/v1/metrics"),
            ("http://[::1]:4318/otlp", "http://[::1]:4318/otlp/v1/metrics"),
        ] {
            assert_eq!(given.parse(), Ok(Collector { url: url.to_owned() }));
        }
        let given = ["", "127.0.0.1:4318", "localhost", "https://collector:4318", "http://", "/v1"];
        for given in given.into_iter().chain(["http://:4318", "grpc://c:4317", "http://c/?key=1"]) {
            assert_eq!(given.parse::<Collector>(), Err(EXPECTED), "{given:?}");
        }
    }
}
