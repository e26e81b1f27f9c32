//! Batches of calls to the store. All calls of a node go through one channel and one task.
//!
//! Calls that arrive while a script is in flight share the next script, like the calls of a room. A
//! room has one task for each operation. Limits have a single task, so that charges and corrections
//! keep their order: a correction takes effect before any later charge of the same node.
//!
//! A node has two more tasks: [`probe`] tests whether a server that has failed answers again, and
//! [`give_back`] returns blocks whose leases have ended. All three tasks end when the last handle
//! to the limits is dropped.

use std::{sync::Arc, time::Duration};

use redis::aio::ConnectionLike;
use tokio::{
    select,
    sync::{
        mpsc::{self, WeakSender},
        oneshot,
    },
    time::{MissedTickBehavior, interval, sleep},
};
use waiting_room_core::StoreError;

use super::{
    ask::Request,
    leases::{Leases, Lessee},
    reply::ChargeNumbers,
    reply::PER_ASK,
    shared::Shared,
};
use crate::{
    batches::again,
    connections::{Connections, Reopening},
    reply::malformed,
};

/// One call that waits for the next script.
#[derive(Debug)]
pub(super) struct ChargeCall {
    pub(super) request: Request,
    /// The channel for the reply, or `None` for a correction, which has no reply.
    pub(super) reply: Option<oneshot::Sender<Result<ChargeNumbers, StoreError>>>,
    /// The receiver of the blocks in the reply, which gets them even if the caller has stopped
    /// waiting.
    pub(super) lessee: Option<Lessee>,
}

impl ChargeCall {
    /// Creates a correction. No caller waits for its outcome, and if the correction is lost, the
    /// original charge stands.
    pub(super) const fn settlement(request: Request) -> Self {
        Self { request, reply: None, lessee: None }
    }
}

/// Serves the calls of a node, in order, until every handle to the limits has been dropped.
///
/// A batch has at most [`MAX_BATCH`] calls, so that a script blocks the server for well under a
/// millisecond. Charges whose callers have stopped waiting are dropped unsent; corrections are
/// always sent.
///
/// The next batch is read only after the reply to the last batch, so a node has at most one script
/// in flight.
pub(super) async fn serve<C: ConnectionLike + Clone>(
    mut calls: mpsc::Receiver<ChargeCall>,
    connections: Arc<Connections<C>>,
    shared: Arc<Shared>,
) {
    let mut batch = Vec::with_capacity(MAX_BATCH);
    while calls.recv_many(&mut batch, MAX_BATCH).await > 0 {
        // A charge whose caller is gone would use units of the limit without serving a request.
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
            // The corrections in a failed batch are lost, and their charges stay as they were. The
            // corrections are not sent again, because the script may have run without the node's
            // knowledge.
            Err(error) => {
                shared.failed(&error);
                batch.drain(..).for_each(|call| tell(call, Err(again(&error))));
            }
        }
    }
}

/// Probes the server after a call has failed on a broken connection, and once a second while the
/// breaker is open.
///
/// A probe may fail because of the connection, so another connection is opened and tried
/// immediately. After further failures, each attempt is preceded by a pause, which doubles from
/// 10 ms to 1 s. The first probe that succeeds closes the breaker, unless it only follows a failed
/// call and uses the same connection. Client requests are never used as probes.
pub(super) async fn probe<C: ConnectionLike + Clone>(
    connections: Arc<Connections<C>>,
    shared: Arc<Shared>,
    calls: WeakSender<ChargeCall>,
) {
    let mut seconds = interval(EVERY);
    let mut reopening = Reopening::default();
    // After a slow probe, a full second still passes before the next probe.
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_broken = select! {
            _ = seconds.tick() => false,
            () = shared.broken.notified() => {
                sleep(reopening.pause()).await;
                true
            }
        };
        // The reference is weak, so that the probe task does not keep the channel open.
        if calls.upgrade().is_none() {
            return;
        }
        // Calls that succeed prove that the server answers, so no probe is needed.
        if !is_broken && !shared.breaker.is_open() {
            reopening = Reopening::default();
            continue;
        }
        let mut probed = ask_nothing(&connections, &shared).await;
        let is_due = reopening.is_due();
        let is_replaced = probed.is_err() && is_due && connections.replace().await;
        if is_replaced {
            probed = ask_nothing(&connections, &shared).await;
        }
        match probed {
            // The connection is whole, so the server answers and refuses the call that failed, for
            // example because its memory is full. A probe changes nothing and is not refused.
            Ok(()) if is_broken && !is_replaced => {}
            Ok(()) => {
                reopening = Reopening::default();
                shared.succeeded();
            }
            Err(error) => shared.suspect(&error),
        }
    }
}

/// Runs the script without any calls, to check whether the server answers.
///
/// The script also compares the secret, so if the server has lost the limits, the node notices the
/// loss before the first request.
async fn ask_nothing<C: ConnectionLike + Clone>(
    connections: &Connections<C>,
    shared: &Shared,
) -> Result<(), StoreError> {
    shared.run(std::iter::empty(), &mut connections.current()?).await.map(drop)
}

/// Gives back the unspent units of each block within an eighth of a lease after the block's lease
/// ends.
///
/// Without this task, units that no request uses before the end of the lease would be unavailable
/// to the other nodes. A block that cannot pay for a request is given back together with that
/// request, without waiting for the `give_back` task.
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
        // While the server is unreachable, blocks whose leases have ended stay in their slots and
        // pay for no requests. A later round gives back the units that the passage of time has not
        // restored.
        if shared.breaker.is_open() {
            continue;
        }
        for unspent in leases.ended(shared.now()).chunks(MAX_GIVEN_BACK) {
            let request = Request::give_back(&shared.group, unspent);
            // If the channel is full, the units stay charged until the passage of time restores
            // them.
            _ = calls.try_send(ChargeCall::settlement(request));
        }
    }
}

/// Sends each caller its part of a reply, and each lessee its blocks.
fn deliver(batch: impl Iterator<Item = ChargeCall>, said: &ChargeNumbers) {
    // The reply has `PER_ASK` numbers for each charge request, in order, and no numbers for
    // corrections.
    let mut numbers = said.numbers.as_slice();
    for call in batch.filter(|call| call.reply.is_some()) {
        let told = match numbers.split_at_checked(PER_ASK * call.request.keys.len()) {
            Some((own, others)) => {
                numbers = others;
                // The lessee comes first, so that the blocks are in their slots when the caller
                // wakes up and adds their remaining units to its decisions.
                let said = ChargeNumbers { numbers: own.to_vec(), ..*said };
                call.lessee.iter().for_each(|lessee| lessee.learn(&said));
                Ok(said)
            }
            // The reply is too short, and its remaining numbers belong to no call.
            None => Err(malformed("the reply for a limit is missing".to_owned())),
        };
        tell(call, told);
    }
}

/// Sends a reply or an error to the caller of a call, if a caller is still waiting.
fn tell(call: ChargeCall, told: Result<ChargeNumbers, StoreError>) {
    if let Some(reply) = call.reply {
        _ = reply.send(told);
    }
}

/// The maximum number of calls that share a script.
const MAX_BATCH: usize = 64;
/// The maximum number of blocks that one call gives back.
const MAX_GIVEN_BACK: usize = 16;
/// The number of times during a lease that a node looks for blocks whose leases have ended.
const LOOKS: u32 = 8;
/// The time between two probes.
const EVERY: Duration = Duration::from_secs(1);
