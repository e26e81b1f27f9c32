//! The Tower layer, which creates the state that its services share: the room, the limits and the
//! gates.

use std::{fmt, sync::Arc};

use tower_layer::Layer;
use waiting_room_core::time::{Clock, SystemClock};

use crate::{
    config::WaitingRoomConfig, handle::WaitingRoomHandle, pipeline::Pipeline, service::WaitingRoom,
};

/// Puts a waiting room in front of a service.
///
/// All services created by one layer share its room, limits and gates. axum calls
/// [`layer`](Layer::layer) once for each route, so a visitor admitted on one route is admitted on
/// all of them. Two separate rooms require two layers.
///
/// See the [crate docs](crate) for an example.
pub struct WaitingRoomLayer {
    pipeline: Arc<Pipeline>,
}

impl WaitingRoomLayer {
    /// Creates a layer. The state of its room, if it has one, is in the store that was given with
    /// [`room_store`](crate::config::WaitingRoomConfigBuilder::room_store), or in the memory of
    /// this process if no store was given.
    ///
    /// If the configuration has a room but no
    /// [keys](crate::config::WaitingRoomConfigBuilder::keys), the layer generates a random key and
    /// logs a warning, because all passes and tickets become invalid when this process ends.
    #[must_use]
    pub fn new(config: WaitingRoomConfig) -> Self {
        Self::with_clock(config, SystemClock::new())
    }

    /// Creates a layer in the same way as [`new`](Self::new), but with the given clock, such as a
    /// [`ManualClock`](crate::time::ManualClock) in tests. If the room has a store of its own, the
    /// layer uses the clock of that store instead, so that both agree on the time.
    ///
    /// The given clock does not wake waiting requests. Gate queues and leaky queues sleep on
    /// tokio's clock, which a test has to pause and advance separately.
    #[must_use]
    pub fn with_clock(config: WaitingRoomConfig, clock: impl Clock) -> Self {
        Self { pipeline: Arc::new(Pipeline::new(config, clock)) }
    }

    /// Returns the operator's handle, which observes and changes the room, the limits and the
    /// gates.
    #[must_use]
    pub fn handle(&self) -> WaitingRoomHandle {
        WaitingRoomHandle::new(Arc::clone(&self.pipeline))
    }

    /// Wraps the layer for axum, so that its responses have axum's own body. Without the wrapper,
    /// axum allocates a box for the body of each response, and tower's `option_layer` does not
    /// compile, with the error "expected `Body`, found `ResponseBody<Body>`".
    #[cfg(feature = "axum")]
    #[must_use]
    pub fn for_axum(self) -> crate::for_axum::ForAxum<Self> {
        crate::for_axum::ForAxum::new(self)
    }

    /// Returns the stages of the layer, for a service that chooses among several layers.
    pub(crate) fn into_pipeline(self) -> Arc<Pipeline> {
        self.pipeline
    }
}

impl<S> Layer<S> for WaitingRoomLayer {
    type Service = WaitingRoom<S>;

    fn layer(&self, inner: S) -> Self::Service {
        WaitingRoom::new(inner, Arc::clone(&self.pipeline))
    }
}

impl Clone for WaitingRoomLayer {
    fn clone(&self) -> Self {
        Self { pipeline: Arc::clone(&self.pipeline) }
    }
}

impl fmt::Debug for WaitingRoomLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitingRoomLayer").finish_non_exhaustive()
    }
}
