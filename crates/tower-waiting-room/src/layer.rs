//! The layer: where the state of a room is made, once.

use std::{fmt, sync::Arc};

use tower_layer::Layer;
use waiting_room_core::{MemoryStore, Store};

use crate::{
    config::WaitingRoomConfig, handle::WaitingRoomHandle, pipeline::Pipeline, room::StoreFailure,
    service::WaitingRoom,
};

/// Puts a waiting room in front of a service.
///
/// All services that one layer makes share one room: axum calls [`layer`](Layer::layer) once for
/// every route, and a visitor of one route is a visitor of all. For two rooms make two layers.
///
/// See the [crate docs](crate) for an example.
pub struct WaitingRoomLayer<St = MemoryStore> {
    pipeline: Arc<Pipeline<St>>,
}

impl WaitingRoomLayer {
    /// A room in the memory of this process.
    ///
    /// Without [keys](crate::WaitingRoomConfigBuilder::keys) a random one is made, and a warning
    /// is logged.
    ///
    /// # Panics
    ///
    /// Never: a config that exists has been validated.
    #[must_use]
    pub fn new(config: WaitingRoomConfig) -> Self {
        let store = MemoryStore::new(config.rules().clone())
            .expect("a config is built only from rules that a room can obey");
        Self::with_store(config, store, StoreFailure::Wait)
    }
}

impl<St: Store> WaitingRoomLayer<St> {
    /// A room in `store`, which was made with [`WaitingRoomConfig::rules`].
    ///
    /// A store that was made with other rules keeps them: they are in force, those of `config` are not,
    /// and [`Misconfiguration::RulesDiffer`](crate::Misconfiguration::RulesDiffer) is reported.
    ///
    /// `on_failure` is what to tell a visitor without a pass when the store cannot decide. There
    /// is no default: to let everybody in is wrong for scarce goods, to keep everybody out is
    /// wrong for content. Valid passes go on in either case.
    #[must_use]
    pub fn with_store(config: WaitingRoomConfig, store: St, on_failure: StoreFailure) -> Self {
        Self { pipeline: Arc::new(Pipeline::new(config, store, on_failure)) }
    }

    /// The operator's handle on the room.
    #[must_use]
    pub fn handle(&self) -> WaitingRoomHandle<St> {
        WaitingRoomHandle::new(Arc::clone(&self.pipeline))
    }
}

impl<S, St> Layer<S> for WaitingRoomLayer<St> {
    type Service = WaitingRoom<S, St>;

    fn layer(&self, inner: S) -> Self::Service {
        WaitingRoom::new(inner, Arc::clone(&self.pipeline))
    }
}

impl<St> Clone for WaitingRoomLayer<St> {
    fn clone(&self) -> Self {
        Self { pipeline: Arc::clone(&self.pipeline) }
    }
}

impl<St> fmt::Debug for WaitingRoomLayer<St> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitingRoomLayer").finish_non_exhaustive()
    }
}
