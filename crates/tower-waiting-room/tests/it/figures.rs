//! Figures of the room: what operators read in metrics and snapshots about the visitors.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use http::Request;
use metrics::with_local_recorder;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use tower_waiting_room::{Concurrency, config::WaitingRoomConfigBuilder, room::Visit};

use crate::support::{House, Seen, Visitor, config};

/// A house whose metrics are recorded for Prometheus.
struct Watched {
    house: House,
    recorder: PrometheusRecorder,
    prometheus: PrometheusHandle,
    runtime: tokio::runtime::Runtime,
}

impl Watched {
    fn new(config: WaitingRoomConfigBuilder) -> Self {
        let recorder = PrometheusBuilder::new().build_recorder();
        let prometheus = recorder.handle();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let house = with_local_recorder(&recorder, || House::new(config));
        Self { house, recorder, prometheus, runtime }
    }

    /// Runs a part of the test while the metrics are recorded.
    fn run<T>(&self, part: impl Future<Output = T>) -> T {
        with_local_recorder(&self.recorder, || self.runtime.block_on(part))
    }

    fn get(&self, visitor: &mut Visitor) -> Seen {
        self.send(visitor, Request::get("/").header("accept", "application/json"))
    }

    fn send(&self, visitor: &mut Visitor, request: http::request::Builder) -> Seen {
        self.run(visitor.send(&self.house, request))
    }

    /// Sends the check-ins of a visitor when they are due, until it is admitted.
    fn wait(&self, visitor: &mut Visitor) {
        for _ in 0..1_000 {
            let seen = self.get(visitor);
            if seen.is_inside() {
                return;
            }
            self.house.advance(seen.header("retry-after").unwrap().parse().unwrap());
        }
        panic!("the visitor is never admitted");
    }

    fn now(&self) -> u64 {
        use tower_waiting_room::time::Clock;
        self.house.clock.now().as_secs()
    }

