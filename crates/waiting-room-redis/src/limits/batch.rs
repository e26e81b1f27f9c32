//! Batches of calls: one channel and one task through which all calls of a node reach the store.
//!
//! Calls that arrive while a script is in flight share the next one, as those of a room do. A room
//! has such a task for each verb; limits have a single one, so that charges and corrections keep
//! their order: a correction counts before whatever the node charges after it.
//!
//! Two more tasks belong to a node: [`probe`] tests whether a server that has failed is back, and
//! [`give_back`] returns blocks whose leases have ended. All three end when the last handle on the
//! limits is dropped.

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
    reply::ChargeNumbers,
    reply::PER_ASK,
    shared::Shared,
};
use crate::{batches::again, connections::Connections, reply::malformed};

/// One call on its way to the script.
#[derive(Debug)]
pub(super) struct ChargeCall {
    pub(super) request: Request,
    /// Where the reply goes; `None` for a correction, which has none.
    pub(super) reply: Option<oneshot::Sender<Result<ChargeNumbers, StoreError>>>,
    /// Receives the blocks that come with the reply, even if the caller has stopped waiting.
    pub(super) lessee: Option<Lessee>,
}

impl ChargeCall {
    /// Creates a correction, whose outcome no caller waits for: a correction that is lost leaves
    /// what was charged.
    pub(super) const fn settlement(request: Request) -> Self {
        Self { request, reply: None, lessee: None }
    }
}

/// Serves the calls of a node, in order, until every handle on the limits has been dropped.
///
/// A batch has at most [`MAX_BATCH`] calls, so that a script blocks the server for well under a
/// millisecond. Charges whose callers have stopped waiting are dropped unsent; corrections are
/// always sent.
///
/// The next batch is read only after the reply to the last one, so there is at most one script of
/// a node in flight.
pub(super) async fn serve<C: ConnectionLike + Clone>(
    mut calls: mpsc::Receiver<ChargeCall>,
    connections: Arc<Connections<C>>,
    shared: Arc<Shared>,
) {
    let mut batch = Vec::with_capacity(MAX_BATCH);
    while calls.recv_many(&mut batch, MAX_BATCH).await > 0 {
        // A charge for a caller who has gone would use up the limit for no request.
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
            // The corrections in a failed batch are lost, and their charges stay as they were. They
            // are not sent again, because the script may have run and nothing would tell.
            Err(error) => {
                shared.failed(&error);
                batch.drain(..).for_each(|call| tell(call, Err(again(&error))));
            }
        }
    }
}

/// Probes the server once a second while the breaker is open.
///
/// A failed probe may be due to the connection, so another one is opened and tried at once. The
/// first probe that succeeds closes the breaker. No request of a client is used as a probe.
pub(super) async fn probe<C: ConnectionLike + Clone>(
    connections: Arc<Connections<C>>,
    shared: Arc<Shared>,
    calls: WeakSender<ChargeCall>,
) {
    let mut seconds = interval(EVERY);
    // After a probe that took long, the next one waits for a whole second again.
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        seconds.tick().await;
        // A weak reference, so that this task does not keep the channel open.
        if calls.upgrade().is_none() {
            return;
        }
        // While calls succeed, they show that the server answers.
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

/// Runs the script without any call, to see whether the server answers.
///
/// It also compares the secret, so a server that has lost the limits is noticed before the first
/// request.
async fn ask_nothing<C: ConnectionLike + Clone>(
    connections: &Connections<C>,
    shared: &Shared,
) -> Result<(), StoreError> {
    shared.run(std::iter::empty(), &mut connections.current()?).await.map(drop)
}

/// Gives back the unspent units of each block when its lease ends, within an eighth of a lease.
///
/// Units that a request will not use until then would otherwise be missing on the other nodes. A
/// block that cannot pay for a request is given back by that request, without waiting for this
/// task.
pub(super) async fn give_back(
    leases: Arc<Leases>,
    shared: Arc<Shared>,
    calls: WeakSender<ChargeCall>,
) {
    let mut looks = interval(leases.lease() / LOOKS);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        let Some(calls) = calls.upgrade() else { return };
        // While the server is away, blocks whose leases have ended stay in their slots and pay for
        // nothing. A later round gives back what time has left of them.
        if shared.breaker.is_open() {
            continue;
        }
        for unspent in leases.ended(shared.now()).chunks(MAX_GIVEN_BACK) {
            let request = Request::give_back(&shared.group, unspent);
            // If the channel is full, the units stay charged until time gives them back.
            _ = calls.try_send(ChargeCall::settlement(request));
        }
    }
}

/// Hands each caller its part of a reply, and each lessee its blocks.
fn deliver(batch: impl Iterator<Item = ChargeCall>, said: &ChargeNumbers) {
    // The reply has `PER_ASK` numbers for each ask of a charge, in order, and none for corrections.
    let mut numbers = said.numbers.as_slice();
    for call in batch.filter(|call| call.reply.is_some()) {
        let told = match numbers.split_at_checked(PER_ASK * call.request.keys.len()) {
            Some((own, others)) => {
                numbers = others;
                // The lessee comes first, so that the blocks are in place when the caller wakes up
                // and adds what is left of them to its decisions.
                let said = ChargeNumbers { numbers: own.to_vec(), ..*said };
                call.lessee.iter().for_each(|lessee| lessee.learn(&said));
                Ok(said)
            }
            // The reply is too short: what is left of it belongs to no call.
            None => Err(malformed("a limit is missing".to_owned())),
        };
        tell(call, told);
    }
}

/// Hands a reply or an error to a caller, if the call has one that still waits.
fn tell(call: ChargeCall, told: Result<ChargeNumbers, StoreError>) {
    if let Some(reply) = call.reply {
        _ = reply.send(told);
    }
}

/// The most calls that share a script.
const MAX_BATCH: usize = 64;
/// The most blocks that one call gives back.
const MAX_GIVEN_BACK: usize = 16;
/// How often in a lease a node looks for blocks whose leases have ended.
const LOOKS: u32 = 8;
/// The time between two probes.
const EVERY: Duration = Duration::from_secs(1);
