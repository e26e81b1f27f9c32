//! The future that waits until a drained gate becomes idle.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use super::{gate::Gate, locked::Locked};

/// A future that completes once a gate that is being [drained](Gate::drain) is idle: no request is
/// running or waiting.
///
/// The future stays pending if the gate is [opened](Gate::open) again, and for as long as any
/// request is running or waiting. Callers should therefore combine the future with a timeout.
///
/// # Cancel safety
///
/// Dropping the future has no effect on the gate: the drain continues.
#[derive(Debug)]
#[must_use = "futures do nothing unless they are polled"]
pub struct Idle {
    gate: Gate,
    /// The number under which the gate stores this future's waker, or `None` before the first poll
    /// and after the future has completed.
    number: Option<u64>,
}

impl Idle {
    pub(super) const fn new(gate: Gate) -> Self {
        Self { gate, number: None }
    }
}

impl Future for Idle {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // The waker is cloned before the lock is taken, and the old waker is dropped after the lock
        // is released, because cloning and dropping a waker both run foreign code.
        let waker = cx.waker().clone();
        let number = self.number;
        let now = self.gate.now();
        let (number, before) =
            self.gate.critical(now, |critical| critical.await_idle(number, waker));
        drop(before);
        self.number = number;
        if number.is_some() { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let now = self.gate.now();
            drop(self.gate.critical(now, |critical| critical.forget_idle(number)));
        }
    }
}

impl Locked<'_> {
    /// Stores a waker to be called once the gate is idle. The waker is stored under the given
    /// number, or under a new number if `number` is `None`.
    ///
    /// Returns the number, or `None` if the gate is being drained and is already idle. The second
    /// element of the pair is a waker that is no longer needed. The caller must drop this waker
    /// after releasing the lock, because dropping a waker runs foreign code.
    pub(super) fn await_idle(
        &mut self,
        number: Option<u64>,
        waker: Waker,
    ) -> (Option<u64>, Option<Waker>) {
        let counts = self.counts();
        if counts.is_draining && counts.is_idle() {
            return (None, Some(waker));
        }
        let number = number.unwrap_or_else(|| {
            self.state.idle_number += 1;
            self.state.idle_number
        });
        (Some(number), self.state.idle.insert(number, waker))
    }

    /// Removes and returns the waker with this number if the waker has not been called yet. The
    /// caller must drop the waker after releasing the lock, because dropping a waker runs foreign
    /// code.
    pub(super) fn forget_idle(&mut self, number: u64) -> Option<Waker> {
        self.state.idle.remove(&number)
    }
}
