//! The watch task, which keeps a node up to date with its room, whether requests arrive or not.
//!
//! Once a second, the watch task
//!
//! 1. reads the rules, the time and the frontier of the room, either from the *glance*, which is a
//!    copy of a recent snapshot that another node has left, or by running a script;
//! 2. reports the visitors whose check-ins this node has answered by itself;
//! 3. releases the slots of visitors who may not have received their passes;
//! 4. sweeps, if the script has found more lapsed entries than it may remove at once;
//! 5. checks whether the server may evict keys, but only once a minute;
//! 6. lists itself as a node of the room, but only every five seconds.
//!
//! While the server does not answer, only the watch task probes it. Visitors' calls are not sent
//! during that time, and the first poll that succeeds closes the breaker.

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
use waiting_room_core::{StoreError, VisitorId, error::StoreErrorKind};

use crate::{
    batches::{Call, join, run},
    connections::{Connections, Reopening, answered, check_eviction, unavailable},
    nodes::Nodes,
    reply::{self, ReplyFields},
    scripts::Verb,
    shared::Shared,
    verbs,
};

/// Polls the room once a second, until every handle to the store has been dropped.
///
/// A poll may fail because of the connection, so another connection is opened immediately. After
/// further failures, each attempt is preceded by a pause, which doubles from 10 ms to 1 s. While
/// the breaker is open, the watch task polls the room ten times a second.
pub(crate) async fn watch<C: ConnectionLike + Clone>(
    connections: Arc<Connections<C>>,
    shared: Arc<Shared>,
    store: WeakSender<Call>,
) {
    let mut reopening = Reopening::default();
    let mut looks = Looks::default();
    while store.upgrade().is_some() {
        let mut looked = looks.look_by(&connections, &shared).await;
        // The second poll uses the new connection immediately. If only the connection was broken,
        // no calls fail except those that were in flight on it.
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
                // Five calls have just failed, so the server gets a short pause before the next
                // probe.
                () = shared.opened.notified() => sleep(SOON).await,
                () = shared.broken.notified() => sleep(reopening.pause()).await,
            }
        }
    }
}

/// The state that the watch task keeps between two polls.
#[derive(Debug)]
struct Looks {
    /// The number of polls in a row that used another node's glance instead of a script.
    glances: u32,
    /// The checks of the server's memory options.
    memory: Timer,
    /// The reports in which the node lists itself.
    reports: Timer,
}

impl Default for Looks {
    fn default() -> Self {
        // The memory options have just been checked, when the node joined the room.
        let memory = Timer::next_in(MEMORY_EVERY);
        Self { glances: 0, memory, reports: Timer::next_in(Duration::ZERO) }
    }
}

/// Work that is done less often than the polls.
#[derive(Debug)]
struct Timer {
    due: Instant,
}

impl Timer {
    fn next_in(time: Duration) -> Self {
        Self { due: Instant::now() + time }
    }

    /// Returns whether the work is due. If so, the work is due again after `period`.
    fn is_due(&mut self, period: Duration) -> bool {
        let now = Instant::now();
        let is_due = now >= self.due;
        if is_due {
            self.due = now + period;
        }
        is_due
    }
}

impl Looks {
    /// Polls the room over the current connection. A node that has started without its server joins
    /// the room first.
    async fn look_by<C: ConnectionLike + Clone>(
        &mut self,
        connections: &Connections<C>,
        shared: &Shared,
    ) -> Result<(), StoreError> {
        let mut connection = connections.current()?;
        if !shared.is_joined.load(Ordering::Relaxed) {
            match join(&mut connection, shared).await {
                // The node is already serving, so it adopts the rules and events of the room.
                Err(error) if error.kind() == StoreErrorKind::Rules && shared.knows_room() => {
                    shared.log_refused(&error);
                    shared.is_joined.store(true, Ordering::Relaxed);
                }
                joined => joined?,
            }
        }
        self.look(&mut connection, shared).await
    }

    /// Does the work of one poll, in the order given in the module docs.
    ///
    /// The first error ends the poll, and the next poll does the remaining work.
    async fn look<C: ConnectionLike>(
        &mut self,
        connection: &mut C,
        shared: &Shared,
    ) -> Result<(), StoreError> {
        // A node that uses a glance leaves the sweeping to the node that wrote the glance.
        let is_more = if self.glance(connection, shared).await? {
            false
        } else {
            snapshot(connection, shared).await?
        };
        tell_of_those_far_back(connection, shared).await?;
        give_up(connection, shared).await?;
        sweep(is_more, connection, shared).await?;
        if self.memory.is_due(MEMORY_EVERY) {
            look_at_memory(connection, shared).await?;
        }
        if self.reports.is_due(Nodes::REPORT_EVERY) {
            shared.nodes.report(connection, shared.deadline, &shared.clock).await;
        }
        Ok(())
    }

