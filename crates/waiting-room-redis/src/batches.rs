//! Batches of calls. Calls that arrive while a call of the same operation is in flight share the
//! next script.
//!
//! Each operation has a task that serves its calls, so a node has at most one script of each
//! operation in flight, however many requests arrive. The visitors in a batch share the fixed cost
//! of a script. Under load, batches grow automatically, up to 128 newcomers or 64 other visitors.
//!
//! ```text
//!  call ─┐
//!  call ─┼─► channel ─► recv_many ─► EVALSHA ─► one reply for each call
//!  call ─┘   (bounded)               ▲     │
//!                                    └─────┘ calls that arrive meanwhile wait in the channel
//! ```
//!
//! If no call is in flight, a new call is sent immediately: no timer holds a batch back until it is
//! full.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use redis::aio::ConnectionLike;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout},
};
use waiting_room_core::{StoreError, VisitorId, error::StoreErrorKind};

use crate::{
    connections::{CONNECT_DEADLINE, Connections, answered, check_eviction, unavailable},
    reply::{self, Head, ReplyFields},
    scripts::Verb,
    shared::{Opens, Shared},
};

/// One call of an operation.
#[derive(Debug)]
pub(crate) struct Call {
    /// The arguments for one visitor, in the order of the script's header.
    pub(crate) arguments: Vec<Vec<u8>>,
    /// The channel for the reply, which is closed when the caller has stopped waiting.
    pub(crate) reply: oneshot::Sender<Result<(Head, ReplyFields), StoreError>>,
    /// The visitor to admit, if the operation is `enter`, or `None` for all other operations. If
    /// the caller is gone when the reply arrives, the visitor may have a slot but no pass.
    pub(crate) enters: Option<VisitorId>,
}

/// Serves the calls of one operation until every handle to the store has been dropped.
///
/// A batch has at most [`Verb::max_batch`] calls. Calls whose callers have stopped waiting are dropped
/// unsent.
pub(crate) async fn serve<C: ConnectionLike + Clone>(
    verb: Verb,
    mut calls: mpsc::Receiver<Call>,
    connections: Arc<Connections<C>>,
    shared: Arc<Shared>,
) {
    let max_batch = verb.max_batch();
    let mut batch = Vec::with_capacity(max_batch);
    while calls.recv_many(&mut batch, max_batch).await > 0 {
        batch.retain(|call| !call.reply.is_closed());
        if batch.is_empty() {
            continue;
        }
        // The scripts loop over their arguments, so the arguments of all calls form one list.
        let arguments = batch.iter_mut().flat_map(|call| std::mem::take(&mut call.arguments));
        let arguments: Vec<_> = arguments.collect();
        // The connection is loaded again for each batch, so that a connection opened by the watch
        // task is used immediately.
        let replied = match connections.current() {
            Ok(mut connection) => run(verb, &arguments, &mut connection, &shared).await,
            Err(error) => Err(error),
        };
        deliver(batch.drain(..), replied, &shared);
    }
}

/// Runs a script once for all its arguments. If the room is gone, the node opens it and runs the
/// script again.
///
/// A room is gone after `FLUSHALL`, after a failover to an empty replica, or if its keys were
/// deleted. The first node that notices the loss opens the room again with the last rules that it
/// knew.
///
/// # Errors
///
/// Returns an error if the server does not answer in time, if the script fails, or if the server
/// has lost the room again in the meantime.
pub(crate) async fn run<C: ConnectionLike>(
    verb: Verb,
    arguments: &[Vec<u8>],
    connection: &mut C,
    shared: &Shared,
) -> Result<(Head, Vec<ReplyFields>), StoreError> {
    if let Some(replied) = run_once(verb, arguments, connection, shared).await? {
        return Ok(replied);
    }
    // Several operations and nodes may notice the loss at the same time. The first call of
    // `configure` opens the room, and later calls find it open and change nothing.
    tracing::warn!(room = shared.rules().name, "the store has lost the room");
    answered(shared.deadline, open(Opens::Again, connection, shared)).await?;
    run_once(verb, arguments, connection, shared)
        .await?
        .ok_or_else(|| StoreError::new(StoreErrorKind::Unavailable).with_source("the room is gone"))
}

/// Loads the scripts, and then opens or joins the room.
///
/// # Errors
///
/// Returns an error if the server does not answer, refuses the node, or may evict keys. If the
/// server may evict keys, the node has joined the room. A node that is starting then reports the
/// error, and a node that is already serving continues.
pub(crate) async fn join<C: ConnectionLike>(
    connection: &mut C,
    shared: &Shared,
) -> Result<(), StoreError> {
    let opened = async {
        shared.scripts.load(connection).await.map_err(|error| unavailable(&error))?;
        open(Opens::Start, connection, shared).await
    };
    // The deadline for decisions does not apply: the start of a node may take longer, and no
    // visitor is waiting for it.
    let opened = timeout(CONNECT_DEADLINE, opened).await;
    let mut said = opened.map_err(|_| StoreError::new(StoreErrorKind::Timeout))??;
    shared.is_joined.store(true, Ordering::Relaxed);
    let checked = check_eviction(&said.text()?, &said.text()?);
    shared.may_evict.store(checked.is_err(), Ordering::Relaxed);
    checked
}

