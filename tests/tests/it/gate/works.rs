//! An application behind a gate, on a loopback port.

use std::{
    convert::Infallible,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    routing::{MethodFilter, MethodRouter, any, get, on},
};
use futures_util::{StreamExt, stream};
use tests::Process;
use tokio::{
    sync::Semaphore,
    time::{self, Instant},
};
use tower_waiting_room::{
    Concurrency, WaitingRoomConfig, WaitingRoomHandle, WaitingRoomLayer,
    gate::{Discipline, GateSnapshot},
};

use super::Wire;

/// A server with a gate, and an application that finishes requests when a test tells it to.
#[derive(Debug)]
pub(super) struct Works {
    process: Process,
    handle: WaitingRoomHandle,
    floor: Floor,
}

/// The requests in the application. Clones refer to the same floor.
#[derive(Clone, Debug)]
pub(super) struct Floor {
    present: Arc<AtomicUsize>,
    peak: Arc<AtomicUsize>,
    done: Arc<Semaphore>,
}

/// A request on the floor, until it is dropped.
#[derive(Debug)]
pub(super) struct Present(Floor);

/// A gate with this limit. Other requests wait in order of arrival, for as long as a test takes.
pub(super) fn gate(limit: u32) -> Concurrency {
    Concurrency::limit(limit).queue(64).max_wait(PATIENCE).discipline(Discipline::Fifo)
}

/// A layer with only this gate.
pub(super) fn layer(gate: Concurrency) -> WaitingRoomLayer {
    WaitingRoomLayer::new(WaitingRoomConfig::builder("works").concurrency(gate).build().unwrap())
}

impl Works {
    /// Serves these routes behind the gate: `/work`, which waits for [`finish`](Self::finish),
    /// `/stream`, which streams, `/quick`, which answers at once, `/echo`, which returns the body,
    /// and the routes that `more` adds. `/outside` is not behind the gate.
    pub(super) fn open(gate: Concurrency, more: impl FnOnce(Router, &Floor) -> Router) -> Self {
        let layer = layer(gate);
        let floor = Floor::new();
        let app = Router::new()
            .route("/work", floor.work())
            .route("/stream", floor.stream())
            .route("/quick", any(async || "quick"))
            .route("/echo", any(async |body: String| body));
        let app = more(app, &floor).layer(layer.clone());
        let app = app.route("/outside", any(async || "outside"));
        let process = Process::start(async |listener| axum::serve(listener, app).await.unwrap());
        Self::of(process, layer.handle(), floor)
    }

    /// Wraps a server that already runs.
    pub(super) const fn of(process: Process, handle: WaitingRoomHandle, floor: Floor) -> Self {
        Self { process, handle, floor }
    }

    /// The port of the server.
    pub(super) const fn port(&self) -> u16 {
        self.process.port()
    }

    /// The URL of `path`.
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.port())
    }

    /// The requests in the application.
    pub(super) const fn floor(&self) -> &Floor {
        &self.floor
    }

    /// Lets this number of requests finish, whether they have arrived or not.
    pub(super) fn finish(&self, requests: usize) {
        self.floor.finish(requests);
    }

    /// The numbers of the only gate.
    pub(super) fn gate(&self) -> GateSnapshot {
        self.handle.gates()[0].snapshots()[0]
    }

    /// Returns when this number of requests hold a permit and this number wait. Returns the time
    /// that it took.
    pub(super) async fn has(&self, in_flight: u32, queued: u32) -> Duration {
        let is_so = || {
            let gate = self.gate();
            (gate.in_flight, gate.queued) == (in_flight, queued)
        };
        soon(is_so, || format!("{in_flight} run and {queued} wait: {:?}", self.gate())).await
    }

    /// Returns when this number of requests were refused by the full queue, and the server has
    /// handled them.
    pub(super) async fn refuses(&self, requests: u64) {
        let refused = || self.gate().outcomes.full;
        soon(|| refused() == requests, || format!("{requests} refused, not {}", refused())).await;
        self.settles().await;
    }

    /// Returns when the server has handled everything before. It has one thread, so that is so once
    /// it answers another request.
    pub(super) async fn settles(&self) {
        let outside = Wire::Http1.client().get(self.url("/outside")).send().await.unwrap();
        assert_eq!(outside.text().await.unwrap(), "outside");
    }

    /// Returns when the gate drains.
    pub(super) async fn drains(&self) {
        soon(|| self.gate().is_draining, || format!("it drains: {:?}", self.gate())).await;
    }
}

impl Floor {
    pub(super) fn new() -> Self {
        let done = Arc::new(Semaphore::new(0));
        Self { present: Arc::default(), peak: Arc::default(), done }
    }

    /// A route that answers `done` once it may finish.
    pub(super) fn work(&self) -> MethodRouter {
        let floor = self.clone();
        on(MethodFilter::GET.or(MethodFilter::POST), move || {
            let floor = floor.clone();
            async move {
                let _present = floor.enter();
                floor.finished().await;
                "done"
            }
        })
    }

    /// A route that answers with [`frames`](Self::frames).
    pub(super) fn stream(&self) -> MethodRouter {
        let floor = self.clone();
        get(move || std::future::ready(floor.frames()))
    }

    /// A body that is `begun ` at once, and `done` once it may finish. The request is on the floor
    /// for as long as the body exists.
    pub(super) fn frames(&self) -> Body {
        let present = self.enter();
        let finished = self.finished();
        let end = async move {
            finished.await;
            drop(present);
            "done"
        };
        let frames = stream::once(async { "begun " }).chain(stream::once(end));
        Body::from_stream(frames.map(Ok::<_, Infallible>))
    }

    /// Adds a request to the floor.
    pub(super) fn enter(&self) -> Present {
        let present = self.present.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.fetch_max(present, Ordering::SeqCst);
        Present(self.clone())
    }

    /// Lets this number of requests finish.
    pub(super) fn finish(&self, requests: usize) {
        self.done.add_permits(requests);
    }

    /// Completes when one more request may finish. Requests finish in the order in which they
    /// called this.
    pub(super) fn finished(&self) -> impl Future<Output = ()> + Send + use<> {
        let done = Arc::clone(&self.done);
        async move { done.acquire().await.unwrap().forget() }
    }

    /// Returns when this number of requests are on the floor.
    pub(super) async fn has(&self, present: usize) {
        let counted = || self.present.load(Ordering::SeqCst);
        soon(|| counted() == present, || format!("{present} in it, not {}", counted())).await;
    }

    /// The highest number of requests that were on the floor at once.
    pub(super) fn peak(&self) -> usize {
        self.peak.load(Ordering::SeqCst)
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.present.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns when the condition holds. Returns the time that it took, accurate to a millisecond.
async fn soon(is_so: impl Fn() -> bool, what: impl Fn() -> String) -> Duration {
    let started = Instant::now();
    let mut beat = time::interval(Duration::from_millis(1));
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain: {}", what());
        beat.tick().await;
    }
    started.elapsed()
}

/// The maximum time for any step. It is far longer than a step takes, because the machine may be
/// busy.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
