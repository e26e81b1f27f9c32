//! What a node does each second, whether anybody asks or not.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use redis::{Script, aio::ConnectionLike};
use tokio::{
    select,
    sync::mpsc::WeakSender,
    time::{Instant, sleep},
};
use waiting_room_core::{StoreError, VisitorId};

use crate::{
    batches::{Call, join, run},
    connections::{Connections, answered, check_eviction, unavailable},
    reply::{self, Fields},
    scripts::Verb,
    shared::Shared,
    verbs,
};

/// Looks at the room each second until the store is gone.
///
/// So a node learns of rules that were changed elsewhere, of a server that answers again, and of
/// the time. If there is no answer, it looks more often, and it may be for the connection: another is
/// opened at once, and then after pauses that double.
pub(crate) async fn watch<C: ConnectionLike + Clone>(
    connections: Arc<Connections<C>>,
    shared: Arc<Shared>,
    store: WeakSender<Call>,
) {
    let (mut reopening, mut looks) = (Reopening::default(), Looks::default());
    while store.upgrade().is_some() {
        let mut looked = looks.look_by(&connections, &shared).await;
        if looked.is_err() && reopening.is_due() && connections.replace().await {
            looked = looks.look_by(&connections, &shared).await;
        }
        match looked {
            Ok(()) => reopening = Reopening::default(),
            Err(error) => shared.failed(&error),
        }
        if shared.breaker.is_open() {
            sleep(SOON).await;
        } else {
            select! {
                () = sleep(EVERY) => {}
                () = shared.opened.notified() => sleep(SOON).await,
                () = shared.broken.notified() => sleep(reopening.pause.max(BREATH)).await,
            }
        }
    }
}

/// When another connection is opened, while none brings an answer.
#[derive(Debug, Default)]
struct Reopening {
    /// Nothing before the first.
    pause: Duration,
    last: Option<Instant>,
}

impl Reopening {
    /// Whether it is time; if so, the next time is after twice the pause.
    fn is_due(&mut self) -> bool {
        let is_due = self.last.is_none_or(|last| last.elapsed() >= self.pause);
        if is_due {
            self.last = Some(Instant::now());
            self.pause = (self.pause * 2).clamp(SHORTEST_PAUSE, EVERY);
        }
        is_due
    }
}

/// What is looked at, and when it was last.
#[derive(Debug)]
struct Looks {
    /// So many were answered by what other nodes have seen.
    glances: u32,
    memory: Instant,
}

impl Default for Looks {
    fn default() -> Self {
        // The memory was looked at when the room was opened.
        Self { glances: 0, memory: Instant::now() }
    }
}

impl Looks {
    /// Looks by the connection in use, as one of the room: a node that has started without its server
    /// joins it first.
    async fn look_by<C: ConnectionLike + Clone>(
        &mut self,
        connections: &Connections<C>,
        shared: &Shared,
    ) -> Result<(), StoreError> {
        let mut connection = connections.current()?;
        if !shared.is_joined.load(Ordering::Relaxed) {
            join(&mut connection, shared).await?;
        }
        self.look(&mut connection, shared).await
    }

    async fn look<C: ConnectionLike>(
        &mut self,
        connection: &mut C,
        shared: &Shared,
    ) -> Result<(), StoreError> {
        let is_more = match self.glance(connection, shared).await? {
            true => false,
            false => snapshot(connection, shared).await?,
        };
        tell_of_those_far_back(connection, shared).await?;
        give_up(connection, shared).await?;
        sweep(is_more, connection, shared).await?;
        if self.memory.elapsed() >= MEMORY_EVERY {
            self.memory = Instant::now();
            look_at_memory(connection, shared).await?;
        }
        Ok(())
    }

    /// Takes what another node has seen within the last second. One command that reads; a script only
    /// where no node has looked, the rules have changed, or the time is to be learnt.
    async fn glance<C: ConnectionLike>(
        &mut self,
        connection: &mut C,
        shared: &Shared,
    ) -> Result<bool, StoreError> {
        if self.glances >= GLANCES || !shared.clock.is_servers() {
            self.glances = 0;
            return Ok(false);
        }
        let room = &shared.keys.as_slice()[0];
        let mut command = redis::cmd("HMGET");
        command.arg(room).arg("version").arg("glance");
        let read = command.query_async(connection);
        let read: (Option<String>, Option<String>) =
            answered(shared.deadline, read).await?.map_err(|error| unavailable(&error))?;
        let (Some(version), Some(glance)) = read else { return Ok(false) };
        if version.as_bytes() != shared.known_version() {
            return Ok(false);
        }
        let Ok((head, said)) = reply::revive(&glance) else { return Ok(false) };
        if shared.clock.now().since(head.now) >= EVERY {
            return Ok(false);
        }
        self.glances += 1;
        shared.succeeded();
        shared.take_snapshot(&head, said)?;
        Ok(true)
    }
}

/// Looks at the room by a script; says whether there is more to be swept.
async fn snapshot<C: ConnectionLike>(
    connection: &mut C,
    shared: &Shared,
) -> Result<bool, StoreError> {
    let known = [shared.known_version()];
    let (head, each) = run(Verb::Snapshot, &known, connection, shared).await?;
    // It answers, whatever it says.
    shared.succeeded();
    let mut is_more = false;
    for said in each {
        (_, is_more) = shared.take_snapshot(&head, said)?;
    }
    Ok(is_more)
}

async fn sweep<C: ConnectionLike>(
    mut is_more: bool,
    connection: &mut C,
    shared: &Shared,
) -> Result<(), StoreError> {
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

/// Looks whether the server may evict keys by now: its options can be changed while it runs.
async fn look_at_memory<C: ConnectionLike>(
    connection: &mut C,
    shared: &Shared,
) -> Result<(), StoreError> {
    let script = Script::new(include_str!("lua/memory.lua"));
    let invocation = script.key(&shared.keys.as_slice()[0]);
    let looked = answered(shared.deadline, invocation.invoke_async(connection)).await?;
    let mut said = Fields::of(looked.map_err(|error| unavailable(&error))?)?;
    let may_evict = check_eviction(&said.text()?, &said.text()?).is_err();
    shared.may_evict.store(may_evict, Ordering::Relaxed);
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
/// How often the options of the server are looked at.
const MEMORY_EVERY: Duration = Duration::from_secs(60);
/// So many looks in a row are answered by what other nodes have seen.
const GLANCES: u32 = 9;
/// The pause before the second connection that is opened in a row.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
/// A failure is looked into no sooner, so that many are one.
const BREATH: Duration = Duration::from_millis(1);
/// How soon it looks again for a server that does not answer.
const SOON: Duration = Duration::from_millis(100);

/// So many visitors share a script.
const AT_ONCE: usize = 64;
/// Each clears a thousand. More than a hundred thousand who vanish at once take another second.
const MAX_SWEEPS: usize = 128;

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn another_connection_is_opened_at_once_and_then_after_pauses_that_double_up_to_a_second()
    {
        let mut reopening = Reopening::default();
        let mut pauses = Vec::new();
        for _ in 0..10 {
            let since = Instant::now();
            while !reopening.is_due() {
                advance(Duration::from_millis(1)).await;
            }
            pauses.push(since.elapsed().as_millis());
        }
        assert_eq!(pauses, [0, 10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]);
    }
}
