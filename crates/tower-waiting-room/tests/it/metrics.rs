//! Metrics of limits and gates. A request counts once for each limit that decided about it.

use std::{
    fs,
    future::pending,
    mem,
    net::SocketAddr,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
};

use futures_util::FutureExt;
use http::{Request, Response};
use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, Key as MetricKey, KeyName, Metadata, Recorder,
    SharedString, Unit, with_local_recorder,
};
use tower::{Layer, ServiceExt, service_fn};
use tower_waiting_room::{
    Concurrency, Key, Quota, RateLimit, WaitingRoomConfig,
    config::{Enforcement, WaitingRoomConfigBuilder},
    rate::{Algorithm, OverLimit},
    request::PeerAddr,
};

use crate::support::House;

/// Records which counters are incremented and which gauges are set, and how often a counter or a
/// histogram was registered.
#[derive(Default)]
struct Counted {
    seen: Arc<Mutex<Vec<String>>>,
    found: AtomicUsize,
}

/// A counter or a gauge of this recorder.
struct Labelled {
    labels: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Counted {
    /// Takes what was recorded since the last call.
    fn take(&self) -> Vec<String> {
        mem::take(&mut *self.seen.lock().unwrap())
    }
}

impl CounterFn for Labelled {
    fn increment(&self, value: u64) {
        assert_eq!(value, 1);
        self.seen.lock().unwrap().push(self.labels.clone());
    }

    fn absolute(&self, _: u64) {
        unreachable!("requests are counted one by one");
    }
}

impl GaugeFn for Labelled {
    fn increment(&self, _: f64) {
        unreachable!("gauges are set");
    }

    fn decrement(&self, _: f64) {
        unreachable!("gauges are set");
    }

    fn set(&self, value: f64) {
        self.seen.lock().unwrap().push(format!("{} {value}", self.labels));
    }
}

impl Recorder for Counted {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &MetricKey, _: &Metadata<'_>) -> Counter {
        self.found.fetch_add(1, Ordering::Relaxed);
        Counter::from_arc(Arc::new(Labelled { labels: labels(key), seen: Arc::clone(&self.seen) }))
    }

    fn register_gauge(&self, key: &MetricKey, _: &Metadata<'_>) -> Gauge {
        let name = key.name().trim_start_matches("waiting_room_gate_");
        let labels = format!("{} {name}", labels(key));
        Gauge::from_arc(Arc::new(Labelled { labels, seen: Arc::clone(&self.seen) }))
    }

    fn register_histogram(&self, _: &MetricKey, _: &Metadata<'_>) -> Histogram {
        self.found.fetch_add(1, Ordering::Relaxed);
        Histogram::noop()
    }
}

/// The values of all labels but the room.
fn labels(key: &MetricKey) -> String {
    let labels = key.labels().filter(|label| label.key() != "room");
    labels.map(|label| label.value()).collect::<Vec<_>>().join(" ")
}

/// The counts of the second of two requests that arrive at the same time.
fn second(config: WaitingRoomConfigBuilder) -> Vec<String> {
    second_at(&House::new(config))
}

/// The same in an existing house.
pub(crate) fn second_at(house: &House) -> Vec<String> {
    let counted = Counted::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let get = || {
        let peer = SocketAddr::from(([192, 0, 2, 1], 40_000));
        house.send(Request::get("/").extension(PeerAddr(peer)).body(String::new()).unwrap())
    };
    with_local_recorder(&counted, || {
        runtime.block_on(get());
        counted.take();
        runtime.block_on(get());
        counted.take()
    })
}

fn limit(name: &'static str, quota: Quota) -> RateLimit {
    RateLimit::new(name, quota, Key::global())
}

fn limits() -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("api")
        .rate_limit(limit("wide", Quota::per_minute(10)))
        .rate_limit(limit("soft", Quota::per_minute(10)).over_limit(OverLimit::Mark))
}

#[test]
fn peeking_at_a_limit_counts_no_allowed_request() {
    let allowed = limits().rate_limit(limit("narrow", Quota::per_minute(2)));
    let each = ["wide allowed", "narrow allowed", "soft allowed", "admitted:limits"];
    assert_eq!(second(allowed), each);
    let narrow = || limits().rate_limit(limit("narrow", Quota::per_minute(1)));
    assert_eq!(second(narrow()), ["narrow refused", "refused:rate:narrow"]);
    let shadow = narrow().enforcement(Enforcement::Shadow);
    assert_eq!(second(shadow), ["narrow refused", "refused:rate:narrow"]);
}

