//! The watch: the task with which a node keeps up with its room, whether requests arrive or not.
//!
//! Once a second it
//!
//! 1. reads the room, from the glance that another node has left or by a script: the rules, the
//!    time, and the frontier;
//! 2. reports the visitors whose check-ins this node has answered by itself;
//! 3. gives back the slots of visitors who may not have received their passes;
//! 4. sweeps, if the script has found more to clear than it may clear at once;
//! 5. each minute, checks whether the server may evict keys.
//!
//! While the server does not answer, the watch is what probes it: calls of visitors are not sent
//! then, and the first look that succeeds closes the breaker.

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
    reply::{self, ReplyFields},
    scripts::Verb,
    shared::Shared,
    verbs,
};

/// Looks at the room each second, until every handle on the store has been dropped.
///
/// A failed look may be due to the connection, so another one is opened at once, and after further
/// failures with pauses that double from 10 ms to 1 s. While the breaker is open, the watch looks
/// ten times a second.
pub(crate) async fn watch<C: ConnectionLike + Clone>(
    connections: Arc<Connections<C>>,
    shared: Arc<Shared>,
    store: WeakSender<Call>,
) {
    let (mut reopening, mut looks) = (Reopening::default(), Looks::default());
    while store.upgrade().is_some() {
        let mut looked = looks.look_by(&connections, &shared).await;
        // The second look uses the new connection at once: if only the connection was broken, no
        // calls fail but those that were in flight on it.
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
                // Five calls have just failed; the server is given a moment before the next probe.
                () = shared.opened.notified() => sleep(SOON).await,
                () = shared.broken.notified() => sleep(reopening.pause.max(BREATH)).await,
            }
        }
    }
}

/// The backoff between attempts to open another connection. A look that succeeds resets it.
#[derive(Debug, Default)]
struct Reopening {
    /// The pause before the next attempt; zero before the first.
    pause: Duration,
    /// When the last attempt began.
    last: Option<Instant>,
}

impl Reopening {
    /// Whether an attempt is due. If so, records it and doubles the pause before the next one.
    fn is_due(&mut self) -> bool {
        let is_due = self.last.is_none_or(|last| last.elapsed() >= self.pause);
        if is_due {
            self.last = Some(Instant::now());
            self.pause = (self.pause * 2).clamp(SHORTEST_PAUSE, EVERY);
        }
        is_due
    }
}

/// The state that the watch keeps between two looks.
#[derive(Debug)]
struct Looks {
    /// The number of looks in a row that needed no script, thanks to the glance of another node.
    glances: u32,
    /// When the options of the server's memory were last checked.
    memory: Instant,
}

impl Default for Looks {
    fn default() -> Self {
        // Joining the room has checked the memory.
        Self { glances: 0, memory: Instant::now() }
    }
}

impl Looks {
    /// Looks at the room over the connection in use. A node that has started without its server
    /// joins the room first.
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

    /// Does the work of one look, in the order of the module docs.
    ///
    /// The first error ends the look: what is left is done by the next one.
    async fn look<C: ConnectionLike>(
        &mut self,
        connection: &mut C,
        shared: &Shared,
    ) -> Result<(), StoreError> {
        // A node that uses a glance leaves the sweeping to the node that left it.
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

    /// Learns from the glance that another node has left within the last second. Returns whether
    /// there was one; if not, the caller runs the script.
    ///
    /// A glance costs one `HMGET` instead of a script, so many nodes on one room cost little more
    /// than one. It cannot be used if the rules have changed, because it does not carry them, or
    /// with a given clock. And it says nothing about the server's clock at this moment, so each
    /// tenth look runs the script in any case.
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
        // The script handles each case in which the glance cannot be used: the room is gone or has
        // no glance yet, its rules are new, another release has written the glance, or it is old.
        let (Some(version), Some(glance)) = read else { return Ok(false) };
        if version.as_bytes() != shared.known_version() {
            return Ok(false);
        }
        let Ok((head, said)) = reply::revive(&glance) else { return Ok(false) };
        // This node's estimate of the server's clock is never behind, so a glance may look older
        // than it is, but never younger.
        if shared.clock.now().since(head.now) >= EVERY {
            return Ok(false);
        }
        self.glances += 1;
        // A glance is a reply of the server like any other, so it closes the breaker.
        shared.succeeded();
        shared.take_snapshot(&head, said)?;
        Ok(true)
    }
}

