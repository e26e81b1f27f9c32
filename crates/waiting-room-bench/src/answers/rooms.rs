//! Full rooms, with those who wait for them.

use std::time::Duration;

use anyhow::Result;
use tower_waiting_room::{
    ManualClock, MemoryStore, Store, StoreFailure, Timestamp, WaitingRoomLayer,
};

use crate::setting::{config, token};

/// A full room.
#[derive(Debug)]
pub(super) struct FullRoom {
    pub(super) layer: WaitingRoomLayer,
    /// The pass that fills it.
    pub(super) pass: String,
    /// A ticket for it.
    pub(super) ticket: String,
}

impl FullRoom {
    async fn new(layer: WaitingRoomLayer) -> Self {
        let (pass, ticket) = (token(&layer).await, token(&layer).await);
        Self { layer, pass, ticket }
    }
}

/// A room on the machine's clock, with a ticket that is shown too early for ten minutes.
pub(super) async fn full_room() -> Result<FullRoom> {
    let longest = Duration::from_secs(10 * 60);
    let config = config().refresh_interval(longest).place_retention(3 * longest).build()?;
    Ok(FullRoom::new(WaitingRoomLayer::new(config)).await)
}

/// A room whose clock stands where its ticket is due.
pub(super) async fn still_room() -> Result<FullRoom> {
    let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
    let config = config().build()?;
    let store = MemoryStore::with_clock(config.rules().clone(), clock.clone())?;
    let interval = store.rules().current_refresh_interval();
    let room = FullRoom::new(WaitingRoomLayer::with_store(config, store, StoreFailure::Wait)).await;
    clock.advance(2 * interval);
    Ok(room)
}
