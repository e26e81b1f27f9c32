//! Requests that come while others are under way share the next script.

use std::{sync::Arc, time::Duration};

use redis::aio::ConnectionLike;
use tokio::{
    sync::{
        mpsc::{self, WeakSender},
        oneshot,
    },
    time::{MissedTickBehavior, interval},
};
use waiting_room_core::StoreError;

use super::{
    ask::Request,
    leases::{Leases, Lessee},
    reply::PER_ASK,
    reply::Said,
    shared::Shared,
};
use crate::{batches::again, connections::Connections, reply::malformed};

/// One request on its way to the script.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) request: Request,
    /// Where what is said goes; nowhere, for what is only settled.
    pub(super) reply: Option<oneshot::Sender<Result<Said, StoreError>>>,
    /// Who keeps the blocks that come with it, even if the caller has gone.
    pub(super) lessee: Option<Lessee>,
}

impl Call {
    /// One that nobody waits for.
    pub(super) const fn settlement(request: Request) -> Self {
        Self { request, reply: None, lessee: None }
    }
}

/// Serves the requests of a node, in order, until nobody can make any.
///
/// A script runs for as many as it can take in well under a millisecond. Who has gone meanwhile is
/// not asked for.
pub(super) async fn serve<C: ConnectionLike + Clone>(
    mut calls: mpsc::Receiver<Call>,
    connections: Arc<Connections<C>>,
    shared: Arc<Shared>,
) {
    let mut batch = Vec::with_capacity(MAX_BATCH);
    while calls.recv_many(&mut batch, MAX_BATCH).await > 0 {
        batch.retain(|call| !call.reply.as_ref().is_some_and(oneshot::Sender::is_closed));
        if batch.is_empty() {
            continue;
        }
        let requests = batch.iter().map(|call| &call.request);
        let said = match connections.current() {
            Ok(mut connection) => shared.run(requests, &mut connection).await,
            Err(error) => Err(error),
        };
        match said {
            Ok(said) => {
                shared.succeeded();
                deliver(batch.drain(..), &said);
            }
            Err(error) => {
                shared.failed(&error);
                batch.drain(..).for_each(|call| tell(call, Err(again(&error))));
            }
        }
    }
}

/// Looks each second whether a server answers again that has not answered lately; if it does not, it
/// may be for the connection.
pub(super) async fn probe<C: ConnectionLike + Clone>(
    connections: Arc<Connections<C>>,
    shared: Arc<Shared>,
    calls: WeakSender<Call>,
) {
    let mut seconds = interval(EVERY);
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        seconds.tick().await;
        if calls.upgrade().is_none() {
            return;
        }
        if !shared.breaker.is_open() {
            continue;
        }
        let mut probed = ask_nothing(&connections, &shared).await;
        if probed.is_err() && connections.replace().await {
            probed = ask_nothing(&connections, &shared).await;
        }
        if probed.is_ok() {
            shared.succeeded();
        }
    }
}

/// Asks only whether the server answers.
async fn ask_nothing<C: ConnectionLike + Clone>(
    connections: &Connections<C>,
    shared: &Shared,
) -> Result<(), StoreError> {
    shared.run(std::iter::empty(), &mut connections.current()?).await.map(drop)
}

/// Gives back what is unspent when its lease ends.
pub(super) async fn give_back(leases: Arc<Leases>, shared: Arc<Shared>, calls: WeakSender<Call>) {
    let mut looks = interval(leases.lease() / LOOKS);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        let Some(calls) = calls.upgrade() else { return };
        if shared.breaker.is_open() {
            continue;
        }
        for unspent in leases.ended(shared.now()).chunks(MAX_GIVEN_BACK) {
            let request = Request::give_back(&shared.group, unspent);
            // What cannot be given back is given back by time.
            _ = calls.try_send(Call::settlement(request));
        }
    }
}

/// Tells each what was said to it.
fn deliver(batch: impl Iterator<Item = Call>, said: &Said) {
    let mut numbers = said.numbers.as_slice();
    for call in batch.filter(|call| call.reply.is_some()) {
        let told = match numbers.split_at_checked(PER_ASK * call.request.keys.len()) {
            Some((own, others)) => {
                numbers = others;
                let said = Said { numbers: own.to_vec(), ..*said };
                call.lessee.iter().for_each(|lessee| lessee.learn(&said));
                Ok(said)
            }
            None => Err(malformed("a limit is missing".to_owned())),
        };
        tell(call, told);
    }
}

/// The caller may have gone; there is nobody else to tell.
fn tell(call: Call, told: Result<Said, StoreError>) {
    if let Some(reply) = call.reply {
        _ = reply.send(told);
    }
}

/// So many requests share a script at most.
const MAX_BATCH: usize = 64;
/// So many blocks are given back by one of them.
const MAX_GIVEN_BACK: usize = 16;
/// So often in a lease it is looked for some that have ended.
const LOOKS: u32 = 8;
const EVERY: Duration = Duration::from_secs(1);
