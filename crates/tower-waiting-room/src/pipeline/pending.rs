//! What a request waits for on its way to the application.

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

/// Something that a request waits for. Dropped, it leaves the queue that it stood in.
pub(crate) enum Pending {
    /// The answer of the store that counts the limits.
    Charge(Box<PendingCharge>),
    /// A permit.
    Permit(Box<Waiting>),
    /// Its turn in a leaky queue.
    Turn(Box<Turn>),
    /// The verdict of the room's store.
    Verdict(BoxFuture<Result<Verdict, StoreError>>),
}

/// The end of the wait.
pub(crate) enum Resumed {
    Charged(StoreReply),
    Decided(Result<Verdict, StoreError>),
    Turn,
    Waited(Waited),
}

impl Pending {
    /// Waits; `body` is that of the request, which is read a little where that tells whether its
    /// client is still there.
    ///
    /// # Panics
    ///
    /// If it is polled again after it was ready.
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

    /// Whether it is an answer that the decision about the request needs, rather than a decision.
    pub(super) const fn is_question(&self) -> bool {
        matches!(self, Self::Charge(_) | Self::Verdict(_))
    }

    /// Has the request go on at once, in shadow mode.
    pub(super) fn skip(self) {
        match self {
            Self::Permit(waiting) => waiting.skip(),
            Self::Turn(turn) => turn.skip(),
            Self::Charge(_) | Self::Verdict(_) => {}
        }
    }
}
