//! The handle to a whole layer.

use std::{fmt, sync::Arc, time::Duration};

use waiting_room_core::{Timestamp, gate::DrainQueue, time::Clock};

use super::{gate::GateHandle, limits::LimitsHandle};
use crate::{misconfiguration::Misconfiguration, pipeline::Pipeline};

/// Observes a layer and changes its rules while it serves requests.
///
/// [`WaitingRoomLayer::handle`](crate::WaitingRoomLayer::handle) returns this handle. This handle
/// provides a handle to each part of the layer: the [room](Self::room), the [rate
/// limits](Self::limits), and each [gate](Self::gate).
pub struct WaitingRoomHandle {
    pipeline: Arc<Pipeline>,
}

impl WaitingRoomHandle {
    pub(crate) const fn new(pipeline: Arc<Pipeline>) -> Self {
        Self { pipeline }
    }

    /// Returns the name of the layer, which is also the name of its room.
    #[must_use]
    pub fn name(&self) -> &str {
        self.pipeline.name()
    }

    /// Returns the current time of the layer's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.pipeline.clock.now()
    }

    /// Returns the handle to the room, or `None` if the layer was configured without a room.
    #[cfg(feature = "room")]
    #[must_use]
    pub fn room(&self) -> Option<super::room::RoomHandle> {
        self.pipeline.room.as_ref().map(|room| super::room::RoomHandle::new(room.operated()))
    }

    /// Returns the handle to the rate limits.
    #[must_use]
    pub fn limits(&self) -> LimitsHandle {
        LimitsHandle::new(Arc::clone(&self.pipeline))
    }

    /// Returns the handle to the gate with this name, or `None` if no gate has this name.
    #[must_use]
    pub fn gate(&self, name: &str) -> Option<GateHandle> {
        self.gates().into_iter().find(|gate| gate.name() == name)
    }

    /// Returns the handles to all gates, in the order in which requests pass the gates.
    #[must_use]
    pub fn gates(&self) -> Vec<GateHandle> {
        self.pipeline.gates.gates().iter().map(|set| GateHandle::new(Arc::clone(set))).collect()
    }

    /// Sets all gauges: those of the room, of the gates and of the rules file.
    ///
    /// Call this method before each scrape, or every few seconds if metrics are pushed.
    /// `docs/metrics.md` lists the metrics.
    ///
    /// The figures of the room come from its store, with one call. If the store does not answer,
    /// the gauge `waiting_room_store_up` is set to 0, and the other gauges of the room keep their
    /// values. All nodes that share a store report the same figures of the room.
    ///
    /// The gauges of a gate by key show the sums over all of its keys, and the longest wait for any
    /// key. The number of series therefore depends on the number of gates, but not on the number of
    /// keys. If a gate has no limit, the gauge for its limit is set to infinity.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the gauges of the room keep their values.
    #[cfg(feature = "metrics")]
    pub async fn record(&self) {
        let telemetry = &self.pipeline.telemetry;
        telemetry.describe();
        for gate in self.pipeline.gates.gates() {
            telemetry.gate_gauges(gate.name(), &gate.snapshots());
        }
        #[cfg(feature = "files")]
        if let Some((file, _)) = &self.pipeline.rules_file {
            telemetry.rules_file_gauge(file.error().is_some());
        }
        #[cfg(feature = "room")]
        if let Some(room) = self.pipeline.room.as_ref().map(|room| room.operated()) {
            if let Some(streams) = &room.push {
                telemetry.push_gauge(streams.len());
            }
            let now = self.pipeline.clock.now();
            let snapshot = room.snapshot().await;
            telemetry.room_gauges(snapshot.as_ref().ok(), room.store.nodes(), now);
        }
    }

    /// Closes all gates, and waits for up to `deadline` until no request is running. Returns the
    /// number of requests that are still running or waiting at the busiest gate, or 0 if all
    /// requests have ended.
    ///
    /// A request runs until the body of its response has been sent and each of its
    /// [`PermitHandle`](crate::gate::PermitHandle)s has been dropped, so this method also waits for
    /// WebSockets. Requests that arrive in the meantime are answered with 503 and
    /// `Connection: close`. Call this method before the graceful shutdown of the server, which does
    /// not wait for permit handles:
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use tower_waiting_room::{
    /// #     Concurrency, WaitingRoomConfig, WaitingRoomLayer, gate::DrainQueue,
    /// # };
    /// # async fn serve(listener: tokio::net::TcpListener) -> std::io::Result<()> {
    /// # let config = WaitingRoomConfig::builder("api").concurrency(Concurrency::limit(64));
    /// # let layer = WaitingRoomLayer::new(config.build().expect("it is right"));
    /// # let app = axum::Router::<()>::new();
    /// let handle = layer.handle();
    /// let shutdown = async move {
    ///     // Wait for the signal here.
    ///     handle.drain_gates(DrainQueue::Serve, Duration::from_secs(30)).await;
    /// };
    /// axum::serve(listener, app.layer(layer)).with_graceful_shutdown(shutdown).await
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the gates stay closed until [`open_gates`](Self::open_gates) is
    /// called.
    pub async fn drain_gates(&self, queue: DrainQueue, deadline: Duration) -> u32 {
        let gates = self.pipeline.gates.gates();
        let idle: Vec<_> = gates.iter().flat_map(|gate| gate.drain(queue)).collect();
        let all = async {
            for idle in idle {
                idle.await;
            }
        };
        let is_idle = tokio::time::timeout(deadline, all).await.is_ok();
        gates.iter().for_each(|gate| gate.forget_idle());
        if is_idle {
            return 0;
        }
        // A request may hold permits of several gates, so the counts of different gates are not
        // added up.
        let left = gates.iter().map(|gate| gate.snapshots());
        left.map(|gates| gates.iter().map(|gate| gate.in_flight + gate.queued).sum())
            .max()
            .unwrap_or_default()
    }

    /// Opens all gates again, after [`drain_gates`](Self::drain_gates).
    pub fn open_gates(&self) {
        self.pipeline.gates.gates().iter().for_each(|gate| gate.open());
    }

    /// Ends all push streams of this layer, and refuses further streams with 503. Visitors who
    /// wait keep their places, and poll from then on.
    ///
    /// A server that shuts down gracefully completes its running responses first, and a stream
    /// would delay it by up to its [lifetime](crate::room::Push::lifetime). Call this method when
    /// the shutdown begins.
    #[cfg(feature = "room")]
    pub fn end_push_streams(&self) {
        let push = self.pipeline.room.as_ref().and_then(|room| room.operated().push);
        push.iter().for_each(|streams| streams.end_all());
    }

    /// Returns the number of requests with each reason since the layer was created, in no
    /// particular order. `docs/answers.md` lists the names of the reasons, such as `admitted:pass`.
    ///
    /// At most 256 reasons are counted separately. Requests with any other reason are counted
    /// together as `other`.
    ///
    /// ```
    /// # use tower_waiting_room::{WaitingRoomConfig, WaitingRoomLayer};
    /// # let config = WaitingRoomConfig::builder("shop").total_active_users(200).build()?;
    /// # let layer = WaitingRoomLayer::new(config);
    /// for (reason, requests) in layer.handle().verdicts() {
    ///     println!("{requests} requests with the reason {reason}");
    /// }
    /// # Ok::<(), tower_waiting_room::ConfigError>(())
    /// ```
    #[must_use]
    pub fn verdicts(&self) -> Vec<(String, u64)> {
        self.pipeline.telemetry.verdicts()
    }

    /// Returns the waits that ended with an admission by this node in the last minute, oldest
    /// first. If there are more than 16 384, only the most recent are returned.
    #[must_use]
    pub fn waits(&self) -> Vec<super::VisitorWait> {
        self.pipeline.telemetry.waits(self.now())
    }

    /// Returns the settings found so far that are valid but probably not intended.
    #[must_use]
    pub fn misconfigurations(&self) -> Vec<Misconfiguration> {
        self.pipeline.telemetry.misconfigurations()
    }
}

impl Clone for WaitingRoomHandle {
    fn clone(&self) -> Self {
        Self { pipeline: Arc::clone(&self.pipeline) }
    }
}

impl fmt::Debug for WaitingRoomHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitingRoomHandle").finish_non_exhaustive()
    }
}
