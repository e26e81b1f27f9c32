//! A place in the queue of a gate.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use super::{
    arrival::GateRefused,
    gate::Gate,
    permit::Permit,
    waiters::{Id, Stage, Waiter},
};
use crate::Timestamp;

/// A place in the queue of a [`Gate`], and the future of the permit.
///
/// It knows no timer: whoever waits calls [`time_out`](Self::time_out) at the
/// [`deadline`](Self::deadline).
///
/// # Cancel safety
///
/// Dropped, it is free at once for somebody else; a permit that it was just given goes to the next.
#[must_use = "dropped, it is given up"]
pub struct Acquire {
    /// `None` once it is told what became of it.
    gate: Option<Gate>,
    id: Id,
    deadline: Timestamp,
    was_polled: bool,
}

impl Acquire {
    pub(super) const fn new(gate: Gate, id: Id, deadline: Timestamp) -> Self {
        Self { gate: Some(gate), id, deadline, was_polled: false }
    }

    /// Until when it waits; a permit that it is given at this very instant is its own.
    #[must_use]
    pub const fn deadline(&self) -> Timestamp {
        self.deadline
    }

    /// Ends the wait. Whoever was given a permit before has it.
    ///
    /// # Errors
    ///
    /// What somebody is told who has none.
    ///
    /// # Panics
    ///
    /// If the place was polled to its end before.
    pub fn time_out(mut self) -> Result<Permit, GateRefused> {
        let gate = self.gate.take().expect(POLLED);
        let waiter = gate.critical(gate.now(), |critical| critical.time_out(self.id));
        told(gate, &waiter)
    }
}

impl Future for Acquire {
    type Output = Result<Permit, GateRefused>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let place = &mut *self;
        let gate = place.gate.as_ref().expect(POLLED);
        // Made before the lock is taken, and the old one dropped after it is released: both are
        // foreign code. Whoever comes again was woken, as a rule, and needs none.
        let mut clone = if place.was_polled { None } else { Some(cx.waker().clone()) };
        place.was_polled = true;
        loop {
            match gate.poll(place.id, cx.waker(), &mut clone) {
                Some(Poll::Pending) => return Poll::Pending,
                Some(Poll::Ready(waiter)) => {
                    let gate = place.gate.take().expect(POLLED);
                    return Poll::Ready(told(gate, &waiter));
                }
                None => clone = Some(cx.waker().clone()),
            }
        }
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        if let Some(gate) = self.gate.take() {
            let waiter = gate.critical(gate.now(), |critical| critical.cancel(self.id));
            if !waiter.is_waiting() {
                drop(told(gate, &waiter));
            }
        }
    }
}

impl fmt::Debug for Acquire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

/// What somebody is told who waits no longer.
fn told(gate: Gate, waiter: &Waiter) -> Result<Permit, GateRefused> {
    match waiter.stage {
        Stage::Granted(grant) => Ok(Permit::new(gate, waiter.class, grant, waiter.since)),
        Stage::Refused(refused) => Err(refused),
        Stage::Waiting => unreachable!("it was taken out of the line"),
    }
}

const POLLED: &str = "polled after completion";
