//! How a node becomes one of a room.

use std::{sync::atomic::Ordering, time::Duration};

use redis::aio::ConnectionLike;
use tokio::time::timeout;
use waiting_room_core::{StoreError, StoreErrorKind};

use crate::{
    batches,
    connections::{check_eviction, unavailable},
    shared::{Opens, Shared},
};

/// Has the server know the scripts, and opens the room or joins it.
///
/// # Errors
///
/// The server does not answer, refuses, or may evict keys. In the last case the node has joined.
pub(crate) async fn join<C: ConnectionLike>(
    connection: &mut C,
    shared: &Shared,
) -> Result<(), StoreError> {
    let opened = async {
        shared.scripts.load(connection).await.map_err(|error| unavailable(&error))?;
        batches::open(Opens::Start, connection, shared).await
    };
    let opened = timeout(CONNECT_DEADLINE, opened).await;
    let mut said = opened.map_err(|_| StoreError::new(StoreErrorKind::Timeout))??;
    shared.is_joined.store(true, Ordering::Relaxed);
    let checked = check_eviction(&said.text()?, &said.text()?);
    shared.may_evict.store(checked.is_err(), Ordering::Relaxed);
    checked
}

pub(crate) const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
