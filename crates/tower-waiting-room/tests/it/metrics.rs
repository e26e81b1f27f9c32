//! What the metrics say about limits: each limit once for a request, if it was asked.

use std::{
    fs, mem,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use http::Request;
use metrics::{
    Counter, CounterFn, Gauge, Histogram, Key as MetricKey, KeyName, Metadata, Recorder,
    SharedString, Unit, with_local_recorder,
};
use tower_waiting_room::{
    Algorithm, Concurrency, Enforcement, Key, OverLimit, PeerAddr, Quota, RateLimit,
    WaitingRoomConfig, WaitingRoomConfigBuilder,
};

use crate::support::House;

/// Writes down which counters are incremented, and how many were looked for.
#[derive(Default)]
struct Counted {
    seen: Arc<Mutex<Vec<String>>>,
    found: AtomicUsize,
}

/// One of them.
struct Labelled {
    labels: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Counted {
    /// What has been counted since this was last asked.
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

impl Recorder for Counted {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &MetricKey, _: &Metadata<'_>) -> Counter {
        let labels = key.labels().filter(|label| label.key() != "room");
        let labels: Vec<&str> = labels.map(|label| label.value()).collect();
        let (labels, seen) = (labels.join(" "), Arc::clone(&self.seen));
        self.found.fetch_add(1, Ordering::Relaxed);
        Counter::from_arc(Arc::new(Labelled { labels, seen }))
    }

    fn register_gauge(&self, _: &MetricKey, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &MetricKey, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

/// What is counted for the second of two requests that come at once.
fn second(config: WaitingRoomConfigBuilder) -> Vec<String> {
    let counted = Counted::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let house = House::new(config);
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
    RateLimit::new(name, quota, Key::everyone())
}

fn limits() -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("api")
        .rate_limit(limit("wide", Quota::per_minute(10)))
        .rate_limit(limit("soft", Quota::per_minute(10)).over_limit(OverLimit::Mark))
}

#[test]
fn a_limit_that_was_only_looked_at_has_allowed_nothing() {
    let allowed = limits().rate_limit(limit("narrow", Quota::per_minute(2)));
    let each = ["wide allowed", "narrow allowed", "soft allowed", "admitted:limits"];
    assert_eq!(second(allowed), each);
    let narrow = || limits().rate_limit(limit("narrow", Quota::per_minute(1)));
    assert_eq!(second(narrow()), ["narrow refused", "refused:rate:narrow"]);
    let shadow = narrow().enforcement(Enforcement::Shadow);
    assert_eq!(second(shadow), ["narrow refused", "refused:rate:narrow", "admitted:limits"]);
}

#[test]
fn who_would_have_to_wait_at_a_gate_is_not_counted_as_one_who_has_left() {
    let closed = WaitingRoomConfig::builder("api").concurrency(Concurrency::limit(0));
    let shadow = closed.enforcement(Enforcement::Shadow);
    assert_eq!(second(shadow), ["gate over_shadow", "admitted:limits"]);
}

#[test]
fn who_is_allowed_finds_the_counters_that_the_first_has_found() {
    let counted = Counted::default();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let house = House::new(limits());
    let found = with_local_recorder(&counted, || {
        [(); 3].map(|()| {
            runtime.block_on(house.send(Request::new(String::new())));
            counted.found.load(Ordering::Relaxed)
        })
    });
    assert_eq!(found, [3; 3]);
    assert_eq!(counted.take().len(), 3 * 3);
}

#[test]
fn a_limit_without_its_key_is_counted_as_if_it_were_used_up() {
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
        seen.retain(|it| it.starts_with("per_ip") || it.starts_with("wide"));
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
fn what_is_wrong_with_a_file_is_said_once_however_often_it_is_tried() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yaml");
    fs::write(&path, "domain: api\ndescriptors: []\n").unwrap();
    let house = House::new(limits().rate_limits_file(&path));
    let handle = house.handle();
    fs::write(folder.path().join("new"), "domain: [").unwrap();
    fs::rename(folder.path().join("new"), &path).unwrap();
    while handle.rules_file_error().is_none() {
        std::thread::yield_now();
    }
    let counted = Counted::default();
    with_local_recorder(&counted, || {
        for _ in 0..3 {
            handle.change_rate_limits(|limits| limits).unwrap();
        }
    });
    assert_eq!(counted.take(), [""; 0]);
    assert!(handle.rules_file_error().is_some());
}