    /// The value of a series, or `None` if it does not exist. `series` is a name without prefix,
    /// and may contain labels other than the room.
    fn value(&self, series: &str) -> Option<f64> {
        self.run(self.house.handle().record());
        let text = self.prometheus.render();
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let labels = if labels == "}" { labels.to_owned() } else { format!(",{labels}") };
        let start = format!("waiting_room_{name}{{room=\"shop\"{labels} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&start));
        line.map(|value| value.parse().unwrap())
    }

    #[track_caller]
    fn assert_is(&self, series: &str, expected: f64) {
        let value = self.value(series);
        let is_near = |value: f64| (value - expected).abs() < 1e-6 || value.eq(&expected);
        assert!(value.is_some_and(is_near), "{series} is {value:?}, not {expected}");
    }
}

#[test]
fn a_wait_lasts_from_the_first_touch_to_the_admission() {
    let watched = Watched::new(config());
    let mut ann = Visitor::default();
    let mut bob = Visitor::default();
    watched.get(&mut ann);
    watched.assert_is("admitted_total", 1.0);
    assert_eq!(watched.value("wait_seconds_count"), None, "the first visitor did not wait");

    let came = watched.now();
    let first = watched.get(&mut bob);
    watched.house.advance(first.header("retry-after").unwrap().parse().unwrap());
    let placed = watched.get(&mut bob);
    let told = placed.json()["waitingRoom"]["waitSeconds"]["p50"].as_u64().unwrap();
    let promised = watched.now() - came + told;
    watched.house.advance(placed.header("retry-after").unwrap().parse().unwrap());
    watched.wait(&mut bob);
    let waited = watched.now() - came;

    assert_eq!(watched.house.handle().waits().len(), 1);
    watched.assert_is("first_touches_total", 1.0);
    watched.assert_is("admitted_total", 2.0);
    watched.assert_is("wait_seconds_count", 1.0);
    watched.assert_is("wait_seconds_sum", waited as f64);
    let longer = if waited > promised { "longer" } else { "shorter" };
    watched.assert_is(
        &format!("estimate_error_seconds_sum{{waited=\"{longer}\"}}"),
        waited.abs_diff(promised) as f64,
    );
    // Further requests of an active visitor are not admissions.
    watched.get(&mut bob);
    watched.assert_is("admitted_total", 2.0);
}

#[test]
fn a_place_that_lapses_is_an_abandoned_one() {
    let watched = Watched::new(config());
    let mut ann = Visitor::default();
    let mut bob = Visitor::default();
    watched.get(&mut ann);
    watched.run(bob.queue(&watched.house));
    watched.assert_is("waiting", 1.0);
    watched.assert_is("present", 1.0);
    watched.assert_is("abandoned_total", 0.0);
    watched.house.advance(299);
    watched.assert_is("present", 0.0);
    watched.assert_is("abandoned_total", 0.0);
    watched.house.advance(1);
    watched.assert_is("waiting", 0.0);
    watched.assert_is("abandoned_total", 1.0);
}

#[test]
fn a_visitor_whose_ticket_has_lapsed_has_not_waited_since_its_first_touch() {
    let watched = Watched::new(config());
    let mut ann = Visitor::default();
    let mut bob = Visitor::default();
    watched.get(&mut ann);
    watched.run(bob.queue(&watched.house));
    watched.house.advance(3_600);
    assert!(watched.get(&mut bob).is_inside());
    watched.assert_is("admitted_total", 2.0);
    assert_eq!(watched.value("wait_seconds_count"), None);
}

#[test]
fn a_session_that_the_application_ends_is_counted() {
    for (name, value) in [("x-app-waiting-room-command", "revoke"), ("x-end", "1")] {
        let watched = Watched::new(config());
        let mut ann = Visitor::default();
        watched.get(&mut ann);
        watched.house.advance(7);
        let mut copy = ann.clone();
        watched.send(&mut ann, Request::get("/").header(name, value));
        watched.get(&mut copy);
        watched.assert_is("session_seconds_count", 1.0);
        watched.assert_is("session_seconds_sum", 7.0);
    }
}

/// The visits of the requests that reach the application, with which the test ends them.
#[derive(Clone, Default)]
struct Visits(Arc<Mutex<Vec<Visit>>>);

impl Visits {
    /// Sends a request of this visitor, and keeps its visit.
    fn keep(&self, watched: &Watched, visitor: &Visitor) {
        let kept = self.clone();
        let app = tower::service_fn(move |request: Request<String>| {
            kept.0.lock().unwrap().extend(request.extensions().get::<Visit>().cloned());
            std::future::ready(Ok::<_, Infallible>(http::Response::new(String::new())))
        });
        let cookie = format!("__Host-wr-shop={}", visitor.cookie.as_ref().unwrap());
        let request = Request::get("/").header("cookie", cookie).body(String::new()).unwrap();
        let service = tower::Layer::layer(&watched.house.layer, app);
        watched.run(tower::ServiceExt::oneshot(service, request)).unwrap();
    }