    /// Reads the glance that another node has left within the last second. Returns whether there
    /// was a usable glance. If not, the caller runs the script.
    ///
    /// A glance costs one `HMGET` instead of a script, so many nodes that share a room cost little
    /// more than one node. A glance cannot be used with a given clock, or if the rules have
    /// changed, because it does not contain the rules. A glance does not show the server's current
    /// time either, so every tenth poll runs the script even if there is a usable glance.
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
        let read =
            async { command.query_async(connection).await.map_err(|error| unavailable(&error)) };
        let read: (Option<String>, Option<String>) = answered(shared.deadline, read).await?;
        // The script handles every case in which the glance cannot be used: the room is gone or has
        // no glance yet, the rules have changed, the glance is too old, or a different release
        // wrote it.
        let (Some(version), Some(glance)) = read else { return Ok(false) };
        if version.as_bytes() != shared.known_version() {
            return Ok(false);
        }
        let Ok((head, said)) = reply::revive(&glance) else { return Ok(false) };
        // This node's estimate of the server's clock is never behind that clock, so a glance may
        // seem older than it is, but never newer.
        if shared.clock.now().since(head.now) >= EVERY {
            return Ok(false);
        }
        self.glances += 1;
        // The server has answered the call that reads the glance, so the breaker is closed.
        shared.succeeded();
        shared.take_snapshot(&head, said)?;
        Ok(true)
    }
}

/// Reads the room with a script, and leaves a glance for other nodes. Returns whether more entries
/// have to be swept.
///
/// While no visitor arrives, a lost room is noticed by this function, and the first node that
/// notices the loss opens the room again.
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

/// Removes lapsed entries by running one script after another, until no entry is left or
/// [`MAX_SWEEPS`] scripts have run.
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

/// Checks whether the server may evict keys, because its options can be changed while it runs.
///
/// The layer reports a server that may evict keys as a misconfiguration. The node continues to
/// serve, because stopping would do more harm.
async fn look_at_memory<C: ConnectionLike>(
    connection: &mut C,
    shared: &Shared,
) -> Result<(), StoreError> {
    // The node sends a script rather than a plain `INFO` command, because in a cluster the script's
    // key selects the right cluster node.
    let script = Script::new(include_str!("lua/memory.lua"));
    let invocation = script.key(&shared.keys.as_slice()[0]);
    let looked =
        async { invocation.invoke_async(connection).await.map_err(|error| unavailable(&error)) };
    let mut said = ReplyFields::of(answered(shared.deadline, looked).await?)?;
    let may_evict = check_eviction(&said.text()?, &said.text()?).is_err();
    shared.may_evict.store(may_evict, Ordering::Relaxed);
    Ok(())
}

/// Reports the visitors whose check-ins this node has answered by itself, so that they stay
/// present.
///
/// A visitor who has been admitted or has left in the meantime has no place, so its report has no
/// effect.
///
/// # Errors
///
/// Returns an error if a report fails. The failed report and all later reports are kept for the
/// next poll.
async fn tell_of_those_far_back<C: ConnectionLike>(
    connection: &mut C,
    shared: &Shared,
) -> Result<(), StoreError> {
    let heartbeats = shared.take_heartbeats();
    for (index, some) in heartbeats.chunks(AT_ONCE).enumerate() {
        // The script expects one argument for each visitor and needs no count.
        let arguments: Vec<_> =
            some.iter().flat_map(|ticket| verbs::heartbeat(ticket, shared.shown(ticket))).collect();
        if let Err(error) = run(Verb::Heartbeat, &arguments, connection, shared).await {
            shared.put_back(&heartbeats[index * AT_ONCE..]);
            return Err(error);
        }
    }
    Ok(())
}

/// Releases the slots of visitors who may have been admitted without receiving a pass.
///
/// A visitor without a pass cannot use its slot, which would otherwise stay taken until the session
/// lapses.
///
/// # Errors
///
/// Returns an error if a call fails. The visitors who are left are then recorded again, because
/// repeating `leave` is harmless. If there are more than [`MAX_GIVEN_UP`] visitors, the next polls
/// release the slots of the others.
async fn give_up<C: ConnectionLike>(connection: &mut C, shared: &Shared) -> Result<(), StoreError> {
    let owed: Vec<VisitorId> = shared.take_owed();
    let (now, later) = owed.split_at(owed.len().min(MAX_GIVEN_UP));
    later.iter().for_each(|id| shared.owe(Some(*id)));
    for (index, some) in now.chunks(AT_ONCE).enumerate() {
        let arguments: Vec<_> = some.iter().copied().flat_map(verbs::leave).collect();
        if let Err(error) = run(Verb::Leave, &arguments, connection, shared).await {
            now[index * AT_ONCE..].iter().for_each(|id| shared.owe(Some(*id)));
            return Err(error);
        }
    }
    Ok(())
}

/// The time between two polls, and the maximum age of a usable glance.
const EVERY: Duration = Duration::from_secs(1);
/// The time between two checks of the server's memory options.
const MEMORY_EVERY: Duration = Duration::from_secs(60);
/// The maximum number of polls in a row that use a glance.
const GLANCES: u32 = 9;
/// The time between two polls while the breaker is open.
const SOON: Duration = Duration::from_millis(100);

/// The maximum number of visitors that share a script.
const AT_ONCE: usize = 64;
/// The maximum number of visitors whose slots one poll releases, so that a poll over a slow link does
/// not take much longer than a second.
const MAX_GIVEN_UP: usize = 1_024;
/// The maximum number of sweeps in one poll. Each sweep removes up to about 1 000 visitors, so a
/// crowd of more than about 128 000 visitors that vanishes at once takes further polls.
const MAX_SWEEPS: usize = 128;
