//! What a node does each second, whether anybody asks or not.

use std::{sync::Arc, time::Duration};

use redis::aio::ConnectionLike;
use tokio::{
    sync::mpsc::WeakSender,
    time::{MissedTickBehavior, interval},
};
use waiting_room_core::StoreError;

use crate::{
    batches::{Call, run},
    connections::Connections,
    scripts::Verb,
    shared::Shared,
    verbs,
};

/// Looks at the room each second until the store is gone.
///
/// So a node learns of rules that were changed elsewhere, of a server that answers again, and of
/// the time. If there is no answer, it may be for the connection.
pub(crate) async fn watch<C: ConnectionLike + Clone>(
    connections: Arc<Connections<C>>,
    shared: Arc<Shared>,
    store: WeakSender<Call>,
) {
    let mut seconds = interval(EVERY);
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        seconds.tick().await;
        if store.upgrade().is_none() {
            return;
        }
        let mut looked = look(&mut connections.current(), &shared).await;
        if looked.is_err() && connections.replace().await {
            looked = look(&mut connections.current(), &shared).await;
        }
        match looked {
            Ok(()) => shared.succeeded(),
            Err(error) => shared.failed(&error),
        }
    }
}

async fn look<C: ConnectionLike>(connection: &mut C, shared: &Shared) -> Result<(), StoreError> {
    let known = shared.known_version();
    let (head, each) = run(Verb::Snapshot, &known, connection, shared).await?;
    for said in each {
        shared.take_snapshot(&head, said)?;
    }
    let heartbeats = shared.take_heartbeats();
    for some in heartbeats.chunks(AT_ONCE) {
        let arguments: Vec<_> = some.iter().flat_map(verbs::heartbeat).collect();
        run(Verb::Heartbeat, &arguments, connection, shared).await?;
    }
    let owed = shared.take_owed();
    for some in owed.chunks(AT_ONCE) {
        let arguments: Vec<_> = some.iter().copied().flat_map(verbs::leave).collect();
        if let Err(error) = run(Verb::Leave, &arguments, connection, shared).await {
            owed.into_iter().for_each(|id| shared.owe(Some(id)));
            return Err(error);
        }
    }
    Ok(())
}

const EVERY: Duration = Duration::from_secs(1);

/// So many visitors share a script.
const AT_ONCE: usize = 64;
