//! Gates in front of an application: which requests run, wait, or are refused.

mod adaptive;
mod disconnect;
mod holds;
mod nested;
mod uploads;

use std::{
    convert::Infallible,
    future::Future,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::Poll,
    time::Duration,
};

use http::{Request, Response};
use http_body_util::BodyExt;
use tokio::sync::Semaphore;
use tower::{Layer, ServiceExt, service_fn};
use tower_waiting_room::{
    Concurrency, WaitingRoomConfig, WaitingRoomLayer,
    config::WaitingRoomConfigBuilder,
    gate::{DrainQueue, GateSnapshot, GateStatuses},
    rate::RateHeaders,
    request::PeerAddr,
    respond::reason_of,
};

/// An application behind gates. It completes as many requests as [`finish`](Works::finish) allows.
#[derive(Clone)]
struct Works {
    layer: WaitingRoomLayer,
    done: Arc<Semaphore>,
    running: Arc<AtomicU32>,
    peak: Arc<AtomicU32>,
}

/// A response whose body was read to its end.
#[derive(Debug)]
struct Seen {
    status: u16,
    reason: String,
    headers: http::HeaderMap,
    body: String,
}

impl Works {
    fn new(concurrency: Concurrency) -> Self {
        Self::of(
            WaitingRoomConfig::builder("works")
                .concurrency(concurrency)
                .rate_headers(RateHeaders::Combined),
        )
    }

    fn of(config: WaitingRoomConfigBuilder) -> Self {
        let layer = WaitingRoomLayer::new(config.build().unwrap());
        let done = Arc::new(Semaphore::new(0));
        Self { layer, done, running: Arc::default(), peak: Arc::default() }
    }

    /// Sends a request and reads the response to its end.
    fn send(&self, request: Request<String>) -> impl Future<Output = Seen> + use<> {
        let works = self.clone();
        let app = service_fn(move |_: Request<String>| works.clone().work());
        let response = self.layer.layer(app).oneshot(request);
        async move {
            let response = response.await.unwrap();
            let reason = reason_of(&response).map_or("admitted".to_owned(), ToString::to_string);
            let (parts, body) = response.into_parts();
            let body = body.collect().await.unwrap().to_bytes().to_vec();
            let body = String::from_utf8(body).unwrap();
            Seen { status: parts.status.as_u16(), reason, headers: parts.headers, body }
        }
    }

    fn get(&self) -> impl Future<Output = Seen> + use<> {
        self.send(Request::get("/").body(String::new()).unwrap())
    }

    async fn work(self) -> Result<Response<String>, Infallible> {
        let running = self.running.fetch_add(1, Ordering::Relaxed) + 1;
        self.peak.fetch_max(running, Ordering::Relaxed);
        self.done.acquire().await.unwrap().forget();
        self.running.fetch_sub(1, Ordering::Relaxed);
        Ok(Response::new("done".to_owned()))
    }

    fn finish(&self, requests: usize) {
        self.done.add_permits(requests);
    }

    fn snapshot(&self) -> GateSnapshot {
        self.layer.handle().gates()[0].snapshots()[0]
    }
}

impl Seen {
    fn header(&self, name: &str) -> Option<&str> {
        Some(self.headers.get(name)?.to_str().unwrap())
    }
}

/// Polls a future once, and returns whether it is still pending.
async fn is_waiting(mut future: Pin<&mut impl Future>) -> bool {
    std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_pending())).await
}

fn one() -> Concurrency {
    Concurrency::limit(1).queue(1).max_wait(Duration::from_secs(2))
}

