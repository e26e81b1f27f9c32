//! The future that resolves to a permit or a refusal for a queued request.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use super::{
    arrival::GateRefused,
    gate::{Gate, Permit},
    waiters::{Id, Stage, Waiter},
};
use crate::Timestamp;

/// A future that resolves to a permit or a refusal for a request in the queue of a [`Gate`].
///
/// The future has no timer, so its owner has to call [`time_out`](Self::time_out) at the
/// [`deadline`](Self::deadline). Until then, the request stays in the queue unless it gets a permit
/// or is refused.
///
/// # Cancel safety
///
/// Dropping the future removes the request from the queue immediately. A permit that has been
/// granted but not yet collected goes to the next waiter.
#[must_use = "dropping the future removes the request from the queue"]
pub struct Acquire {
    /// The gate, or `None` once the outcome has been collected and `Drop` has nothing left to do.
    gate: Option<Gate>,
    id: Id,
    deadline: Timestamp,
    /// Whether the future has been polled before. The first poll always needs a clone of the task's
    /// waker.
    was_polled: bool,
}

impl Acquire {
    pub(super) const fn new(gate: Gate, id: Id, deadline: Timestamp) -> Self {
        Self { gate: Some(gate), id, deadline, was_polled: false }
    }

    /// Returns the deadline of the wait. A permit that is granted at exactly this time is still
    /// valid.
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
        // The waker is cloned before the lock is taken, and the waker that the clone replaces is
        // dropped after the lock is released, because cloning and dropping a waker both run foreign
        // code. A future that is polled again has usually been woken because its outcome is ready,
        // so later polls clone the waker only if they have to.
        let mut clone = if place.was_polled { None } else { Some(cx.waker().clone()) };
        place.was_polled = true;
        loop {
            match gate.poll(place.id, cx.waker(), &mut clone) {
                Some(Poll::Pending) => return Poll::Pending,
                Some(Poll::Ready(waiter)) => {
                    let gate = place.gate.take().expect(POLLED);
                    return Poll::Ready(told(gate, &waiter));
                }
                // The stored waker may belong to another task, so the current waker has to be
                // cloned. This branch is taken at most once per poll, because a clone is always
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
            // A permit that was granted but never collected is released when the permit is dropped.
            // Dropping the permit takes the lock again, so the permit must not be dropped inside
            // the critical section above.
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