/// Opens the room with the rules and events that this node knows, or joins the room, and adopts the
/// current rules and events.
///
/// Returns the rest of the reply, which for [`Opens::Start`] contains the server's `maxmemory` and
/// `maxmemory-policy`.
pub(crate) async fn open<C: ConnectionLike>(
    opens: Opens,
    connection: &mut C,
    shared: &Shared,
) -> Result<ReplyFields, StoreError> {
    for _ in 0..MAX_OPENINGS {
        let opened = ask(Verb::Configure, &shared.opening(opens)?, connection, shared).await?;
        let (head, each) = opened.ok_or_else(|| StoreError::new(StoreErrorKind::Unavailable))?;
        let said = each.into_iter().next();
        let mut said = said.ok_or_else(|| reply::malformed("the rules are missing".to_owned()))?;
        // If the node was behind, it tries again with the events that it now knows, because a
        // release keeps the room's events, or at least the event in progress.
        let is_behind = said.signed()? == BEHIND;
        let rules = said.bytes()?;
        shared.learn_lifetime(Duration::from_micros(said.number()?));
        shared.take_plan(head.version, &rules, &said.bytes()?, said.fields()?)?;
        if !is_behind {
            return Ok(said);
        }
    }
    Err(StoreError::new(StoreErrorKind::Unavailable).with_source("the rules change too often"))
}

/// Runs a script within the deadline. Returns `None` if the room is gone.
async fn run_once<C: ConnectionLike>(
    verb: Verb,
    arguments: &[Vec<u8>],
    connection: &mut C,
    shared: &Shared,
) -> Result<Option<(Head, Vec<ReplyFields>)>, StoreError> {
    answered(shared.deadline, ask(verb, arguments, connection, shared)).await
}

/// Sends one script, and updates the node's state from the head of the reply. Returns `None` if the
/// room is gone.
///
/// This function applies no deadline, because its callers have different deadlines.
async fn ask<C: ConnectionLike>(
    verb: Verb,
    arguments: &[Vec<u8>],
    connection: &mut C,
    shared: &Shared,
) -> Result<Option<(Head, Vec<ReplyFields>)>, StoreError> {
    let mut all = Vec::with_capacity(arguments.len() + 1);
    all.push(shared.clock.argument());
    all.extend_from_slice(arguments);
    // The clock needs a time from before the call, because the server reads its own clock only
    // after the call was sent.
    let sent = Instant::now();
    let asked = shared.scripts.run(verb, connection, shared.keys.as_slice(), &all);
    let replied = reply::parse(asked.await.map_err(|error| unavailable(&error))?)?;
    if let Some((head, _)) = &replied {
        shared.learn(head, sent);
    }
    Ok(replied)
}

/// Sends a reply or an error to the callers of a batch.
fn deliver(
    batch: impl ExactSizeIterator<Item = Call>,
    replied: Result<(Head, Vec<ReplyFields>), StoreError>,
    shared: &Shared,
) {
    match replied {
        // The replies are in the order of the calls, so a missing reply would shift all later
        // replies.
        Ok((head, each)) if each.len() == batch.len() => {
            shared.succeeded();
            for (call, said) in batch.zip(each) {
                // The caller has stopped waiting. An `enter` may have admitted a visitor who never
                // received the pass, so the visitor's slot has to be released.
                if call.reply.send(Ok((head, said))).is_err() {
                    shared.owe(call.enters);
                }
            }
        }
        Ok(_) => fail(batch, &reply::malformed("a reply is missing".to_owned()), shared),
        Err(error) => {
            shared.failed(&error);
            fail(batch, &error, shared);
        }
    }
}

/// Sends an error to all callers of a batch.
///
/// The script may have run even though the call failed, so each `enter` may have given its visitor
/// a slot without a pass. The visitor is therefore recorded for `leave`.
fn fail(batch: impl Iterator<Item = Call>, error: &StoreError, shared: &Shared) {
    for call in batch {
        shared.owe(call.enters);
        // The send fails if the caller has stopped waiting and thus does not need the error.
        let _ = call.reply.send(Err(again(error)));
    }
}

/// The first value of a `configure` reply that tells the node to load the current events before it
/// tries again.
const BEHIND: i64 = 2;
/// The maximum number of attempts to open a room while its rules or events change.
const MAX_OPENINGS: usize = 8;

/// Copies an error for another caller. The copy has the same kind, and its source is the message of
/// the original source.
///
/// `StoreError` is not `Clone`, because its source need not be `Clone`.
pub(crate) fn again(error: &StoreError) -> StoreError {
    let same = StoreError::new(error.kind());
    match std::error::Error::source(error) {
        Some(source) => same.with_source(source.to_string()),
        None => same,
    }
}
