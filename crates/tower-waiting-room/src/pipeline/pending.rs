//! The things that a request can wait for on its way to the application.
//!
//! There are two kinds. A **question** is an answer that the decision needs: the replies of the two
//! stores. A **delay** is itself the decision: a turn in a leaky queue, or a permit of a gate.
//! Shadow mode waits for questions, since it reports the decisions, and skips delays, since it must
//! not slow requests down.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use waiting_room_core::{StoreError, Verdict};

use crate::{
    gate::{Waited, Waiting},
    rate::{PendingCharge, StoreReply, Turn},
    room::BoxFuture,
};

/// A wait of a request.
///
/// # Cancel safety
///
/// Dropping it leaves the queue in which the request waits. A store that was asked may or may not
/// have decided.
pub(crate) enum Pending {
    /// For the reply of the store in which nodes share their rate limits.
    Charge(Box<PendingCharge>),
    /// For the permit of a gate.
    Permit(Box<Waiting>),
    /// For the request's turn in a leaky queue.
    Turn(Box<Turn>),
    /// For the verdict of the room's store.
    Verdict(BoxFuture<Result<Verdict, StoreError>>),
}

/// The end of a wait, with what was waited for.
pub(crate) enum Resumed {
    Charged(StoreReply),
    Decided(Result<Verdict, StoreError>),
    Turn,
    Waited(Waited),
}

impl Pending {
    /// Polls the wait. `body` is the body of the request: at a gate it is read up to a bound, to
    /// notice a client that disconnects.
    ///
    /// # Panics
    ///
    /// Panics if it is polled again after it has returned `Ready`.
    pub(crate) fn poll<B: 'static>(&mut self, body: &mut B, cx: &mut Context<'_>) -> Poll<Resumed> {
        Poll::Ready(match self {
            Self::Charge(charge) => Resumed::Charged(ready!(charge.poll(cx))),
            Self::Permit(waiting) => Resumed::Waited(ready!(waiting.poll(body, cx))),
            Self::Turn(turn) => {
                ready!(Pin::new(&mut **turn).poll(cx));
                Resumed::Turn
            }
            Self::Verdict(verdict) => Resumed::Decided(ready!(verdict.as_mut().poll(cx))),
        })
    }

    /// Whether the decision about the request depends on the answer, so that even shadow mode waits
    /// for it.
    pub(super) const fn is_question(&self) -> bool {
        matches!(self, Self::Charge(_) | Self::Verdict(_))
    }

    /// Ends a delay at once, in shadow mode. The request leaves the queue of the gate, which is
    /// reported; its turn in a leaky queue counts as used.
    pub(super) fn skip(self) {
        match self {
            Self::Permit(waiting) => waiting.skip(),
            Self::Turn(turn) => turn.skip(),
            Self::Charge(_) | Self::Verdict(_) => {}
        }
    }
}
