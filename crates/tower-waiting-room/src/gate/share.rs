//! Renews a gate's share of a limit that several nodes share.
//!
//! One task per gate reports the gate's demand and applies the share that it receives. The task
//! starts when the layer is created inside a tokio runtime, and otherwise with the first request.
//! The task ends with the last reference to the gate, so it keeps reporting requests that outlive
//! the layer.
//!
//! The task may end earlier, if its runtime shuts down or a renewal panics. The limit then becomes
//! zero at once, because other nodes get the share if it is not renewed. The next request starts
//! another task, which joins as a new node.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicBool, Ordering},
};

use tokio::{runtime::Handle, time};
use waiting_room_core::{
    Gate,
    gate::{Demand, GateRules, GateSnapshot, NodeShare, SharedConcurrency},
    time::Clock,
};

use crate::ambient::StageClock;

/// A gate with a share of a limit for all nodes.
pub(super) struct Share {
    limit: Arc<dyn SharedConcurrency>,
    gate: Gate,
    clock: StageClock,
    /// Whether the task is running or about to be spawned.
    is_running: AtomicBool,
}

impl Share {
    pub(super) fn new(
        limit: Arc<dyn SharedConcurrency>,
        gate: Gate,
        clock: StageClock,
    ) -> Arc<Self> {
        Arc::new(Self { limit, gate, clock, is_running: AtomicBool::new(false) })
    }

    /// Spawns the task unless it is already running. Returns whether the task is running now.
    /// Without a runtime, it is not. This method is called for every request at the gate.
    pub(super) fn start(self: &Arc<Self>) -> bool {
        if self.is_running.load(Ordering::Acquire) {
            return true;
        }
        let Ok(runtime) = Handle::try_current() else { return false };
        if !self.is_running.swap(true, Ordering::AcqRel) {
            drop(runtime.spawn(run(Running(Arc::downgrade(self)), self.limit.join())));
        }
        true
    }

    /// Returns the requests at the gate.
    fn demand(&self) -> Demand {
        let GateSnapshot { in_flight, queued, .. } = self.gate.snapshot(self.clock.now());
        Demand { in_flight, queued }
    }

    /// Applies the share that a renewal has returned.
    fn apply(&self, share: u32) {
        let limit = Some(share.min(GateRules::MAX_LIMIT));
        // Setting the limit takes the gate's lock, and most renewals change nothing.
        if self.gate.limit() != limit
            && let Err(error) = self.gate.set_limit(limit)
        {
            unreachable!("the limit is at most the maximum: {error}");
        }
    }
}

/// Renews the share and applies it, until the gate is dropped.
async fn run(running: Running, mut node: Box<dyn NodeShare>) {
    loop {
        // The gate is not kept alive while the task waits.
        let Some(demand) = running.0.upgrade().map(|share| share.demand()) else { return };
        let limit = node.renew(demand).await;
        match running.0.upgrade() {
            Some(share) => share.apply(limit),
            None => return,
        }
        time::sleep(node.until_next()).await;
    }
}

