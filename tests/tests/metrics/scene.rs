//! A layer in virtual time, whose metrics are scraped once a minute.

use std::{
    collections::BTreeMap, fmt::Write, fs, net::SocketAddr, ops::Deref, process::Command,
    sync::Arc, time::Duration,
};

use axum::{Router, body::Body, routing::get};
use http::{Request, header, request};
use metrics::with_local_recorder;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use tests::{installed, workspace};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;
use tower_waiting_room::{
    KeyRing, StoreFailure, TokenKey, WaitingRoomConfig, WaitingRoomHandle, WaitingRoomLayer,
    config::WaitingRoomConfigBuilder,
    request::PeerAddr,
    room::Visit,
    time::{ManualClock, Timestamp},
    token::CookieSettings,
};
use waiting_room_doubles::StoreDouble;

/// A layer, its clock and its store.
pub(crate) struct House {
    pub(crate) clock: ManualClock,
    pub(crate) store: StoreDouble,
    pub(crate) handle: WaitingRoomHandle,
    app: Router,
    runtime: Runtime,
}

/// A client that keeps its cookie.
#[derive(Clone, Default)]
pub(crate) struct Visitor(Option<String>);

/// The settings of a room named `shop`.
pub(crate) fn shop() -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("shop")
        .total_active_users(1)
        .cookie(CookieSettings::new())
        .keys(KeyRing::new(TokenKey::from_bytes([1; 32])))
}

impl House {
    pub(crate) fn new(config: WaitingRoomConfigBuilder) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
        let config = config.build().unwrap();
        let rules = config.room().unwrap().clone();
        let store = StoreDouble::with_clock(rules, &clock).with_another_node();
        let config = config.into_builder().room_store(store.clone(), StoreFailure::Wait);
        let layer = WaitingRoomLayer::new(config.build().unwrap());
        let handle = layer.handle();
        let app = Router::new()
            .route("/", get(|| async { "inside" }))
            .route(
                "/end",
                get(|request: Request<Body>| async move {
                    request.extensions().get::<Visit>().unwrap().end();
                }),
            )
            .route("/slow", get(std::future::pending::<()>))
            .layer(layer);
        Self { clock, store, handle, app, runtime }
    }

    pub(crate) fn advance(&self, secs: u64) {
        self.clock.advance(Duration::from_secs(secs));
    }

    pub(crate) fn run<T>(&self, part: impl Future<Output = T>) -> T {
        self.runtime.block_on(part)
    }

    /// Sends a request without waiting for its body, and returns whether it was forwarded.
    pub(crate) fn send(&self, request: Request<Body>) -> bool {
        self.run(self.app.clone().oneshot(request)).unwrap().status().is_success()
    }

    pub(crate) fn app(&self) -> Router {
        self.app.clone()
    }

    pub(crate) fn record(&self) {
        self.run(self.handle.record());
    }
}

impl Visitor {
    /// A client that sends this cookie.
    pub(crate) fn with(cookie: &str) -> Self {
        Self(Some(cookie.to_owned()))
    }

    /// Visits the home page, and returns whether the request was forwarded.
    pub(crate) fn get(&mut self, house: &House) -> bool {
        self.visit(house, "/")
    }

    pub(crate) fn visit(&mut self, house: &House, path: &str) -> bool {
        self.ask(house, Request::get(path))
    }

    /// Opens a push stream, and closes it again. Returns whether it was opened.
    pub(crate) fn follow(&mut self, house: &House, path: &str) -> bool {
        self.ask(house, Request::get(path).header(header::ACCEPT, "text/event-stream"))
    }

    fn ask(&mut self, house: &House, mut request: request::Builder) -> bool {
        if let Some(cookie) = &self.0 {
            request = request.header(header::COOKIE, cookie);
        }
        let mut request = request.body(Body::empty()).unwrap();
        request.extensions_mut().insert(PeerAddr(SocketAddr::from(([192, 0, 2, 1], 40_000))));
        let response = house.run(house.app().oneshot(request)).unwrap();
        if let Some(cookie) = response.headers().get(header::SET_COOKIE) {
            self.0 = Some(cookie.to_str().unwrap().split(';').next().unwrap().to_owned());
        }
        response.status().is_success()
    }
}

/// A house whose metrics are scraped once a minute.
pub(crate) struct Scene {
    pub(crate) house: House,
    scraped: Scraped,
}

/// Metrics that are scraped once a minute.
pub(crate) struct Scraped {
    pub(crate) recorder: Arc<PrometheusRecorder>,
    prometheus: PrometheusHandle,
    /// The samples of each series, one for each minute.
    samples: BTreeMap<String, Vec<Option<f64>>>,
    minutes: usize,
}

impl Deref for Scene {
    type Target = Scraped;

    fn deref(&self) -> &Scraped {
        &self.scraped
    }
}

impl Scene {
    pub(crate) fn new(config: WaitingRoomConfigBuilder) -> Self {
        let scraped = Scraped::new();
        let house = with_local_recorder(&scraped.recorder, || House::new(config));
        Self { house, scraped }
    }

