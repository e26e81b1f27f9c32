//! What a node does each second, whether anybody asks or not.

use std::{sync::Arc, time::Duration};

use redis::aio::ConnectionLike;
use tokio::{
    select,
    sync::mpsc::WeakSender,
    time::{Instant, sleep},
};
use waiting_room_core::{StoreError, VisitorId};

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
/// the time. If there is no answer, it looks more often, and it may be for the connection.
pub(crate) async fn watch<C: ConnectionLike + Clone>(
    connections: Arc<Connections<C>>,
    shared: Arc<Shared>,
    store: WeakSender<Call>,
) {
    let mut replaced = Instant::now();
    while store.upgrade().is_some() {
        let mut looked = look(&mut connections.current(), &shared).await;
        if looked.is_err() && replaced.elapsed() >= EVERY {
            replaced = Instant::now();
            if connections.replace().await {
                looked = look(&mut connections.current(), &shared).await;
            }
        }
        if let Err(error) = looked {
            shared.failed(&error);
        }
        if shared.breaker.is_open() {
            sleep(SOON).await;
        } else {
            select! {
                () = sleep(EVERY) => {}
                () = shared.opened.notified() => sleep(SOON).await,
            }
        }
    }
}

async fn look<C: ConnectionLike>(connection: &mut C, shared: &Shared) -> Result<(), StoreError> {
    let known = [shared.known_version()];
    let (head, each) = run(Verb::Snapshot, &known, connection, shared).await?;
    // It answers, whatever it says.
    shared.succeeded();
    let mut is_more = false;
    for said in each {
        (_, is_more) = shared.take_snapshot(&head, said)?;
    }
    tell_of_those_far_back(connection, shared).await?;
    give_up(connection, shared).await?;
    for _ in 0..MAX_SWEEPS {
        if !is_more {
            break;
        }
        let (_, each) = run(Verb::Sweep, &[], connection, shared).await?;
        for mut said in each {
            is_more = said.signed()? == 1;
        }
    }
    Ok(())
}

/// Tells the server who was answered by this node alone.
async fn tell_of_those_far_back<C: ConnectionLike>(
    connection: &mut C,
    shared: &Shared,
) -> Result<(), StoreError> {
    let heartbeats = shared.take_heartbeats();
    for (index, some) in heartbeats.chunks(AT_ONCE).enumerate() {
        let arguments: Vec<_> = some.iter().flat_map(verbs::heartbeat).collect();
        if let Err(error) = run(Verb::Heartbeat, &arguments, connection, shared).await {
            shared.put_back(&heartbeats[index * AT_ONCE..]);
            return Err(error);
        }
    }
    Ok(())
}

/// Gives back the slots of those who may have entered without knowing.
async fn give_up<C: ConnectionLike>(connection: &mut C, shared: &Shared) -> Result<(), StoreError> {
    let owed: Vec<VisitorId> = shared.take_owed();
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
/// How soon it looks again for a server that does not answer.
const SOON: Duration = Duration::from_millis(100);

/// So many visitors share a script.
const AT_ONCE: usize = 64;
/// Each clears a thousand. More than a hundred thousand who vanish at once take another second.
const MAX_SWEEPS: usize = 128;