#[tokio::test(start_paused = true)]
async fn one_request_runs_one_waits_and_the_rest_get_a_retry_time() {
    let works = Works::new(one());
    let mut first = pin!(works.get());
    let mut second = pin!(works.get());
    assert!(is_waiting(first.as_mut()).await && is_waiting(second.as_mut()).await);
    let refused = works.get().await;
    assert_eq!((refused.status, &*refused.reason), (429, "refused:gate_full"));
    assert!(refused.header("retry-after").unwrap().parse::<u32>().unwrap() >= 1);
    assert_eq!(refused.header("ratelimit-policy"), Some(r#""gate";q=1;qu="concurrent-requests""#));
    assert_eq!(refused.header("x-ratelimit-limit"), Some("1"));
    assert_eq!(refused.header("x-ratelimit-remaining"), Some("0"));

    let gate = works.layer.handle().gate("gate").unwrap();
    gate.set_limit(0).unwrap();
    assert_eq!(works.get().await.header("x-ratelimit-limit"), Some("0"));
    gate.set_limit(1).unwrap();
    let snapshot = works.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.queued, snapshot.limit), (1, 1, Some(1)));
    works.finish(2);
    assert_eq!(first.await.body, "done");
    assert_eq!(second.await.body, "done");
    assert_eq!(works.peak.load(Ordering::Relaxed), 1);
    assert_eq!(works.snapshot().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_too_long_gets_504_and_never_runs() {
    let works = Works::new(one());
    let mut first = pin!(works.get());
    assert!(is_waiting(first.as_mut()).await);
    let started = tokio::time::Instant::now();
    let second = works.get().await;
    assert_eq!((second.status, &*second.reason), (504, "refused:gate_timeout"));
    assert!(second.header("retry-after").unwrap().parse::<u32>().unwrap() >= 1);
    assert_eq!(started.elapsed(), Duration::from_secs(2));
    works.finish(2);
    first.await;
    assert_eq!((works.done.available_permits(), works.snapshot().queued), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_origin_answers_503_if_its_gate_is_full() {
    let works = Works::new(one().statuses(GateStatuses::Origin));
    let mut first = pin!(works.get());
    let mut second = pin!(works.get());
    assert!(is_waiting(first.as_mut()).await && is_waiting(second.as_mut()).await);
    for (refused, reason) in
        [(works.get().await, "refused:gate_full"), (second.await, "refused:gate_timeout")]
    {
        assert_eq!((refused.status, &*refused.reason), (503, reason));
        assert!(refused.header("retry-after").unwrap().parse::<u32>().unwrap() >= 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_address_that_fills_the_queue_makes_room_for_people_and_is_served_after_them() {
    let works = Works::new(Concurrency::limit(1).queue(16));
    let from = |address: [u8; 4]| {
        let peer = PeerAddr(SocketAddr::from((address, 40_000)));
        let request = Request::get("/").extension(peer).body(String::new()).unwrap();
        tokio::spawn(works.send(request))
    };
    let mut flood = (0..17).map(|_| from([192, 0, 2, 1])).collect::<Vec<_>>();
    tokio::task::yield_now().await;
    let people = (2..8).map(|last| from([192, 0, 2, last])).collect::<Vec<_>>();
    tokio::task::yield_now().await;
    assert_eq!(works.snapshot().queued, 16);
    // One request runs, and an eighth of the queue is in front.
    works.finish(3 + people.len());
    for person in people {
        assert_eq!(person.await.unwrap().status, 200);
    }
    for evicted in flood.split_off(11) {
        assert_eq!(evicted.await.unwrap().status, 429);
    }
    works.finish(flood.len());
    for request in flood {
        assert_eq!(request.await.unwrap().status, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn disconnecting_frees_the_place_in_the_queue_or_the_permit() {
    let works = Works::new(one());
    let first = tokio::spawn(works.get());
    tokio::task::yield_now().await;
    {
        let mut second = pin!(works.get());
        assert!(is_waiting(second.as_mut()).await);
        assert_eq!(works.get().await.status, 429);
    }
    assert_eq!(works.snapshot().queued, 0);
    let mut third = pin!(works.get());
    assert!(is_waiting(third.as_mut()).await);
    first.abort();
    works.finish(1);
    assert_eq!(third.await.body, "done");
}

#[tokio::test(start_paused = true)]
async fn a_client_deadline_ends_the_wait() {
    let works = Works::new(one());
    let mut first = pin!(works.get());
    assert!(is_waiting(first.as_mut()).await);
    let started = tokio::time::Instant::now();
    let request = Request::post("/").header("grpc-timeout", "300m");
    let request = request.header("content-type", "application/grpc").body(String::new()).unwrap();
    let refused = works.send(request).await;
    assert_eq!(started.elapsed(), Duration::from_millis(300));
    assert_eq!((refused.status, refused.header("grpc-status")), (200, Some("4")));
}

#[tokio::test(start_paused = true)]
async fn the_limit_is_changed_while_it_is_in_use() {
    let works = Works::new(one().queue(9));
    let handle = works.layer.handle();
    let requests: Vec<_> = (0..4).map(|_| tokio::spawn(works.get())).collect();
    tokio::task::yield_now().await;
    handle.gate("gate").unwrap().set_limit(3).unwrap();
    tokio::task::yield_now().await;
    assert_eq!((works.snapshot().in_flight, works.snapshot().queued), (3, 1));
    handle.gate("gate").unwrap().set_limit(0).unwrap();
    works.finish(4);
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!((works.snapshot().in_flight, works.snapshot().queued), (0, 1));
    handle.gate("gate").unwrap().set_limit(None).unwrap();
    for request in requests {
        assert_eq!(request.await.unwrap().body, "done");
    }
    assert!(handle.gate("gates").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_drained_gate_serves_its_queue_and_no_newcomers() {
    let works = Works::new(one());
    let handle = works.layer.handle();
    let requests: Vec<_> = (0..2).map(|_| tokio::spawn(works.get())).collect();
    tokio::task::yield_now().await;
    let short = Duration::from_millis(10);
    assert_eq!(handle.drain_gates(DrainQueue::Serve, short).await, 2);
    let refused = works.get().await;
    assert_eq!((refused.status, &*refused.reason), (503, "refused:gate_drained"));
    assert_eq!(refused.header("connection"), Some("close"));
    assert!(refused.header("retry-after").unwrap().parse::<u32>().unwrap() >= 1);
    works.finish(2);
    assert_eq!(handle.drain_gates(DrainQueue::Serve, Duration::from_secs(5)).await, 0);
    for request in requests {
        assert_eq!(request.await.unwrap().body, "done");
    }
    handle.open_gates();
    works.finish(1);
    assert_eq!(works.get().await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_drain_can_refuse_the_queue_instead() {
    let works = Works::new(one());
    let requests: Vec<_> = (0..2).map(|_| tokio::spawn(works.get())).collect();
    tokio::task::yield_now().await;
    let handle = works.layer.handle();
    let short = Duration::from_millis(10);
    assert_eq!(handle.drain_gates(DrainQueue::Refuse, short).await, 1);
    works.finish(1);
    let mut seen = Vec::new();
    for request in requests {
        seen.push(request.await.unwrap().status);
    }
    assert_eq!(seen, [200, 503]);
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_times_out_also_counts_the_waiting_requests() {
    let works = Works::new(Concurrency::limit(0));
    let mut waits = pin!(works.get());
    assert!(is_waiting(waits.as_mut()).await);
    let handle = works.layer.handle();
    assert_eq!(handle.drain_gates(DrainQueue::Serve, Duration::from_millis(10)).await, 1);
}

#[tokio::test]
async fn an_unread_large_body_ends_the_http_1_connection() {
    let works = Works::new(Concurrency::limit(0).queue(0));
    let post = |len: &str, version| {
        let request = Request::post("/").header("content-length", len).version(version);
        works.send(request.body(String::new()).unwrap())
    };
    let closes = |seen: Seen| seen.header("connection") == Some("close");
    assert!(closes(post("65537", http::Version::HTTP_11).await));
    assert!(!closes(post("65536", http::Version::HTTP_11).await));
    assert!(!closes(post("65537", http::Version::HTTP_2).await));
}