/// Closes the gate when the task ends or is dropped, and lets the next request start another task.
struct Running(Weak<Share>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(share) = self.0.upgrade() {
            share.apply(0);
            share.is_running.store(false, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::{Future, ready},
        pin::Pin,
        sync::Mutex,
        time::Duration,
    };

    use futures_util::FutureExt;
    use http::{Request, Response, StatusCode};
    use tokio::{runtime::Builder, time::sleep};
    use tower::{Layer, Service, ServiceExt, service_fn};
    use waiting_room_core::gate::Demand;

    use super::*;
    use crate::{Concurrency, WaitingRoomConfig, WaitingRoomLayer, config::Misconfiguration};

    /// A server that grants the same share to each node, and remembers their demands.
    #[derive(Clone, Debug, Default)]
    struct Server(Arc<Mutex<State>>);

    #[derive(Debug, Default)]
    struct State {
        share: u32,
        nodes: usize,
        /// The nodes that have not been dropped.
        present: usize,
        demands: Vec<Demand>,
        panics: bool,
    }

    #[derive(Debug)]
    struct Node(Server);

    impl Server {
        fn granting(share: u32) -> Self {
            let server = Self::default();
            server.state(|state| state.share = share);
            server
        }

        fn state<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
            look(&mut self.0.lock().unwrap())
        }
    }

    impl SharedConcurrency for Server {
        fn join(&self) -> Box<dyn NodeShare> {
            self.state(|state| {
                state.nodes += 1;
                state.present += 1;
            });
            Box::new(Node(self.clone()))
        }
    }

    impl NodeShare for Node {
        fn renew(&mut self, demand: Demand) -> Pin<Box<dyn Future<Output = u32> + Send + '_>> {
            let (share, panics) = self.0.state(|state| {
                state.demands.push(demand);
                (state.share, state.panics)
            });
            assert!(!panics, "the server is broken");
            Box::pin(ready(share))
        }

        fn until_next(&self) -> Duration {
            Duration::from_millis(250)
        }
    }

    impl Drop for Node {
        fn drop(&mut self) {
            self.0.state(|state| state.present -= 1);
        }
    }

    fn layer(server: &Server) -> WaitingRoomLayer {
        let gate = Concurrency::shared(server.clone()).queue(0);
        WaitingRoomLayer::new(WaitingRoomConfig::builder("api").concurrency(gate).build().unwrap())
    }

    /// Sends a request. The permit is held until the response is dropped.
    async fn send(layer: &WaitingRoomLayer) -> Response<impl http_body::Body + use<>> {
        let answer = async |_: Request<String>| {
            Ok::<_, std::convert::Infallible>(Response::new("done".to_owned()))
        };
        let mut service = layer.layer(service_fn(answer));
        service.ready().await.unwrap().call(Request::new(String::new())).await.unwrap()
    }

    fn limit(layer: &WaitingRoomLayer) -> Option<u32> {
        layer.handle().gate("gate").unwrap().snapshots()[0].limit
    }

    #[tokio::test(start_paused = true)]
    async fn a_gate_applies_its_share_and_reports_its_demand() {
        let server = Server::granting(2);
        let layer = layer(&server);
        assert_eq!(limit(&layer), Some(0), "the share has not been renewed yet");
        assert_eq!(send(&layer).await.status(), StatusCode::TOO_MANY_REQUESTS);
        sleep(Duration::from_millis(1)).await;
        let first = send(&layer).await;
        let _second = send(&layer).await;
        assert_eq!(first.status(), StatusCode::OK);
        assert_eq!(send(&layer).await.status(), StatusCode::TOO_MANY_REQUESTS);
        server.state(|state| state.share = 1);
        sleep(Duration::from_millis(250)).await;
        assert_eq!(server.state(|state| state.demands.last().unwrap().in_flight), 2);
        drop(first);
        assert_eq!(send(&layer).await.status(), StatusCode::TOO_MANY_REQUESTS, "one still runs");
        assert_eq!(server.state(|state| state.nodes), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn each_layer_of_one_configuration_is_a_node() {
        let server = Server::granting(3);
        let gate = Concurrency::shared(server.clone());
        let config = WaitingRoomConfig::builder("api").concurrency(gate).build().unwrap();
        let layers = [WaitingRoomLayer::new(config.clone()), WaitingRoomLayer::new(config)];
        sleep(Duration::from_millis(1)).await;
        assert_eq!(server.state(|state| state.nodes), 2);
        drop(layers);
        sleep(Duration::from_millis(250)).await;
        assert_eq!(server.state(|state| state.present), 0, "the layers are dropped");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_outlives_its_layer_is_still_reported() {
        let server = Server::granting(3);
        let layer = layer(&server);
        sleep(Duration::from_millis(1)).await;
        let response = send(&layer).await;
        drop(layer);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(
            server.state(|state| (state.present, state.demands.last().unwrap().in_flight)),
            (1, 1)
        );
        drop(response);
        sleep(Duration::from_millis(250)).await;
        assert_eq!(server.state(|state| state.present), 0);
    }

    #[test]
    fn a_runtime_that_ends_closes_the_gate_and_the_next_one_opens_it() {
        let server = Server::granting(2);
        let layer = layer(&server);
        assert_eq!(server.state(|state| state.nodes), 0, "there is no runtime yet");
        for nodes in 1..=2 {
            let runtime = Builder::new_current_thread().enable_time().build().unwrap();
            let status = runtime.block_on(async {
                let mut status = send(&layer).await.status();
                while status != StatusCode::OK {
                    tokio::task::yield_now().await;
                    status = send(&layer).await.status();
                }
                status
            });
            assert_eq!((status, limit(&layer)), (StatusCode::OK, Some(2)));
            assert_eq!(server.state(|state| state.nodes), nodes);
            drop(runtime);
            assert_eq!(limit(&layer), Some(0), "the share is no longer renewed");
        }
    }

    #[test]
    fn without_a_runtime_requests_are_refused_and_the_operator_is_told() {
        let layer = layer(&Server::granting(2));
        let status = send(&layer).now_or_never().unwrap().status();
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(layer.handle().misconfigurations(), [Misconfiguration::NoRuntime]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_that_panics_closes_the_gate() {
        let server = Server::granting(2);
        let layer = layer(&server);
        sleep(Duration::from_millis(1)).await;
        assert_eq!(limit(&layer), Some(2));
        server.state(|state| state.panics = true);
        sleep(Duration::from_millis(250)).await;
        assert_eq!(limit(&layer), Some(0));
        server.state(|state| state.panics = false);
        assert_eq!(send(&layer).await.status(), StatusCode::TOO_MANY_REQUESTS);
        sleep(Duration::from_millis(1)).await;
        assert_eq!((limit(&layer), server.state(|state| state.nodes)), (Some(2), 2));
    }

    #[test]
    fn options_that_contradict_a_share_are_refused() {
        let error = |gate: Concurrency| {
            let config = WaitingRoomConfig::builder("api").concurrency(gate).build();
            config.unwrap_err().to_string()
        };
        let shared = || Concurrency::shared(Server::granting(2));
        assert_eq!(
            error(shared().for_each(crate::Key::address())),
            "for_each is a limit that nodes share, expected one gate for all requests, because the \
             share belongs to one gate"
        );
        let nothing_reserved = shared().classes([0, 0], Duration::from_secs(1), |_| 0);
        WaitingRoomConfig::builder("api").concurrency(nothing_reserved).build().unwrap();
        assert_eq!(
            error(shared().classes([1, 0], Duration::from_secs(1), |_| 0)),
            "reserved is 1 permits in total, expected 0, because the node's share may fall below \
             the reserved permits"
        );
        let layer = layer(&Server::granting(2));
        let error = layer.handle().gate("gate").unwrap().set_limit(3).unwrap_err();
        assert_eq!(
            error.to_string(),
            "concurrency is Some(3), expected no limit: the gate \"gate\" takes its limit from its share"
        );
    }
}
