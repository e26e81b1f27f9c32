//! The Tower layer, which creates the state that its services share: the room, the limits and the
//! gates.

use std::{fmt, sync::Arc};

use tower_layer::Layer;
#[cfg(feature = "room")]
use waiting_room_core::{ConfigError, error::ConfigErrorKind, room::event::Event};
use waiting_room_core::{
    MemoryStore, RoomRules, Store,
    time::{Clock, SystemClock},
};

#[cfg(feature = "axum")]
use crate::for_axum::ForAxum;
use crate::{
    config::WaitingRoomConfig, handle::WaitingRoomHandle, pipeline::Pipeline, room::StoreFailure,
    service::WaitingRoom,
};

/// Puts a waiting room in front of a service.
///
/// All services created by one layer share its room, limits and gates. axum calls
/// [`layer`](Layer::layer) once for each route, so a visitor admitted on one route is admitted on
/// all of them. Two separate rooms require two layers.
///
/// See the [crate docs](crate) for an example.
pub struct WaitingRoomLayer<St = MemoryStore> {
    pipeline: Arc<Pipeline<St>>,
}

impl WaitingRoomLayer {
    /// Creates a layer that keeps the state of its room in the memory of this process.
    ///
    /// If the configuration has a room but no
    /// [keys](crate::config::WaitingRoomConfigBuilder::keys), the layer generates a random key and
    /// logs a warning, because all passes and tickets become invalid when this process ends.
    ///
    /// # Panics
    ///
    /// This function never panics, because every configuration was validated when it was built.
    #[must_use]
    pub fn new(config: WaitingRoomConfig) -> Self {
        Self::with_clock(config, SystemClock::new())
    }

    /// Creates a layer in the same way as [`new`](Self::new), but with the given clock, such as a
    /// [`ManualClock`](crate::time::ManualClock) in tests.
    ///
    /// The given clock does not wake waiting requests. Gate queues and leaky queues sleep on
    /// tokio's clock, which a test has to pause and advance separately.
    ///
    /// # Panics
    ///
    /// This function never panics, because every configuration was validated when it was built.
    #[must_use]
    pub fn with_clock(config: WaitingRoomConfig, clock: impl Clock) -> Self {
        // Without a room, the store is used only as the clock for the limits and gates.
        let no_room = || RoomRules::new(&*config.name, RoomRules::MAX_USERS);
        let rules = config.room.clone().unwrap_or_else(no_room);
        let store = MemoryStore::with_schedule(rules, config.schedule.clone(), clock)
            .expect("the rules and the events of a configuration are validated when it is built");
        Self { pipeline: Arc::new(Pipeline::new(config, store, StoreFailure::Wait)) }
    }
}

impl<St: Store> WaitingRoomLayer<St> {
    /// Creates a layer that keeps the state of its room in `store`. The store has to be created
    /// with the rules that [`WaitingRoomConfig::room`] returns.
    ///
    /// If the store was created with different rules, the rules of the store take effect instead of
    /// those in `config`, and
    /// [`Misconfiguration::RulesDiffer`](crate::config::Misconfiguration::RulesDiffer) is reported.
    ///
    /// `on_failure` determines how visitors without a valid pass are treated while the store does
    /// not answer. The policy has no default, because admitting every visitor is wrong for scarce
    /// goods, and refusing every visitor is wrong for ordinary content. Requests with a valid pass
    /// are always forwarded.
    ///
    /// # Panics
    ///
    /// Panics if the configuration has events that the store does not have, because the room would
    /// admit visitors before an event starts. To handle this case, use
    /// [`try_with_store`](Self::try_with_store).
    #[cfg(feature = "room")]
    #[must_use]
    pub fn with_store(config: WaitingRoomConfig, store: St, on_failure: StoreFailure) -> Self {
        Self::try_with_store(config, store, on_failure).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Creates a layer in the same way as [`with_store`](Self::with_store), if the store has the
    /// events of the configuration.
    ///
    /// The store is given the events when it is created, as with `RedisStoreOptions::schedule` in
    /// `waiting-room-redis`, or with [`Store::schedule`], which returns an error if the store does not
    /// support events.
    ///
    /// # Errors
    ///
    /// Returns an error that names the first event of the configuration that the store does not have.
    #[cfg(feature = "room")]
    pub fn try_with_store(
        config: WaitingRoomConfig,
        store: St,
        on_failure: StoreFailure,
    ) -> Result<Self, ConfigError> {
        let plan = store.plan();
        let has = |event: &Event| {
            plan.as_ref().is_some_and(|plan| plan.schedule().event(event.name()).is_some())
        };
        if let Some(missing) = config.schedule.events().iter().find(|event| !has(event)) {
            let given = format!("a list with {:?}", missing.name());
            let expected = "only events of the store of the room: give it the schedule of the \
                            configuration first, if it supports events";
            let kind = ConfigErrorKind::Contradicts;
            return Err(ConfigError::new(kind, "events", given, expected));
        }
        Ok(Self { pipeline: Arc::new(Pipeline::new(config, store, on_failure)) })
    }

    /// Returns the operator's handle, which observes and changes the room, the limits and the
    /// gates.
    #[must_use]
    pub fn handle(&self) -> WaitingRoomHandle<St> {
        WaitingRoomHandle::new(Arc::clone(&self.pipeline))
    }

    /// Wraps the layer for axum, so that its responses have axum's own body. Without the wrapper,
    /// axum allocates a box for the body of each response.
    #[cfg(feature = "axum")]
    #[must_use]
    pub fn for_axum(self) -> ForAxum<Self> {
        ForAxum::new(self)
    }

    /// Returns the stages of the layer, for a service that chooses among several layers.
    pub(crate) fn into_pipeline(self) -> Arc<Pipeline<St>> {
        self.pipeline
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