/// Reads the room with a script, and leaves a glance for other nodes. Returns whether there is more
/// to sweep.
///
/// If the room is gone, this is where its nodes notice while no visitor arrives; the first of them
/// opens it again.
async fn snapshot<C: ConnectionLike>(
    connection: &mut C,
    shared: &Shared,
) -> Result<bool, StoreError> {
    let known = [shared.known_version()];
    let (head, each) = run(Verb::Snapshot, &known, connection, shared).await?;
    // The server has answered, even if the reply cannot be decoded.
    shared.succeeded();
    let mut is_more = false;
    for said in each {
        (_, is_more) = shared.take_snapshot(&head, said)?;
    }
    Ok(is_more)
}

/// Clears what has lapsed, script by script, until nothing is left or [`MAX_SWEEPS`] have run.
///
/// Other calls run between the scripts, so the server is never blocked for long.
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

/// Checks whether the server may evict keys, since its options can be changed while it runs.
///
/// A server that may evict is reported by the layer as a misconfiguration; the node goes on, since
/// to stop would be the greater harm.
async fn look_at_memory<C: ConnectionLike>(
    connection: &mut C,
    shared: &Shared,
) -> Result<(), StoreError> {
    // A script rather than a plain `INFO`, because in a cluster its key selects the right node.
    let script = Script::new(include_str!("lua/memory.lua"));
    let invocation = script.key(&shared.keys.as_slice()[0]);
    let looked = answered(shared.deadline, invocation.invoke_async(connection)).await?;
    let mut said = ReplyFields::of(looked.map_err(|error| unavailable(&error))?)?;
    let may_evict = check_eviction(&said.text()?, &said.text()?).is_err();
    shared.may_evict.store(may_evict, Ordering::Relaxed);
    Ok(())
}

/// Reports the visitors whose check-ins this node has answered by itself, so that they stay
/// present.
///
/// A visitor who was admitted or has left meanwhile has no place, and its report changes nothing.
///
/// # Errors
///
/// A report fails. It and those after it are kept for the next look.
async fn tell_of_those_far_back<C: ConnectionLike>(
    connection: &mut C,
    shared: &Shared,
) -> Result<(), StoreError> {
    let heartbeats = shared.take_heartbeats();
    for (index, some) in heartbeats.chunks(AT_ONCE).enumerate() {
        // Three arguments for each visitor; the script needs no count.
        let arguments: Vec<_> = some.iter().flat_map(verbs::heartbeat).collect();
        if let Err(error) = run(Verb::Heartbeat, &arguments, connection, shared).await {
            shared.put_back(&heartbeats[index * AT_ONCE..]);
            return Err(error);
        }
    }
    Ok(())
}

/// Gives back the slots of visitors who may have been admitted without receiving a pass.
///
/// Such a visitor has no proof of its slot, which would otherwise stay taken until the session
/// lapses.
///
/// # Errors
///
/// A call fails. All visitors are then recorded again: `leave` may be repeated without harm.
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

/// The time between two looks, the age up to which a glance is used, and the longest pause between
/// two attempts to reconnect.
const EVERY: Duration = Duration::from_secs(1);
/// How often the options of the server's memory are checked.
const MEMORY_EVERY: Duration = Duration::from_secs(60);
/// The most looks in a row that use a glance.
const GLANCES: u32 = 9;
/// The pause after the first attempt to reconnect; it doubles from there.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
/// The shortest time between a failure and the look that it causes, so that the failures of all
/// calls on a broken connection cause one look.
const BREATH: Duration = Duration::from_millis(1);
/// The time between two looks while the breaker is open.
const SOON: Duration = Duration::from_millis(100);

/// The most visitors that share a script.
const AT_ONCE: usize = 64;
/// The most sweeps in one look. Each clears up to 1 000 entries of the line and of the sessions, so
/// a crowd of more than 128 000 that vanishes at once takes further looks.
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