    /// Adds the samples of another node, as if both nodes shared a store and were scraped in the
    /// same minutes.
    pub(crate) fn beside(mut self, other: Self) -> Self {
        assert_eq!(self.minutes, other.minutes);
        let nodes = [("a", self.scraped.samples), ("b", other.scraped.samples)];
        let of_node = |(instance, samples): (&str, BTreeMap<String, _>)| {
            let label = format!("{{instance=\"{instance}\",");
            let labelled = samples.into_iter();
            let labelled =
                labelled.map(|(series, values)| (series.replacen('{', &label, 1), values));
            labelled.collect::<Vec<_>>()
        };
        self.scraped.samples = nodes.into_iter().flat_map(of_node).collect();
        self
    }

    /// Plays one scene for each of the next `minutes`, and scrapes the metrics after it.
    pub(crate) fn play(&mut self, minutes: usize, mut scene: impl FnMut(&House)) -> &mut Self {
        for _ in 0..minutes {
            with_local_recorder(&self.scraped.recorder, || {
                scene(&self.house);
                self.house.record();
            });
            self.scraped.scrape();
            self.house.advance(60);
        }
        self
    }
}

impl Scraped {
    pub(crate) fn new() -> Self {
        let recorder = PrometheusBuilder::new().set_buckets(&[1.0, 60.0, 600.0, 3_600.0]);
        let recorder = Arc::new(recorder.unwrap().build_recorder());
        let prometheus = recorder.handle();
        Self { recorder, prometheus, samples: BTreeMap::new(), minutes: 0 }
    }

    /// Asserts that the alert fires at the end of the scene, and did not fire after its first
    /// minute.
    #[track_caller]
    pub(crate) fn assert_fires(&self, alert: &str) {
        let firing = firing(alert);
        self.check(&[(self.minutes - 1, &firing, Some(1)), (1, &firing, None)]);
    }

    /// Asserts that the alert fires at the end of the scene.
    #[track_caller]
    pub(crate) fn assert_fires_at_the_end(&self, alert: &str) {
        self.check(&[(self.minutes - 1, &firing(alert), Some(1))]);
    }

    /// Asserts that the alert does not fire at the end of the scene.
    #[track_caller]
    pub(crate) fn assert_ended(&self, alert: &str) {
        self.check(&[(self.minutes - 1, &firing(alert), None)]);
    }

    /// Asserts that the alert fires in no minute of the scene.
    #[track_caller]
    pub(crate) fn assert_silent(&self, alert: &str) {
        let firing = firing(alert);
        let each: Vec<_> = (0..self.minutes).map(|at| (at, firing.as_str(), None)).collect();
        self.check(&each);
    }

    /// Asserts that no alert is pending or firing in any minute of the scene.
    #[track_caller]
    pub(crate) fn assert_quiet(&self) {
        let each: Vec<_> = (0..self.minutes).map(|at| (at, "count(ALERTS)", None)).collect();
        self.check(&each);
    }

    /// Lets `promtool` apply the rules to the samples, and evaluate expressions after some minutes.
    #[track_caller]
    fn check(&self, expected: &[(usize, &str, Option<u32>)]) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scene.yml");
        let mut file = format!(
            "rule_files: [{}]\nevaluation_interval: 1m\ntests:\n- interval: 1m\n  input_series:\n",
            workspace("deploy/alerts.yml").canonicalize().unwrap().display(),
        );
        for (series, samples) in &self.samples {
            let values =
                samples.iter().map(|value| value.map_or("_".into(), |number| number.to_string()));
            let values = values.collect::<Vec<String>>().join(" ");
            writeln!(file, "  - series: '{series}'\n    values: '{values}'").unwrap();
        }
        file.push_str("  promql_expr_test:\n");
        for (minute, expr, value) in expected {
            writeln!(file, "  - expr: '{expr}'\n    eval_time: {minute}m").unwrap();
            if let Some(value) = value {
                writeln!(file, "    exp_samples: [{{labels: '{{}}', value: {value}}}]").unwrap();
            }
        }
        fs::write(&path, &file).unwrap();
        let mut promtool = Command::new(installed("promtool"));
        let output = promtool.args(["test", "rules"]).arg(&path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}\n{file}");
    }

    /// Adds the current value of each series.
    pub(crate) fn scrape(&mut self) {
        for line in self.prometheus.render().lines().filter(|line| !line.starts_with('#')) {
            let Some((series, value)) = line.rsplit_once(' ') else { continue };
            let value = value.parse::<f64>().unwrap();
            let samples = self.samples.entry(series.to_owned()).or_default();
            samples.resize(self.minutes, None);
            // A test of rules cannot contain infinite values. Only limits are infinite.
            samples.push(value.is_finite().then_some(value));
        }
        self.minutes += 1;
    }
}

/// The number of instances of the alert that fire.
fn firing(alert: &str) -> String {
    format!("count(ALERTS{{alertname=\"{alert}\",alertstate=\"firing\"}})")
}
