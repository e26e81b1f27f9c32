//! A place in the queue of a gate.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use super::{
    gate::Gate,
    permit::{Grant, Permit},
    refused::GateRefused,
    sync::Arc,
    waiter::{Stage, Waiter},
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
pub struct Place {
    gate: Gate,
    waiter: Arc<Waiter>,
}

impl Place {
    pub(super) const fn new(gate: Gate, waiter: Arc<Waiter>) -> Self {
        Self { gate, waiter }
    }

    /// Until when it waits; a permit that it is given at this very instant is its own.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.waiter.deadline
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
    pub fn time_out(self) -> Result<Permit, GateRefused> {
        self.gate.withdraw(&self.waiter, Some(self.waiter.on_deadline));
        self.told(self.waiter.take())
    }

    /// What somebody is told who waits no longer.
    fn told(&self, stage: Stage) -> Result<Permit, GateRefused> {
        match stage {
            Stage::Granted(grant) => Ok(self.permit(grant)),
            Stage::Refused(refused) => Err(refused),
            Stage::Cancelled | Stage::Taken | Stage::Waiting => {
                unreachable!("polled after completion")
            }
        }
    }

    fn permit(&self, grant: Grant) -> Permit {
        Permit::new(self.gate.clone(), self.waiter.class, grant, self.waiter.since)
    }
}

impl Future for Place {
    type Output = Result<Permit, GateRefused>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.waiter.poll(cx).map(|stage| self.told(stage))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.gate.withdraw(&self.waiter, None);
        if let Stage::Granted(grant) = self.waiter.take() {
            drop(self.permit(grant));
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("deadline", &self.waiter.deadline).finish_non_exhaustive()
    }
}
