//! Batches: calls that arrive while one of the same verb is in flight share the next script.
//!
//! Each verb has a task that serves its calls, so a node has at most one script of each verb in
//! flight, however many requests arrive. The visitors of a batch share the fixed cost of a script,
//! and under load the batches grow by themselves, up to 32 visitors.
//!
//! ```text
//!  call ─┐
//!  call ─┼─► channel ─► recv_many ─► EVALSHA ─► one reply for each call
//!  call ─┘   (bounded)               ▲     │
//!                                    └─────┘ calls that arrive meanwhile wait in the channel
//! ```
//!
//! A call does not wait for others when none is in flight: there is no timer that fills a batch.

use std::{
    future::Future,
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

/// One call of a verb.
#[derive(Debug)]
pub(crate) struct Call {
    /// The arguments for one visitor, in the order of the script's header.
    pub(crate) arguments: Vec<Vec<u8>>,
    /// Where the reply goes; closed when the caller has stopped waiting.
    pub(crate) reply: oneshot::Sender<Result<(Head, ReplyFields), StoreError>>,
    /// The visitor of an `enter`; `None` for the other verbs. If the caller is gone when the reply
    /// arrives, the visitor may hold a slot without a proof of it.
    pub(crate) enters: Option<VisitorId>,
}

/// Serves the calls of one verb until every handle on the store has been dropped.
///
/// A batch has at most [`MAX_BATCH`] calls, so that a script blocks the server for well under a
/// millisecond. Calls whose callers have stopped waiting are dropped unsent.
pub(crate) async fn serve<C: ConnectionLike + Clone>(
    verb: Verb,
    mut calls: mpsc::Receiver<Call>,
    connections: Arc<Connections<C>>,
    shared: Arc<Shared>,
) {
    let mut batch = Vec::with_capacity(MAX_BATCH);
    while calls.recv_many(&mut batch, MAX_BATCH).await > 0 {
        batch.retain(|call| !call.reply.is_closed());
        if batch.is_empty() {
            continue;
        }
        // The scripts loop over their arguments, so those of all calls form one list.
        let arguments = batch.iter_mut().flat_map(|call| std::mem::take(&mut call.arguments));
        let arguments: Vec<_> = arguments.collect();
        // Loaded anew for each batch, so a connection that the watch has opened is used at once.
        let replied = match connections.current() {
            Ok(mut connection) => run(verb, &arguments, &mut connection, &shared).await,
            Err(error) => Err(error),
        };
        deliver(batch.drain(..), replied, &shared);
    }
}

/// Runs a script once for all its arguments. If the room is gone, opens it first.
///
/// A room is gone after `FLUSHALL`, after a failover to an empty replica, or when its keys were
/// deleted. The node that notices first opens it again with the rules that it knew last.
///
/// # Errors
///
/// The server does not answer in time, fails, or has lost the room again meanwhile.
pub(crate) async fn run<C: ConnectionLike>(
    verb: Verb,
    arguments: &[Vec<u8>],
    connection: &mut C,
    shared: &Shared,
) -> Result<(Head, Vec<ReplyFields>), StoreError> {
    if let Some(replied) = run_once(verb, arguments, connection, shared).await? {
        return Ok(replied);
    }
    // Several verbs and nodes may get here at the same time. The first of them opens the room; for
    // the others, `configure` finds it there and changes nothing.
    tracing::warn!(room = shared.rules().name(), "the store has lost the room");
    within(shared.deadline, open(Opens::Again, connection, shared)).await?;
    run_once(verb, arguments, connection, shared)
        .await?
        .ok_or_else(|| StoreError::new(StoreErrorKind::Unavailable).with_source("the room is gone"))
}

/// Loads the scripts, then opens the room or joins it.
///
/// # Errors
///
/// The server does not answer, refuses, or may evict keys. In the last case the node has joined.
/// A node that starts then reports the error; one that serves already goes on.
pub(crate) async fn join<C: ConnectionLike>(
    connection: &mut C,
    shared: &Shared,
) -> Result<(), StoreError> {
    let opened = async {
        shared.scripts.load(connection).await.map_err(|error| unavailable(&error))?;
        open(Opens::Start, connection, shared).await
    };
    // Not the deadline of a decision: no visitor waits for this, and a start may take longer.
    let opened = timeout(CONNECT_DEADLINE, opened).await;
    let mut said = opened.map_err(|_| StoreError::new(StoreErrorKind::Timeout))??;
    shared.is_joined.store(true, Ordering::Relaxed);
    let checked = check_eviction(&said.text()?, &said.text()?);
    shared.may_evict.store(checked.is_err(), Ordering::Relaxed);
    checked
}

/// Opens the room as this node knows it, or joins it, and adopts the rules that are in force.
///
/// Returns the rest of the reply: for [`Opens::Start`], the server's `maxmemory` and its policy.
pub(crate) async fn open<C: ConnectionLike>(
    opens: Opens,
    connection: &mut C,
    shared: &Shared,
) -> Result<ReplyFields, StoreError> {
    let opened = ask(Verb::Configure, &shared.opening(opens), connection, shared).await?;
    let (head, each) = opened.ok_or_else(|| StoreError::new(StoreErrorKind::Unavailable))?;
    let said = each.into_iter().next();
    let mut said = said.ok_or_else(|| reply::malformed("the rules are missing".to_owned()))?;
    // Whether this node's rules are now in force. It does not matter: the rules that are follow.
    said.signed()?;
    shared.take_rules(head.version, &said.bytes()?)?;
    shared.learn_lifetime(Duration::from_micros(said.number()?));
    Ok(said)
}

/// Runs a script within the deadline; `None` if the room is gone.
async fn run_once<C: ConnectionLike>(
    verb: Verb,
    arguments: &[Vec<u8>],
    connection: &mut C,
    shared: &Shared,
) -> Result<Option<(Head, Vec<ReplyFields>)>, StoreError> {
    within(shared.deadline, ask(verb, arguments, connection, shared)).await
}

/// Sends one script, and learns from the head of its reply; `None` if the room is gone.
///
/// There is no deadline here: the callers have different ones.
async fn ask<C: ConnectionLike>(
    verb: Verb,
    arguments: &[Vec<u8>],
    connection: &mut C,
    shared: &Shared,
) -> Result<Option<(Head, Vec<ReplyFields>)>, StoreError> {
    let mut all = Vec::with_capacity(arguments.len() + 1);
    all.push(shared.clock.argument());
    all.extend_from_slice(arguments);
    // The clock needs the time before the call: the server reads its own some time after that.
    let sent = Instant::now();
    let asked = shared.scripts.run(verb, connection, shared.keys.as_slice(), &all);
    let replied = reply::parse(asked.await.map_err(|error| unavailable(&error))?)?;
    if let Some((head, _)) = &replied {
        shared.learn(head, sent);
    }
    Ok(replied)
}

/// Applies the deadline of a script to a future.
async fn within<T>(
    deadline: Duration,
    asked: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    answered(deadline, asked).await?
}

/// Hands a reply, or an error, to the callers of a batch.
fn deliver(
    batch: impl ExactSizeIterator<Item = Call>,
    replied: Result<(Head, Vec<ReplyFields>), StoreError>,
    shared: &Shared,
) {
    match replied {
        // The replies are in the order of the calls; one missing would shift all others.
        Ok((head, each)) if each.len() == batch.len() => {
            shared.succeeded();
            for (call, said) in batch.zip(each) {
                // The caller has stopped waiting. If it was an `enter`, the visitor may have been
                // admitted without receiving a pass, so its slot has to be given back.
                if call.reply.send(Ok((head, said))).is_err() {
                    shared.owe(call.enters);
                }
            }
        }
        Ok(_) => fail(batch, &reply::malformed("a visitor is missing".to_owned()), shared),
        Err(error) => {
            shared.failed(&error);
            fail(batch, &error, shared);
        }
    }
}

/// Hands an error to all callers of a batch.
///
/// After an error the script may still have run, so each visitor of an `enter` may hold a slot
/// without a pass, and is recorded for `leave`.
fn fail(batch: impl Iterator<Item = Call>, error: &StoreError, shared: &Shared) {
    for call in batch {
        shared.owe(call.enters);
        // The send fails if the caller has stopped waiting, and then the error is not needed.
        let _ = call.reply.send(Err(again(error)));
    }
}

/// Copies an error for another caller: the kind is kept, the source becomes its message.
///
/// `StoreError` is not `Clone`, because its source need not be.
pub(crate) fn again(error: &StoreError) -> StoreError {
    let same = StoreError::new(error.kind());
    match std::error::Error::source(error) {
        Some(source) => same.with_source(source.to_string()),
        None => same,
    }
}

/// The most visitors that share a script.
const MAX_BATCH: usize = 32;
