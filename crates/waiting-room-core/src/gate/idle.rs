//! Waiting until nobody is left.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use super::gate::Gate;

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
