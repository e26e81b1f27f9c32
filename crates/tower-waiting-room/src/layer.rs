//! The Tower layer, which creates the shared state of a room, its limits and its gates once.

use std::{fmt, sync::Arc};

use tower_layer::Layer;
use waiting_room_core::{
    MemoryStore, RoomRules, Store,
    time::{Clock, SystemClock},
};

use crate::{
    config::WaitingRoomConfig, handle::WaitingRoomHandle, pipeline::Pipeline, room::StoreFailure,
    service::WaitingRoom,
};

/// Puts a waiting room in front of a service.
///
/// All services that one layer makes share its room, limits and gates. axum calls
/// [`layer`](Layer::layer) once for each route, so a visitor of one route is a visitor of all of
/// them. Two rooms need two layers.
///
/// See the [crate docs](crate) for an example.
pub struct WaitingRoomLayer<St = MemoryStore> {
    pipeline: Arc<Pipeline<St>>,
}

impl WaitingRoomLayer {
    /// Creates a layer whose room is kept in the memory of this process.
    ///
    /// If the config has a room but no [keys](crate::config::WaitingRoomConfigBuilder::keys), a
    /// random key is drawn and a warning is logged: passes and tickets are void once this process
    /// ends.
    ///
    /// # Panics
    ///
    /// Never, since every config that exists has been validated.
    #[must_use]
    pub fn new(config: WaitingRoomConfig) -> Self {
        Self::with_clock(config, SystemClock::new())
    }

    /// Creates a layer like [`new`](Self::new) that reads this clock, such as a
    /// [`ManualClock`](crate::time::ManualClock) in tests.
    ///
    /// This clock does not wake requests that wait: the queues of gates and leaky queues sleep on
    /// tokio's clock, which a test has to pause and advance separately.
    ///
    /// # Panics
    ///
    /// Never, since every config that exists has been validated.
    #[must_use]
    pub fn with_clock(config: WaitingRoomConfig, clock: impl Clock) -> Self {
        // Without a room, the store is the clock of the limits and gates and nothing else.
        let no_room = || RoomRules::new(&*config.name, RoomRules::MAX_USERS);
        let rules = config.room.clone().unwrap_or_else(no_room);
        let store = MemoryStore::with_clock(rules, clock)
            .expect("a config is built only from rules that a room can keep");
        Self { pipeline: Arc::new(Pipeline::new(config, store, StoreFailure::Wait)) }
    }
}

impl<St: Store> WaitingRoomLayer<St> {
    /// Creates a layer whose room is kept in `store`, which has to be made with the rules that
    /// [`WaitingRoomConfig::room`] returns.
    ///
    /// A store that was made with other rules keeps them. They are then in force in place of those
    /// of `config`, and
    /// [`Misconfiguration::RulesDiffer`](crate::config::Misconfiguration::RulesDiffer) is reported.
    ///
    /// `on_failure` decides about visitors without a valid pass while the store does not answer. It
    /// has no default, because admitting all of them is wrong for scarce goods, and refusing all of
    /// them is wrong for content. Requests with a valid pass are forwarded in either case.
    #[cfg(feature = "room")]
    #[must_use]
    pub fn with_store(config: WaitingRoomConfig, store: St, on_failure: StoreFailure) -> Self {
        Self { pipeline: Arc::new(Pipeline::new(config, store, on_failure)) }
    }

    /// Returns the operator's handle, which observes and changes the room, the limits and the
    /// gates.
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
