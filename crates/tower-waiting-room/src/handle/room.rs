//! The handle to a room.

use std::{fmt, sync::Arc};

use tokio::time::Instant;
use waiting_room_core::{
    RoomRules, StoreError, Timestamp,
    room::{
        RoomMode, RoomNode, RoomSnapshot,
        event::{Reveal, Schedule},
    },
};

use crate::room::Operated;

/// Observes a room and changes its rules while it is in use.
///
/// [`WaitingRoomHandle::room`](super::WaitingRoomHandle::room) returns this handle. A change
/// applies to all nodes that share the room's store: immediately on this node, and within two
/// seconds on the other nodes.
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
#[derive(Clone)]
pub struct RoomHandle {
    room: Operated,
}

impl RoomHandle {
    pub(super) const fn new(room: Operated) -> Self {
        Self { room }
    }

    /// Returns the room's current figures.
    ///
    /// # Errors
    ///
    /// Returns an error if the store does not answer.
    pub async fn snapshot(&self) -> Result<RoomSnapshot, StoreError> {
        self.room.snapshot().await
    }

    /// Returns the nodes that share the room, starting with the one heard from most recently, or
    /// `None` if the store does not know its nodes.
    #[must_use]
    pub fn nodes(&self) -> Option<Vec<RoomNode>> {
        self.room.store.nodes()
    }

    /// Returns the rules in force as known to this node. During an event, these are the rules of the
    /// event.
    #[must_use]
    pub fn rules(&self) -> Arc<RoomRules> {
        self.room.store.rules()
    }

    /// Returns the events of the room, as known to this node. The result is empty for a store without
    /// events.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        self.room.store.plan().map(|plan| plan.schedule.clone()).unwrap_or_default()
    }

    /// Replaces the events of the room. Two events with the same name are the same event.
    ///
    /// An event that has begun may be ended, or changed in part; see
    /// [`Schedule::change`](crate::room::event::Schedule::change). A seed that the room already
    /// knows need not be given again.
    ///
    /// # Errors
    ///
    /// Returns an error, and leaves the events unchanged, if the store does not answer or does not
    /// support events, or if the schedule is invalid, lacks a seed, or contradicts the rules of the
    /// room or an event that has begun. The source of the error names the field.
    pub async fn set_schedule(&self, schedule: Schedule) -> Result<(), StoreError> {
        self.room.store.schedule(schedule).await
    }

    /// Returns the rules that will be in force at `at` if nothing is changed until then, for a
    /// preview of an event.
    #[must_use]
    pub fn rules_at(&self, at: Timestamp) -> RoomRules {
        let store = &self.room.store;
        store.plan().map_or_else(|| (*store.rules()).clone(), |plan| plan.rules_at(at))
    }

    /// Returns what is published about the latest draw, or `None` before the first draw.
    #[must_use]
    pub fn reveal(&self) -> Option<Reveal> {
        self.room.store.plan().and_then(|plan| plan.reveal.clone())
    }

    /// Changes the maximum number of active visitors, and the maximum number of visitors who are
    /// admitted within any 60 seconds.
    ///
    /// No session is ended, so a lower limit takes effect as sessions lapse.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is invalid or the store does not answer. The old limits then
    /// stay in effect.
    pub async fn set_limits(
        &self,
        total_active_users: u32,
        new_users_per_minute: impl Into<Option<u32>> + Send,
    ) -> Result<(), StoreError> {
        let per_minute = new_users_per_minute.into();
        self.change(move |rules| {
            rules.total_active_users(total_active_users).new_users_per_minute(per_minute)
        })
        .await
    }

    /// Admits no new visitors until [`resume`](Self::resume) is called. Existing sessions continue.
    ///
    /// # Errors
    ///
    /// Returns an error, and leaves the mode unchanged, if the store does not answer.
    pub async fn queue_all(&self) -> Result<(), StoreError> {
        self.set_mode(RoomMode::QueueAll).await
    }

    /// Admits visitors who have a place in line, and lets no new visitor join the line.
    ///
    /// # Errors
    ///
    /// Returns an error, and leaves the mode unchanged, if the store does not answer.
    pub async fn drain(&self) -> Result<(), StoreError> {
        self.set_mode(RoomMode::Drain).await
    }

    /// Suspends the room, so that every request bypasses it and is not counted. Rate limits and
    /// gates stay in effect.
    ///
    /// All waiting visitors are let through immediately. If the service cannot handle all of these
    /// visitors together, [`drain`](Self::drain) the line first.
    ///
    /// # Errors
    ///
    /// Returns an error, and leaves the mode unchanged, if the store does not answer.
    pub async fn suspend(&self) -> Result<(), StoreError> {
        self.set_mode(RoomMode::Suspended).await
    }

    /// Puts the limits into effect again after a call to [`queue_all`](Self::queue_all),
    /// [`drain`](Self::drain) or [`suspend`](Self::suspend).
    ///
    /// # Errors
    ///
    /// Returns an error, and leaves the mode unchanged, if the store does not answer.
    pub async fn resume(&self) -> Result<(), StoreError> {
        self.set_mode(RoomMode::Auto).await
    }

    /// Changes the rules. Concurrent changes are applied one after the other, each to the result of
    /// the previous change, so the closure may be called more than once.
    ///
    /// # Errors
    ///
    /// Returns an error if the rules are invalid or the store does not answer. The old rules then
    /// stay in effect.
    pub async fn change(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> Result<(), StoreError> {
        self.room.store.configure(Box::new(change)).await?;
        // A higher limit, or another mode, may have made slots free.
        self.room.push.iter().for_each(|streams| streams.call(Instant::now()));
        Ok(())
    }

    async fn set_mode(&self, mode: RoomMode) -> Result<(), StoreError> {
        self.change(move |rules| rules.mode(mode)).await
    }
}

impl fmt::Debug for RoomHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoomHandle").finish_non_exhaustive()
    }
}
