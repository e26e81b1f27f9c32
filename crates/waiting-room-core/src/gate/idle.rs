//! Waiting until nobody is left.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use super::{gate::Gate, locked::Locked};

/// Ready once a gate that is being [drained](Gate::drain) is empty: nobody runs, and nobody waits. Not
/// while the gate is [open](Gate::open) again; so it goes with a deadline.
///
/// # Cancel safety
///
/// Dropped, it changes nothing: the gate is still being drained.
#[derive(Debug)]
#[must_use = "futures do nothing unless they are polled"]
pub struct Idle {
    gate: Gate,
    /// Under which number the gate knows whom to wake.
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
    /// Has somebody woken when the gate is empty, under this number or a new one; says under which,
    /// or `None` if it is empty now. The waker that is replaced is not to be dropped under the lock.
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

    /// Has nobody woken under this number.
    pub(super) fn forget_idle(&mut self, number: u64) -> Option<Waker> {
        self.state.idle.remove(&number)
    }
}
