//! The future that resolves to a permit.

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

/// A place in the queue of a [`Gate`], and a future that resolves to the permit.
///
/// The future has no timer. Its owner calls [`time_out`](Self::time_out) at the
/// [`deadline`](Self::deadline); until then, the request keeps its place unless it is refused.
///
/// # Cancel safety
///
/// Dropping the future frees the place at once. If a permit has been granted but not collected, the
/// permit goes to the next waiter.
#[must_use = "dropping it gives up the place in the queue"]
pub struct Acquire {
    /// `None` once the outcome has been collected, so that `Drop` has nothing left to do.
    gate: Option<Gate>,
    id: Id,
    deadline: Timestamp,
    /// Whether the future has been polled before. The first poll always needs a clone of its waker.
    was_polled: bool,
}

impl Acquire {
    pub(super) const fn new(gate: Gate, id: Id, deadline: Timestamp) -> Self {
        Self { gate: Some(gate), id, deadline, was_polled: false }
    }

    /// Returns the time until which the request waits. A permit granted at exactly this instant
    /// still counts.
    #[must_use]
    pub const fn deadline(&self) -> Timestamp {
        self.deadline
    }

    /// Ends the wait, and returns the permit if one has already been granted.
    ///
    /// # Errors
    ///
    /// Returns the refusal if no permit has been granted.
    ///
    /// # Panics
    ///
    /// Panics if the future has already been polled to completion.
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
        // A waker is cloned before the lock is taken, and the one that it replaces is dropped after
        // the lock is released: cloning and dropping both run foreign code. A future that is polled
        // again has usually been woken because its outcome is ready, so a clone would be wasted.
        let mut clone = if place.was_polled { None } else { Some(cx.waker().clone()) };
        place.was_polled = true;
        loop {
            match gate.poll(place.id, cx.waker(), &mut clone) {
                Some(Poll::Pending) => return Poll::Pending,
                Some(Poll::Ready(waiter)) => {
                    let gate = place.gate.take().expect(POLLED);
                    return Poll::Ready(told(gate, &waiter));
                }
                // The task has changed. This happens at most once per poll, since a clone is always
                // stored.
                None => clone = Some(cx.waker().clone()),
            }
        }
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        if let Some(gate) = self.gate.take() {
            let waiter = gate.critical(gate.now(), |critical| critical.cancel(self.id));
            // A permit that has been granted but not collected is released by its own `Drop`. That
            // takes the lock again, so it must not happen inside the critical section above.
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

/// Converts the outcome of a request that has been removed from the queue into the result for the
/// caller.
fn told(gate: Gate, waiter: &Waiter) -> Result<Permit, GateRefused> {
    match waiter.stage {
        Stage::Granted(grant) => Ok(Permit::new(gate, waiter.class, grant, waiter.since)),
        Stage::Refused(refused) => Err(refused),
        Stage::Waiting => unreachable!("a request that is still waiting has no outcome"),
    }
}

const POLLED: &str = "polled after completion";