    fn end_all(&self, watched: &Watched) {
        with_local_recorder(&watched.recorder, || {
            self.0.lock().unwrap().iter().for_each(Visit::end);
        });
    }
}

#[test]
fn a_session_that_ends_after_the_response_is_counted_once() {
    let watched = Watched::new(config());
    let mut ann = Visitor::default();
    watched.get(&mut ann);
    let visits = Visits::default();
    visits.keep(&watched, &ann);
    visits.keep(&watched, &ann);
    watched.house.advance(7);
    visits.end_all(&watched);
    watched.assert_is("session_seconds_count", 1.0);
    watched.assert_is("session_seconds_sum", 7.0);
    watched.get(&mut ann);
    watched.assert_is("session_seconds_count", 1.0);
}

#[test]
fn ends_that_a_node_cannot_report_to_the_store_are_counted() {
    const SESSIONS: u32 = 1_100;
    let watched = Watched::new(config().total_active_users(SESSIONS));
    let visits = Visits::default();
    for _ in 0..SESSIONS {
        let mut visitor = Visitor::default();
        watched.get(&mut visitor);
        visits.keep(&watched, &visitor);
    }
    visits.end_all(&watched);
    watched.assert_is("session_seconds_count", f64::from(SESSIONS));
}

#[test]
fn parallel_requests_with_one_ticket_are_one_admission() {
    let watched = Watched::new(config());
    let mut ann = Visitor::default();
    let mut bob = Visitor::default();
    watched.get(&mut ann);
    watched.run(bob.queue(&watched.house));
    watched.house.advance(30);
    watched.get(&mut bob);
    watched.house.advance(60);
    let mut tab = bob.clone();
    assert!(watched.get(&mut bob).is_inside());
    let again = watched.get(&mut tab);
    assert!(again.is_inside());
    assert_eq!(again.reason, "admitted:active");
    watched.assert_is("admitted_total", 2.0);
    watched.assert_is("wait_seconds_count", 1.0);
}

#[test]
fn one_call_records_the_room_and_its_gates() {
    let gate = Concurrency::limit(3).name("all");
    let push = tower_waiting_room::room::Push::at("/events");
    let watched = Watched::new(config().concurrency(gate).line_capacity(9).push(push));
    let mut ann = Visitor::default();
    watched.get(&mut ann);
    for (series, value) in [
        ("active", 1.0),
        ("active_limit", 1.0),
        ("new_last_minute", 1.0),
        ("new_limit", f64::INFINITY),
        ("waiting", 0.0),
        ("present", 0.0),
        ("line_capacity", 9.0),
        ("oldest_wait_seconds", 0.0),
        ("store_up", 1.0),
        ("push_streams", 0.0),
        ("mode{mode=\"auto\"}", 1.0),
        ("mode{mode=\"queue_all\"}", 0.0),
        ("gate_limit{gate=\"all\"}", 3.0),
    ] {
        watched.assert_is(series, value);
    }
    let room = watched.house.handle().room().unwrap();
    watched.run(room.queue_all()).unwrap();
    watched.assert_is("mode{mode=\"auto\"}", 0.0);
    watched.assert_is("mode{mode=\"queue_all\"}", 1.0);
    watched.run(Visitor::default().get(&watched.house));
    watched.assert_is("first_touches_last_minute", 1.0);
}

#[test]
fn snapshots_serialize_with_times_in_seconds() {
    let watched = Watched::new(config().concurrency(Concurrency::limit(3)));
    let mut ann = Visitor::default();
    let mut bob = Visitor::default();
    watched.get(&mut ann);
    watched.get(&mut bob);
    watched.house.advance(2);
    watched.get(&mut bob);
    let handle = watched.house.handle();
    let snapshot = watched.run(handle.room().unwrap().snapshot()).unwrap();
    let mut json = serde_json::to_value(snapshot).unwrap();
    let rate = json["admissions_per_minute"].take();
    assert!(rate.as_f64().is_some_and(|rate| rate > 0.0), "{rate}");
    let expected = serde_json::json!({
        "at_unix_seconds": 1_700_000_002.0, "active": 1, "total_active_users": 1,
        "new_in_last_minute": 1, "new_users_per_minute": null,
        "first_touches_in_last_minute": 1, "waiting": 1, "present": 1, "line_capacity": 100_000,
        "oldest_wait_seconds": 2.0, "abandoned": 0, "admissions_per_minute": null, "mode": "Auto",
        "slots_of_one_network": 0, "places_of_one_network": 0,
    });
    assert_eq!(json, expected);
    let gate = serde_json::to_value(handle.gates()[0].snapshots()[0]).unwrap();
    let expected = serde_json::json!({
        "in_flight": 0, "limit": 3, "queued": 0, "oldest_wait_seconds": 0.0, "service_rate": null,
        "is_draining": false,
        "outcomes": {
            "cancelled": 0, "drained": 0, "evicted": 0, "full": 0, "granted": 0, "queued": 0,
            "shed": 0, "timed_out": 0,
        },
    });
    assert_eq!(gate, expected);
}