/// The verdicts that are counted for two requests at the same time. Outside of shadow mode, the
/// first is forwarded and the second is not.
fn verdicts(config: WaitingRoomConfigBuilder) -> Vec<String> {
    let counted = Counted::default();
    let house = House::new(config);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    with_local_recorder(&counted, || {
        for _ in 0..2 {
            let peer = PeerAddr(SocketAddr::from(([192, 0, 2, 1], 40_000)));
            let request = Request::get("/").extension(peer).body(String::new()).unwrap();
            runtime.block_on(house.send(request));
        }
    });
    let mut seen = counted.take();
    // Outcomes of single limits and gates have another label, which is their name.
    // Counters without labels are not verdicts.
    seen.retain(|labels| !labels.contains(' ') && !labels.is_empty());
    seen
}

/// Asserts that each request is counted once, by what was decided, in both modes.
#[track_caller]
fn assert_one_verdict_a_request(
    config: impl Fn() -> WaitingRoomConfigBuilder,
    expected: [&str; 2],
) {
    assert_eq!(verdicts(config()), expected, "enforced");
    assert_eq!(verdicts(config().enforcement(Enforcement::Shadow)), expected, "in shadow mode");
}

#[test]
fn a_limit_in_shadow_mode_counts_one_verdict_a_request() {
    let narrow = || limits().rate_limit(limit("narrow", Quota::per_minute(1)));
    assert_one_verdict_a_request(narrow, ["admitted:limits", "refused:rate:narrow"]);
    let keyless = || {
        limits().rate_limit(
            RateLimit::new("keyless", Quota::per_minute(9), Key::header("x-api-key"))
                .missing_key(tower_waiting_room::request::MissingKey::Refuse),
        )
    };
    assert_one_verdict_a_request(keyless, ["refused:key_missing:keyless"; 2]);
}

#[test]
fn a_gate_in_shadow_mode_counts_one_verdict_a_request() {
    let closed = || WaitingRoomConfig::builder("api").concurrency(Concurrency::limit(0).queue(0));
    assert_one_verdict_a_request(closed, ["refused:gate_full"; 2]);
}

#[test]
fn a_room_in_shadow_mode_counts_one_verdict_a_request() {
    let full = crate::support::config;
    assert_one_verdict_a_request(full, ["admitted:slot", "queued:active_limit"]);
}

#[test]
fn in_shadow_mode_the_first_stage_that_would_refuse_is_the_verdict() {
    let all = || {
        crate::support::config()
            .rate_limit(limit("narrow", Quota::per_minute(1)))
            .concurrency(Concurrency::limit(0).queue(0))
    };
    assert_one_verdict_a_request(all, ["refused:gate_full", "refused:rate:narrow"]);
}

#[test]
fn a_request_that_would_wait_at_a_gate_is_not_counted_as_left() {
    let closed = WaitingRoomConfig::builder("api").concurrency(Concurrency::limit(0));
    let shadow = closed.enforcement(Enforcement::Shadow);
    assert_eq!(second(shadow), ["gate over_shadow", "admitted:limits"]);
}

#[test]
fn a_client_that_disconnects_at_a_gate_and_one_that_is_admitted_are_counted() {
    let house = House::new(WaitingRoomConfig::builder("api").concurrency(Concurrency::limit(0)));
    let counted = Counted::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    with_local_recorder(&counted, || {
        let sent = house.send(Request::new(String::new()));
        assert!(runtime.block_on(async { sent.now_or_never().is_none() }));
    });
    assert_eq!(counted.take(), ["gate cancelled"]);
    with_local_recorder(&counted, || {
        runtime.block_on(async {
            let mut sent = pin!(house.send(Request::new(String::new())));
            assert!(sent.as_mut().now_or_never().is_none());
            house.handle().gate("gate").unwrap().set_limit(1).unwrap();
            assert!(sent.await.is_inside());
        });
    });
    assert_eq!(counted.take(), ["gate admitted_queued", "admitted:limits"]);
}

#[test]
fn later_requests_reuse_the_metrics_of_the_first() {
    let counted = Counted::default();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let house = House::new(limits().concurrency(Concurrency::limit(9)));
    let found = with_local_recorder(&counted, || {
        [(); 3].map(|()| {
            runtime.block_on(house.send(Request::new(String::new())));
            counted.found.load(Ordering::Relaxed)
        })
    });
    // Two limits, the gate and the verdict count each request, and a histogram has the time of the permit.
    assert_eq!(found, [4 + 1; 3]);
    assert_eq!(counted.take().len(), 3 * 4);
}

#[test]
fn a_limit_without_its_key_is_counted_as_exhausted() {
    for (over, counted) in [
        (OverLimit::Mark, vec!["per_ip over_soft", "wide allowed"]),
        (OverLimit::Shadow, vec!["per_ip over_shadow", "wide allowed"]),
        (OverLimit::Refuse, vec!["per_ip refused"]),
    ] {
        let wide = limit("wide", Quota::per_minute(10));
        let per_ip = RateLimit::per_ip(Quota::per_minute(10)).over_limit(over);
        let config = WaitingRoomConfig::builder("api").rate_limit(per_ip).rate_limit(wide);
        let recorder = Counted::default();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let house = House::new(config);
        let stranger = house.send(Request::new(String::new()));
        with_local_recorder(&recorder, || runtime.block_on(stranger));
        let mut seen = recorder.take();
        seen.retain(|entry| entry.starts_with("per_ip") || entry.starts_with("wide"));
        assert_eq!(seen, counted);
    }
}

