//! The handle on a room.

use std::{fmt, sync::Arc};

use waiting_room_core::{
    MemoryStore, RoomRules, Store, StoreError,
    room::{RoomMode, RoomSnapshot},
};

use crate::pipeline::Pipeline;

/// Observes a room and changes its rules while it is in use.
///
/// Obtained from [`WaitingRoomHandle::room`](super::WaitingRoomHandle::room). A change applies to
/// all nodes that share the room's store: at once on this node, within two seconds on the others.
///
/// ```
/// # use tower_waiting_room::{WaitingRoomConfig, WaitingRoomLayer, room::StoreError};
/// # async fn operate() -> Result<(), StoreError> {
/// # let config = WaitingRoomConfig::builder("shop").total_active_users(200).build().unwrap();
/// let layer = WaitingRoomLayer::new(config);
/// let room = layer.handle().room().expect("the layer has a room");
///
/// room.set_limits(400, 300).await?;
/// println!("{} of {} active", room.snapshot().await?.active, 400);
/// # Ok(())
/// # }
/// ```
pub struct RoomHandle<St = MemoryStore> {
    pipeline: Arc<Pipeline<St>>,
}

impl<St: Store> RoomHandle<St> {
    pub(super) const fn new(pipeline: Arc<Pipeline<St>>) -> Self {
        Self { pipeline }
    }

    /// Returns the state of the room in numbers.
    ///
    /// # Errors
    ///
    /// Returns an error if the store does not answer.
    pub async fn snapshot(&self) -> Result<RoomSnapshot, StoreError> {
        self.pipeline.store.snapshot().await
    }

    /// Returns the rules in force, as far as this node knows them.
    #[must_use]
    pub fn rules(&self) -> Arc<RoomRules> {
        self.pipeline.store.rules()
    }

    /// Changes the maximum number of active visitors, and of visitors admitted within any 60 seconds.
    ///
    /// No session is ended: a lower limit takes effect as sessions lapse.
    ///
    /// # Errors
    ///
    /// Returns an error for a limit that a room cannot keep, and if the store does not answer. The
    /// old limits then stay in force.
    pub async fn set_limits(
        &self,
        total_active_users: u32,
        new_users_per_minute: impl Into<Option<u32>> + Send,
    ) -> Result<(), StoreError> {
        let per_minute = new_users_per_minute.into();
        self.change(move |rules| {
            rules.with_total_active_users(total_active_users).with_new_users_per_minute(per_minute)
        })
        .await
    }

    /// Admits no new visitors until [`resume`](Self::resume). Sessions continue.
    ///
    /// # Errors
    ///
    /// Returns an error if the store does not answer. Nothing changes then.
    pub async fn queue_all(&self) -> Result<(), StoreError> {
        self.set_mode(RoomMode::QueueAll).await
    }

    /// Admits visitors who have a place in line, and lets no new visitor join the line.
    ///
    /// # Errors
    ///
    /// Returns an error if the store does not answer. Nothing changes then.
    pub async fn drain(&self) -> Result<(), StoreError> {
        self.set_mode(RoomMode::Drain).await
    }

    /// Suspends the room: every request passes it, uncounted. Rate limits and gates stay in force.
    ///
    /// All waiting visitors are admitted at once. [`drain`](Self::drain) the line first if the
    /// service cannot take that.
    ///
    /// # Errors
    ///
    /// Returns an error if the store does not answer. Nothing changes then.
    pub async fn suspend(&self) -> Result<(), StoreError> {
        self.set_mode(RoomMode::Suspended).await
    }

    /// Puts the limits in force again, after any of the three methods above.
    ///
    /// # Errors
    ///
    /// Returns an error if the store does not answer. Nothing changes then.
    pub async fn resume(&self) -> Result<(), StoreError> {
        self.set_mode(RoomMode::Auto).await
    }

    /// Puts changed rules in force. Concurrent changes are applied one after the other, each to the
    /// result of the one before, so the closure may be called more than once.
    ///
    /// # Errors
    ///
    /// Returns an error for rules that a room cannot keep, and if the store does not answer. The old
    /// rules then stay in force.
    pub async fn change(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> Result<(), StoreError> {
        self.pipeline.store.configure(change).await
    }

    async fn set_mode(&self, mode: RoomMode) -> Result<(), StoreError> {
        self.change(move |rules| rules.with_mode(mode)).await
    }
}

impl<St> Clone for RoomHandle<St> {
    fn clone(&self) -> Self {
        Self { pipeline: Arc::clone(&self.pipeline) }
    }
}

impl<St> fmt::Debug for RoomHandle<St> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoomHandle").finish_non_exhaustive()
    }
}
