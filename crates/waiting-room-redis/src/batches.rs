//! Calls that come while one of their kind is under way share the next.

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
use waiting_room_core::{StoreError, StoreErrorKind, VisitorId};

use crate::{
    connections::{CONNECT_DEADLINE, Connections, answered, check_eviction, unavailable},
    reply::{self, Fields, Head},
    scripts::Verb,
    shared::{Opens, Shared},
};

/// One call of a verb: what is asked, and where the reply goes.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) arguments: Vec<Vec<u8>>,
    pub(crate) reply: oneshot::Sender<Result<(Head, Fields), StoreError>>,
    /// Who enters: has no proof of a slot, should the caller be gone when there is one.
    pub(crate) enters: Option<VisitorId>,
}

/// Serves the calls of one verb until nobody can make any.
///
/// A script runs for as many callers as it can take in well under a millisecond. Who has gone
/// meanwhile is not asked for.
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
        let arguments = batch.iter_mut().flat_map(|call| std::mem::take(&mut call.arguments));
        let arguments: Vec<_> = arguments.collect();
        let replied = match connections.current() {
            Ok(mut connection) => run(verb, &arguments, &mut connection, &shared).await,
            Err(error) => Err(error),
        };
        deliver(batch.drain(..), replied, &shared);
    }
}

/// Runs a script, in a room that is opened first if it is not there.
pub(crate) async fn run<C: ConnectionLike>(
    verb: Verb,
    arguments: &[Vec<u8>],
    connection: &mut C,
    shared: &Shared,
) -> Result<(Head, Vec<Fields>), StoreError> {
    if let Some(replied) = run_once(verb, arguments, connection, shared).await? {
        return Ok(replied);
    }
    tracing::warn!(room = shared.rules().name(), "the store has lost the room");
    within(shared.deadline, open(Opens::Again, connection, shared)).await?;
    run_once(verb, arguments, connection, shared)
        .await?
        .ok_or_else(|| StoreError::new(StoreErrorKind::Unavailable).with_source("the room is gone"))
}

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
        open(Opens::Start, connection, shared).await
    };
    let opened = timeout(CONNECT_DEADLINE, opened).await;
    let mut said = opened.map_err(|_| StoreError::new(StoreErrorKind::Timeout))??;
    shared.is_joined.store(true, Ordering::Relaxed);
    let checked = check_eviction(&said.text()?, &said.text()?);
    shared.may_evict.store(checked.is_err(), Ordering::Relaxed);
    checked
}

/// Opens the room as this node knows it, or joins it, and takes the rules that are in force. Returns
/// what the server says of its memory.
pub(crate) async fn open<C: ConnectionLike>(
    opens: Opens,
    connection: &mut C,
    shared: &Shared,
) -> Result<Fields, StoreError> {
    let opened = ask(Verb::Configure, &shared.opening(opens), connection, shared).await?;
    let (head, each) = opened.ok_or_else(|| StoreError::new(StoreErrorKind::Unavailable))?;
    let said = each.into_iter().next();
    let mut said = said.ok_or_else(|| reply::malformed("the rules are missing".to_owned()))?;
    said.signed()?;
    shared.take_rules(head.version, &said.bytes()?)?;
    shared.learn_lifetime(Duration::from_micros(said.number()?));
    Ok(said)
}

async fn run_once<C: ConnectionLike>(
    verb: Verb,
    arguments: &[Vec<u8>],
    connection: &mut C,
    shared: &Shared,
) -> Result<Option<(Head, Vec<Fields>)>, StoreError> {
    within(shared.deadline, ask(verb, arguments, connection, shared)).await
}

async fn ask<C: ConnectionLike>(
    verb: Verb,
    arguments: &[Vec<u8>],
    connection: &mut C,
    shared: &Shared,
) -> Result<Option<(Head, Vec<Fields>)>, StoreError> {
    let mut all = Vec::with_capacity(arguments.len() + 1);
    all.push(shared.clock.argument());
    all.extend_from_slice(arguments);
    let sent = Instant::now();
    let asked = shared.scripts.run(verb, connection, shared.keys.as_slice(), &all);
    let replied = reply::parse(asked.await.map_err(|error| unavailable(&error))?)?;
    if let Some((head, _)) = &replied {
        shared.learn(head, sent);
    }
    Ok(replied)
}

async fn within<T>(
    deadline: Duration,
    asked: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    answered(deadline, asked).await?
}

fn deliver(
    batch: impl ExactSizeIterator<Item = Call>,
    replied: Result<(Head, Vec<Fields>), StoreError>,
    shared: &Shared,
) {
    match replied {
        Ok((head, each)) if each.len() == batch.len() => {
            shared.succeeded();
            for (call, said) in batch.zip(each) {
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

/// Tells everybody of an error. Who was to enter may have entered without knowing.
fn fail(batch: impl Iterator<Item = Call>, error: &StoreError, shared: &Shared) {
    for call in batch {
        shared.owe(call.enters);
        // The caller may have gone; there is nobody else to tell.
        let _ = call.reply.send(Err(again(error)));
    }
}

/// The same error for somebody else.
pub(crate) fn again(error: &StoreError) -> StoreError {
    let same = StoreError::new(error.kind());
    match std::error::Error::source(error) {
        Some(source) => same.with_source(source.to_string()),
        None => same,
    }
}

/// So many visitors share a script at most.
const MAX_BATCH: usize = 32;
