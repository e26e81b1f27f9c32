//! The waits of a request on its way to the application.
//!
//! There are two kinds of waits. A **question** is a wait for a store's reply, on which the
//! answer to the request depends. A **delay** is a wait that a limit or a gate imposes: for a
//! turn in a leaky queue, or for a permit. Shadow mode waits for questions, because it reports the
//! decisions, and skips delays, because it must not slow requests down.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::Response;
use waiting_room_core::{StoreError, Verdict};

use crate::{
    gate::{Waited, Waiting},
    rate::{PendingCharge, StoreReply, Turn},
    room::BoxFuture,
};

/// A wait that interrupts a request.
///
/// # Cancel safety
///
/// Dropping a `Pending` removes the request from the queue in which it waits. A store that has been
/// asked may or may not have made its decision.
pub(crate) enum Pending {
    /// A wait for the reply of the rate limit store that the nodes share.
    Charge(Box<PendingCharge>),
    /// A wait until the room's store has been told that the visitor leaves, and then the answer.
    Leave(BoxFuture<Response<Bytes>>),
    /// A wait for a permit from a gate.
    Permit(Box<Waiting>),
    /// A wait for the request's turn in a leaky queue.
    Turn(Box<Turn>),
    /// A wait for the verdict of the room's store.
    Verdict(BoxFuture<Result<Verdict, StoreError>>),
}

/// The result of a wait that has ended.
pub(crate) enum Resumed {
    Charged(StoreReply),
    Decided(Result<Verdict, StoreError>),
    Left(Response<Bytes>),
    Turn,
    Waited(Waited),
}

impl Pending {
    /// Polls the wait. At a gate, polling also reads the request's `body`, up to a bound, to detect
    /// that the client has disconnected.
    ///
    /// # Panics
    ///
    /// Panics if the wait is polled again after it has returned `Ready`.
    pub(crate) fn poll<B: 'static>(&mut self, body: &mut B, cx: &mut Context<'_>) -> Poll<Resumed> {
        Poll::Ready(match self {
            Self::Charge(charge) => Resumed::Charged(ready!(charge.poll(cx))),
            Self::Leave(left) => Resumed::Left(ready!(left.as_mut().poll(cx))),
            Self::Permit(waiting) => Resumed::Waited(ready!(waiting.poll(body, cx))),
            Self::Turn(turn) => {
                ready!(Pin::new(&mut **turn).poll(cx));
                Resumed::Turn
            }
            Self::Verdict(verdict) => Resumed::Decided(ready!(verdict.as_mut().poll(cx))),
        })
    }

    /// Returns whether the decision for the request depends on the result of the wait. If so, even
    /// shadow mode has to wait.
    pub(super) const fn is_question(&self) -> bool {
        matches!(self, Self::Charge(_) | Self::Leave(_) | Self::Verdict(_))
    }

    /// Ends a delay immediately, in shadow mode. A request that waits at a gate leaves the queue,
    /// and this is reported. A turn in a leaky queue counts as used.
    pub(super) fn skip(self) {
        match self {
            Self::Permit(waiting) => waiting.skip(),
            Self::Turn(turn) => turn.skip(),
            Self::Charge(_) | Self::Leave(_) | Self::Verdict(_) => {}
        }
    }
}