#[test]
fn a_request_that_cannot_be_held_counts_for_the_queue_alone() {
    let queue = limit("queue", Quota::per_second(1).burst(9)).algorithm(Algorithm::LeakyQueue);
    let house = House::new(limits().rate_limit(queue).max_held_requests(1));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let counted = Arc::new(Counted::default());
    runtime.block_on(async {
        let get = || house.send(Request::new(String::new()));
        assert!(get().await.is_inside());
        let held = get();
        let refused = async {
            let guard = metrics::set_default_local_recorder(&*counted);
            let seen = get().await;
            drop(guard);
            seen
        };
        let (held, refused) = tokio::join!(biased; held, refused);
        assert!(held.is_inside());
        assert_eq!(refused.reason, "refused:rate:queue");
    });
    assert_eq!(counted.take(), ["queue refused", "refused:rate:queue"]);
}

#[test]
fn an_error_in_a_file_is_logged_once_despite_retries() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yaml");
    fs::write(&path, "domain: api\ndescriptors: []\n").unwrap();
    let house = House::new(limits().rate_limits_file(&path));
    let handle = house.handle();
    fs::write(folder.path().join("new"), "domain: [").unwrap();
    fs::rename(folder.path().join("new"), &path).unwrap();
    while handle.limits().file_error().is_none() {
        std::thread::yield_now();
    }
    let counted = Counted::default();
    with_local_recorder(&counted, || {
        for _ in 0..3 {
            handle.limits().change(|limits| limits).unwrap();
        }
    });
    assert_eq!(counted.take(), [""; 0]);
    assert!(handle.limits().file_error().is_some());
}

/// The gauges while three requests are running or waiting: two for `/b` that arrived five seconds
/// ago, and one for `/a` that arrived a second ago.
async fn gauges(gates: [Concurrency; 2]) -> Vec<String> {
    let [first, second] = gates;
    let house =
        House::new(WaitingRoomConfig::builder("api").concurrency(first).concurrency(second));
    let app =
        service_fn(async |_: Request<String>| pending::<Result<Response<String>, ()>>().await);
    let send =
        |path| house.layer.layer(app).oneshot(Request::get(path).body(String::new()).unwrap());
    let mut a = pin!(send("/b"));
    let mut b = pin!(send("/b"));
    let mut c = pin!(send("/a"));
    let start = std::future::poll_fn(|cx| {
        assert!(a.as_mut().poll(cx).is_pending() && b.as_mut().poll(cx).is_pending());
        house.advance(4);
        assert!(c.as_mut().poll(cx).is_pending());
        house.advance(1);
        Poll::Ready(())
    });
    start.await;
    recorded(&house)
}

/// The gauges of the gates that one call of `record` sets.
fn recorded(house: &House) -> Vec<String> {
    let counted = Counted::default();
    with_local_recorder(&counted, || house.handle().record().now_or_never()).unwrap();
    counted.take()
}

#[tokio::test(start_paused = true)]
async fn the_gauges_of_gates_show_running_and_waiting_requests_and_the_limit() {
    let gates = [Concurrency::limit(1).name("one"), Concurrency::limit(None).name("all")];
    let expected = [
        "one in_flight 1",
        "one limit 1",
        "one queued 2",
        "one oldest_wait_seconds 5",
        "all in_flight 1",
        "all limit inf",
        "all queued 0",
        "all oldest_wait_seconds 0",
    ];
    assert_eq!(gauges(gates).await, expected);
}

#[tokio::test(start_paused = true)]
async fn gates_by_key_are_reported_as_one_sum() {
    let each = Concurrency::limit(1).name("each").for_each(Key::path());
    let few = Concurrency::limit(1).name("few").path("/a");
    let expected = [
        "each in_flight 2",
        "each limit 2",
        "each queued 1",
        "each oldest_wait_seconds 5",
        "few in_flight 1",
        "few limit 1",
        "few queued 0",
        "few oldest_wait_seconds 0",
    ];
    assert_eq!(gauges([each, few]).await, expected);
}

#[test]
fn a_gate_by_key_without_requests_is_reported_as_empty() {
    let each = Concurrency::limit(1).for_each(Key::path());
    let house = House::new(WaitingRoomConfig::builder("api").concurrency(each));
    let each = ["in_flight", "limit", "queued", "oldest_wait_seconds"];
    assert_eq!(recorded(&house), each.map(|what| format!("gate {what} 0")));
}
